#!/usr/bin/env python3
"""bytelm from source to numbers: compile, make parameters, run, and compare with NumPy.

Usage: bytelm_test.py BUILD_DIR
"""
import pathlib
import subprocess
import tempfile

import numpy as np

import bytelm_reference as reference
from tools import BIN, ROOT
import safetensors_io
BOUND = 2e-5  # of max|b|, f32


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def call(folder, entry, name, array, *options):
    """One entry's output for one input."""
    np.save(folder / "in.npy", array)
    result = "logits" if entry == "logits" else "loss"
    run(BIN / "tsr", "run", folder / "b.bundle", entry, "--params", folder / "w.safetensors",
        "--input", f"{name}={folder}/in.npy", "--output", f"{result}={folder}/out.npy", *options)
    return np.load(folder / "out.npy")


def check(what, got, wanted):
    assert got.shape == wanted.shape, (what, got.shape, wanted.shape)
    error = np.max(np.abs(got - wanted), initial=0.0)
    bound = BOUND * np.max(np.abs(wanted), initial=0.0)
    print(f"{what:<40} max|a-b| = {error:.3g}, bound {bound:.3g}")
    assert error <= bound, what


def main():
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(BIN / "tesserac", ROOT / "examples/bytelm/bytelm.tsr", "-o", folder / "b.bundle")
        run(BIN / "tsr", "init", folder / "b.bundle", "--seed", 7, "-o", folder / "w.safetensors")
        params = safetensors_io.load(folder / "w.safetensors")
        exact = {key: value.astype(np.float64) for key, value in params.items()}
        for batch in (1, 2, 7, 64, 257):
            tokens = rng.integers(0, 256, (batch, reference.CONTEXT + 1), dtype=np.uint8)
            context = np.ascontiguousarray(tokens[:, :-1])
            check(f"logits, batch {batch}", call(folder, "logits", "context", context),
                  reference.logits(exact, context))
            check(f"loss, batch {batch}", call(folder, "loss", "tokens", tokens), reference.loss(exact, tokens))
        for mode in ("f64", "exact"):
            check(f"loss, --interpret={mode}", call(folder, "loss", "tokens", tokens[:16], f"--interpret={mode}"),
                  call(folder, "loss", "tokens", tokens[:16]))
        empty = np.zeros((0, reference.CONTEXT), np.uint8)
        assert call(folder, "logits", "context", empty).shape == (0, 256)
        one = call(folder, "loss", "tokens", tokens, "--threads", 1)
        two = call(folder, "loss", "tokens", tokens, "--threads", 2)
        assert one.tobytes() == two.tobytes(), "the number of threads changed a bit"


if __name__ == "__main__":
    main()
