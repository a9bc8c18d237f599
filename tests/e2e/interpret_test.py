#!/usr/bin/env python3
"""Entries that call kernels of their own, interpreted from the bundle, beside the compiled code and NumPy.

Usage: interpret_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

SOURCE = """
@kernel.schedule(Schedule(BM=8))
def scaled(x: Tensor[M, N, f32], *, by: float = 2.0) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.load(x) * by

@kernel.schedule(Schedule(BM=4))
def rows(x: Tensor[M, N, f32], w: Tensor[N, f32]) -> (Tensor[M, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    v = tile.load(x, (t.i, 0), (t.m, t.n)) * tile.load(w, (0,), (t.n,))[None, :]
    return tile.sum(v, axis=1), tile.max(v, axis=1)

@jit
def f(x: Tensor[B, S, 5, f32], w: Tensor[5, f32]):
    y = scaled(reshape(x + 1.0, (B * S, 5)), by=3.0)
    total, top = rows(scaled(y), w)
    return total, top
"""


def main():
    rng = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "s.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "s.tsr", "-o", folder / "s.bundle")
        x = rng.standard_normal((3, 7, 5)).astype(np.float32)
        w = rng.standard_normal(5).astype(np.float32)
        np.save(folder / "x.npy", x)
        np.save(folder / "w.npy", w)
        v = (x.astype(np.float64).reshape(21, 5) + 1) * 6 * w.astype(np.float64)
        for mode in ([], ["--interpret", "exact"], ["--interpret", "f64"]):
            run(BIN / "tsr", "run", folder / "s.bundle", "f", "--input", f"x={folder}/x.npy", "--input",
                f"w={folder}/w.npy", "--output", f"total={folder}/t.npy", "--output", f"top={folder}/m.npy", *mode)
            for file, wanted in (("t", v.sum(axis=1)), ("m", v.max(axis=1))):
                got = np.load(folder / f"{file}.npy")
                assert got.shape == wanted.shape and got.dtype == np.float32, (mode, file, got.shape, got.dtype)
                error = np.max(np.abs(got - wanted))
                assert error < 1e-4, (mode, file, error)


if __name__ == "__main__":
    main()
