#!/usr/bin/env python3
"""mlp in bf16: its error against float64 is at most twice that of NumPy rounding at the same casts.

Usage: mlp_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, EXAMPLES, run
from bf16 import load_bf16, save_bf16, to_bf16

HIDDEN = 3072


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def mlp(x, w_in, w_out, dtype, cast):
    """The formula in `dtype`, with `cast` where a value is stored as bf16."""
    x, w_in, w_out = x.astype(dtype), w_in.astype(dtype), w_out.astype(dtype)
    normed = cast(x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + dtype(1e-6)))
    hidden = cast(gelu(normed @ w_in).astype(dtype))
    return cast(x + hidden @ w_out)


def main():
    rng = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(BIN / "tesserac", EXAMPLES / "mlp/mlp.tsr", "-o", folder / "b.bundle")
        for batch, width in ((1, 64), (5, 96), (33, 200), (130, 257)):
            x = to_bf16(rng.standard_normal((batch, width)))
            w_in = to_bf16(rng.standard_normal((width, HIDDEN)) / np.sqrt(width))
            w_out = to_bf16(rng.standard_normal((HIDDEN, width)) / np.sqrt(HIDDEN))
            for key, value in (("x", x), ("w_in", w_in), ("w_out", w_out)):
                save_bf16(folder / f"{key}.npy", value)
            run(BIN / "tsr", "run", folder / "b.bundle", "mlp", "--output", f"mlp={folder}/y.npy",
                *(part for key in ("x", "w_in", "w_out") for part in ("--input", f"{key}={folder}/{key}.npy")))
            got = load_bf16(folder / "y.npy")
            exact = mlp(x, w_in, w_out, np.float64, lambda v: v)
            rounded = mlp(x, w_in, w_out, np.float32, to_bf16)
            ours, numpys = (float(np.max(np.abs(value - exact))) for value in (got, rounded))
            print(f"batch {batch}, width {width}: error {ours:.4g}, NumPy with the same casts {numpys:.4g}")
            assert got.shape == (batch, width) and ours <= 2 * numpys


if __name__ == "__main__":
    main()
