#!/usr/bin/env python3
"""Kernels whose tiles have extents that are no powers of two: computed beside NumPy on each CPU, assembled for GPUs.

Usage: tile_extents_test.py BUILD_DIR
"""
import pathlib
import shutil
import tempfile

import numpy as np

from tools import BIN, run

SOURCE = """
@kernel.schedule(Schedule(BM={0}, BN={1}))
def point(x: Tensor[M, N, {3}]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.cast(tile.load(x), f32) * 2.0 + 1.0

@kernel.schedule(Schedule(BM={0}, BN={1}))
def rows(x: Tensor[M, N, {3}]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    s = tile.zeros((t.m,), f32)
    for j in tile.range(N, t.n):
        s += tile.sum(tile.cast(tile.load(x, (t.i, j), (t.m, t.n)), f32), axis=1)
    return s

@kernel.schedule(Schedule(BM={0}, BN={1}))
def running(x: Tensor[M, N, {3}], y: Region[write] Tensor[M, N, f32]) -> Tensor[M, f32]:
    t     = tile.context(m=M, n=N)
    total = tile.zeros((t.m,), f32)
    for j in tile.range(N, t.n):
        s, more = tile.scan(tile.cast(tile.load(x, (t.i, j), (t.m, t.n)), f32), axis=1, total=True)
        tile.store(s + total[:, None], y, (t.i, j))
        total += more
    return total

@kernel.schedule(Schedule(BM={0}, BN={1}, BK={2}))
def product(a: Tensor[M, K, {3}], b: Tensor[K, N, {3}]) -> Tensor[M, N, f32]:
    t   = tile.context(m=M, n=N, k=K)
    acc = tile.zeros((t.m, t.n), f32)
    for k in tile.range(K, t.k):
        acc = tile.dot(tile.load(a, (t.i, k), (t.m, t.k)), tile.load(b, (k, t.j), (t.k, t.n)), acc)
    return acc

@jit
def f(a: Tensor[M, K, {3}], b: Tensor[K, N, {3}], x: Tensor[M, N, {3}], y: Tensor[M, N, f32]):
    p = product(a, b)
    q = point(x)
    r = rows(x)
    t, s = running(x, y)
    return p, q, r, s, t
"""

BLOCKS = ((24, 48, 96), (40, 12, 7), (7, 7, 7), (96, 24, 40), (12, 96, 48), (48, 40, 12))


def wanted(a, b, x):
    a, b, x = (value.astype(np.float64) for value in (a, b, x))
    return {"p": a @ b, "q": 2 * x + 1, "r": x.sum(axis=1), "s": np.cumsum(x, axis=1), "t": x.sum(axis=1)}


def main():
    rng = np.random.default_rng(3)
    m, k, n = 53, 61, 101
    a, b, x = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))
    assembles = shutil.which("ptxas") is not None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        arguments = []
        for key, value in {"a": a, "b": b, "x": x, "y": x}.items():
            np.save(folder / f"{key}.npy", value)
            arguments += ["--input", f"{key}={folder}/{key}.npy"]
        expected = wanted(a, b, x)
        for key in expected:
            arguments += ["--output", f"{key}={folder}/out_{key}.npy"]
        source, bundle = folder / "f.tsr", folder / "f.bundle"
        for number, blocks in enumerate(BLOCKS):
            source.write_text(SOURCE.format(*blocks, "f32"))
            for target in ("cpu:x86-64-v3", "cpu:x86-64-v4"):
                run(BIN / "tesserac", source, f"--target={target}", "-o", bundle)
                run(BIN / "tsr", "run", bundle, "f", *arguments)
                for key, value in expected.items():
                    got = np.load(folder / f"out_{key}.npy")
                    assert np.max(np.abs(got - value)) <= 5e-5, (blocks, target, key)
            for dtype in ("f32", "bf16"):
                source.write_text(SOURCE.format(*blocks, dtype))
                cubin = ["--cubin"] if assembles and number < 2 else []
                run(BIN / "tesserac", source, "--target=cuda:sm_80,cuda:sm_90a", *cubin, "-o", bundle)


if __name__ == "__main__":
    main()
