#!/usr/bin/env python3
"""The examples that pages of the API show: each entry of tests/docs/examples/*.tsr prints what the file beside says, up
to the last digits of floats, and each function of the library has one.

Usage: examples_test.py BUILD_DIR [--bless]; --bless writes what is printed.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "tests/docs/examples"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
CLOSE = 1e-5


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def outputs_of(path):
    """By entry: what the file says it prints."""
    parts = re.split(r"^# (\w+)\n", path.read_text() if path.exists() else "", flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def agree(a, b):
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (a, b)]
    return NUMBER.sub("0", a) == NUMBER.sub("0", b) and all(
        abs(x - y) <= CLOSE * max(1.0, abs(x)) for x, y in zip(*numbers))


def printed_by(source, programs):
    """By entry: what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = pathlib.Path(folder) / "examples.bundle"
        warnings = run(programs / "tesserac", source, "--target=host", "-o", bundle)
        if warnings:
            sys.exit(warnings)
        entries = re.findall(r"^@jit\ndef (\w+)", source.read_text(), re.M)
        return {entry: run(programs / "tsr", "run", bundle, entry) for entry in entries}


def without_example(texts):
    """Functions that tessera.nn exports and defines itself, and no example calls."""
    for module in re.findall(r"^from tessera\.(\w+) import", (ROOT / "stdlib/nn.tsr").read_text(), re.M):
        if module not in ("ops", "optimisers"):  # a step of an optimiser needs the caller's state: docs/language.md
            path = ROOT / f"stdlib/{module}.tsr"
            exported = re.search(rf"^from tessera\.{module} import (?:([^(\n]+)|\(([^)]*)\))",
                                 (ROOT / "stdlib/nn.tsr").read_text(), re.M)
            names = re.findall(r"\w+", exported[1] or exported[2])
            yield from (f"no example calls {name} of {path.name}" for name in names
                        if not re.search(rf"\bnn\.{name}\(", texts))


def main():
    programs, bless = build_folder() / "bin", "--bless" in sys.argv
    wrong, count, texts = [], 0, ""
    for source in sorted(EXAMPLES.glob("*.tsr")):
        beside, printed = source.with_suffix(".txt"), printed_by(source, programs)
        said = outputs_of(beside)
        texts += source.read_text()
        count += len(printed)
        if bless:
            kept = {entry: said[entry] if agree(said.get(entry, ""), text) else text for entry, text in printed.items()}
            beside.write_text("".join(f"# {entry}\n{text}" for entry, text in kept.items()))
            continue
        wrong += [f"{beside.name} has entries that {source.name} lacks: {sorted(set(said) - set(printed))}"
                  ] if set(said) - set(printed) else []
        wrong += [f"{entry} prints\n{text}and not\n{said.get(entry, '')}" for entry, text in printed.items()
                  if not agree(said.get(entry, ""), text)]
    wrong += without_example(texts)
    print("\n".join(wrong) or f"{count} examples")
    return 1 if wrong or count < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
