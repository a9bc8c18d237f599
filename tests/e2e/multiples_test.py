#!/usr/bin/env python3
"""A size that `where` says is a multiple: cut up and joined again, and refused when it is none.

Usage: multiples_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, refuse, run

SOURCE = """
@jit
def cut(x: Tensor[B, S, f32]) -> Tensor[B, S // 64, 64, f32] where S % 64 == 0:
    return reshape(x, (B, S // 64, 64)) * 2.0

@jit
def joined(x: Tensor[B, S, f32]) -> Tensor[B, S, f32] where S % 64 == 0:
    w = reshape(x, (B, -1, 64))
    return reshape(w - max(w, axis=2, keepdims=True), (B, S)) + x

@jit
def turned(x: Tensor[B, S, f32]) -> Tensor[B, S, f32] where S % 64 == 0:
    w = reshape(x, (B, S // 32, 32))
    return reshape(transpose(w, 0, 2, 1), (B, S)) + x
"""


def expected(entry, x):
    b, s = x.shape
    if entry == "cut":
        return x.reshape(b, s // 64, 64) * np.float32(2)
    if entry == "joined":
        w = x.reshape(b, -1, 64)
        return (w - w.max(axis=2, keepdims=True)).reshape(b, s) + x
    return x.reshape(b, s // 32, 32).transpose(0, 2, 1).reshape(b, s) + x


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "m.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "m.tsr", "-o", folder / "m.bundle")
        for entry in ("cut", "joined", "turned"):
            for shape in ((3, 192), (1, 64), (2, 0)):
                x = np.random.default_rng(1).standard_normal(shape, np.float32)
                np.save(folder / "x.npy", x)
                out = folder / f"{entry}.npy"
                given = ("--input", f"x={folder}/x.npy", "--output", f"{entry}={out}")
                for mode in ((), ("--interpret", "exact")):
                    run(BIN / "tsr", "run", folder / "m.bundle", entry, *given, *mode)
                    assert np.array_equal(np.load(out), expected(entry, x)), (entry, shape, mode)
            np.save(folder / "x.npy", np.zeros((3, 100), np.float32))
            message = refuse(BIN / "tsr", "run", folder / "m.bundle", entry, "--input", f"x={folder}/x.npy")
            assert "S % 64 == 0" in message, message


if __name__ == "__main__":
    main()
