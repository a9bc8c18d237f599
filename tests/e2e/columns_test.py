#!/usr/bin/env python3
"""Programs along the first axis of a symbolic matrix, compiled, beside NumPy.

Usage: columns_test.py BUILD_DIR
"""
import os
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

SOURCE = """
@jit
def down(x: Tensor[B, 9, f32]):
    return softmax(x, axis=0)

@jit
def both(x: Tensor[B, N, f32]):
    return softmax(x, axis=0)

@jit
def turned(x: Tensor[B, N, f32]):
    return softmax(x.T)

@jit
def by_hand(x: Tensor[B, N, f32]):
    e = exp(x - max(x, axis=0))
    return e / sum(e, axis=0)
"""


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def main():
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "s.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "s.tsr", "-o", folder / "s.bundle")
        for target in ("cpu:x86-64-v3", ""):
            for rows in (1, 4, 33, 130):
                for columns in (9, 16, 64, 67):
                    x = rng.standard_normal((rows, columns)).astype(np.float32)
                    np.save(folder / "x.npy", x)
                    for entry in ("down", "both", "turned", "by_hand"):
                        if entry == "down" and columns != 9:
                            continue
                        run(BIN / "tsr", "run", folder / "s.bundle", entry, "--input", f"x={folder}/x.npy", "--output",
                            f"{'by_hand' if entry == 'by_hand' else entry}={folder}/y.npy",
                            env=dict(os.environ, TSR_POISON="1", **({"TSR_TARGET": target} if target else {})))
                        got = np.load(folder / "y.npy")
                        wanted = softmax(x.astype(np.float64), 0)
                        wanted = wanted.T if entry == "turned" else wanted
                        assert got.shape == wanted.shape, (entry, got.shape)
                        error = np.max(np.abs(got - wanted))
                        assert error <= 2e-5 * np.max(wanted), (entry, target, rows, columns, error)


if __name__ == "__main__":
    main()
