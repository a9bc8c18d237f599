"""What the end-to-end tests share: paths of the built programs, and running them."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.argv[1]).resolve() / "bin"
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))  # what the NumPy programs there share


def run(*command, **options):
    """Runs a program that must succeed; returns what it printed to standard output."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}"
    return result.stdout


def refuse(*command, **options):
    """Runs a program that must refuse its input; returns what it printed to standard error."""
    result = subprocess.run([str(part) for part in command], capture_output=True, **options)
    message = result.stderr.decode(errors="replace")
    assert result.returncode == 1, f"{' '.join(map(str, command))[:200]}: status {result.returncode}\n{message[:2000]}"
    return message
