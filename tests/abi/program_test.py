#!/usr/bin/env python3
"""The program every_function.c calls every function of tessera.h, and what it checks holds.

Usage: program_test.py BUILD_DIR
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from usage import build_folder

BIN = build_folder() / "bin"
HEADER = HERE.parents[1] / "runtime/include/tessera.h"


def main():
    declared = set(re.findall(r"^TSR_API [^(;]*?\b(tsr\w+)\(", HEADER.read_text(), re.M))
    assert len(declared) > 50, declared
    called = set(re.findall(r"\b(tsr[A-Z]\w+)\(", (HERE / "every_function.c").read_text()))
    assert called == declared, f"not called: {sorted(declared - called)}; not declared: {sorted(called - declared)}"
    with tempfile.TemporaryDirectory() as folder:
        bundle = pathlib.Path(folder) / "functions.bundle"
        subprocess.run([BIN / "tesserac", HERE / "functions.tsr", "-o", bundle], check=True, timeout=120)
        subprocess.run([BIN / "every_function", bundle], check=True, timeout=240)
    print(f"{len(declared)} functions")


if __name__ == "__main__":
    main()
