#!/usr/bin/env python3
"""Kernels with all that the kernel language has: compiled for each CPU, and interpreted, beside NumPy.

Usage: kernel_language_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

SCANS = """
@kernel.schedule(Schedule(BM=4))
def along_rows(x: Tensor[M, N, f32]) -> (Tensor[M, N, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    sums, total = tile.scan(tile.load(x, (t.i, t.j), (t.m, t.n)), axis=1, total=True)
    return sums, total

@kernel.schedule(Schedule(BN=64))
def along_columns(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.scan(tile.load(x, (t.i, t.j), (t.m, t.n)), axis=0, reverse=True, exclusive=True)

@kernel.schedule(Schedule(BM=4))
def shares(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    sums, total = tile.scan(tile.exp(tile.load(x, (t.i, t.j), (t.m, t.n))), axis=1, kind="max", total=True)
    return sums / total[:, None]

@jit
def f(x: Tensor[M, N, f32]):
    a, b = along_rows(x)
    c = along_columns(x)
    d = shares(x)
    return a, b, c, d
"""


def scans(x):
    x = x.astype(np.float64)
    top = np.maximum.accumulate(np.exp(x), axis=1)
    return {"a": np.cumsum(x, axis=1), "b": x.sum(axis=1), "c": np.cumsum(x[::-1], axis=0)[::-1] - x,
            "d": top / top[:, -1:]}


def check(folder, name, source, inputs, wanted, bound=1e-5):
    """Runs the entry f on the inputs in every mode; results by name are within the bound of the wanted ones."""
    bundle = folder / f"{name}.bundle"
    if not bundle.exists():
        (folder / f"{name}.tsr").write_text(source)
        run(BIN / "tesserac", folder / f"{name}.tsr", "--target=cpu:x86-64-v3,cpu:x86-64-v4", "-o", bundle)
    arguments = []
    for key, value in inputs.items():
        np.save(folder / f"{key}.npy", value)
        arguments += ["--input", f"{key}={folder}/{key}.npy"]
    for key in wanted:
        arguments += ["--output", f"{key}={folder}/out_{key}.npy"]
    for mode in ([], ["--interpret", "exact"]):
        run(BIN / "tsr", "run", bundle, "f", *arguments, *mode)
        for key, value in wanted.items():
            got = np.load(folder / f"out_{key}.npy")
            assert got.shape == value.shape, (name, mode, key, got.shape, value.shape)
            apart = np.abs(got - value) / (1 + np.abs(value))
            assert got.size == 0 or np.max(apart) <= bound, (name, mode, key, got.shape, np.max(apart))


def main():
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for shape in ((1, 1), (5, 37), (3, 1000), (130, 17), (7, 16), (0, 5)):
            x = rng.standard_normal(shape).astype(np.float32)
            check(folder, "scans", SCANS, {"x": x}, scans(x))


if __name__ == "__main__":
    main()
