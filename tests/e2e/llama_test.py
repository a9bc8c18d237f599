#!/usr/bin/env python3
"""examples/llama beside its NumPy program, in f32 and bf16, and the program that continues a text with it.

Usage: llama_test.py BUILD_DIR
"""
import subprocess
import tempfile

import numpy as np

import models
from tools import BIN, SANITIZED, peak_memory

PROMPT = b"The first program that"


def generate(model, count):
    """What llama_generate writes."""
    command = [BIN / "llama_generate", model.bundle, model.weights, PROMPT.decode(), "--raw", "--count", str(count)]
    return subprocess.run([str(part) for part in command], capture_output=True, check=True).stdout


def check_memory(model):
    """A step needs no more than the one before: the caches have their size from the start."""
    def peak(count):
        return peak_memory(BIN / "llama_generate", model.bundle, model.weights, PROMPT.decode(), "--count", str(count))

    few, many = peak(4), peak(160)
    assert SANITIZED or many < few + 500_000, f"{few} bytes for 4 bytes of text, {many} for 160"


def main():
    llama = models.program("llama")
    with tempfile.TemporaryDirectory() as folder:
        model = models.compile_and_check("llama", folder)
        wanted = bytes(llama.generate(model.params, np.frombuffer(PROMPT, np.uint8), 160))
        text = generate(model, 160)
        assert text == wanted, (text, wanted)
        check_memory(model)


if __name__ == "__main__":
    main()
