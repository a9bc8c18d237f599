"""What the end-to-end tests share: paths of the built programs, and running them.

With TESSERA_DEVICE=cuda:0 what the tests compile is compiled for TESSERA_TARGET too (cuda:sm_90a if not given), and
what they run compiled runs on that device; what they interpret stays as it is. """
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = build_folder() / "bin"
EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))  # what the NumPy programs there share

DEVICE = os.environ.get("TESSERA_DEVICE", "cpu")
TARGET = os.environ.get("TESSERA_TARGET", "cuda:sm_90a")
# Programs with sanitizers take memory that is never given back, and address space without end.
SANITIZED = bool({"ASAN_OPTIONS", "UBSAN_OPTIONS"} & os.environ.keys())


def on_device(command, environment=None):
    """The words of a command, made to compile for the device of the tests and to run there."""
    words = [str(part) for part in command]
    if DEVICE == "cpu":
        return words
    if words[0] == str(BIN / "tesserac") and not any(word.startswith("--dump") for word in words):
        given = [word for word in words if word.startswith("--target=")]
        rest = [word for word in words if word not in given]
        return [*rest, f"{given[0] if given else '--target=cpu:x86-64-v3,host'},{TARGET}"]
    elsewhere = "--device" in words or "TSR_TARGET" in (environment or {})
    interpreted = any(word.startswith("--interpret") for word in words)
    if words[1:2] in (["run"], ["train"], ["generate"]) and not interpreted and not elsewhere:
        return [*words, "--device", DEVICE, "--allow-jit"]
    return words


def run(*command, **options):
    """Runs a program that must succeed; returns what it printed to standard output."""
    result = subprocess.run(on_device(command, options.get("env")), capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}"
    return result.stdout


def refuse(*command, **options):
    """Runs a program that must refuse its input; returns what it printed to standard error."""
    result = subprocess.run(on_device(command, options.get("env")), capture_output=True, **options)
    message = result.stderr.decode(errors="replace")
    assert result.returncode == 1, f"{' '.join(map(str, command))[:200]}: status {result.returncode}\n{message[:2000]}"
    return message


def peak_memory(*command):
    """Runs a program that must succeed; returns the most bytes that it had in memory."""
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, f"{' '.join(map(str, command))}: status {child.returncode}"
    return usage.ru_maxrss * 1024
