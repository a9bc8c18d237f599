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


STDLIB = """
from tessera.stdlib import efficient_layernorm, fused_adam, rotary_embedding

@jit
def f(x: Tensor[M, N, f32], scale: Tensor[N, f32], bias: Tensor[N, f32], g: Tensor[M, N, f32], m: Tensor[M, N, f32],
      v: Tensor[M, N, f32], step: Tensor[i64], lr: Tensor[f32], cosine: Tensor[M, 16, f32], sine: Tensor[M, 16, f32],
      h: Tensor[B, M, 32, f32]):
    normed = efficient_layernorm(x, scale, bias)
    flat = lambda y: reshape(y, (M * N,))
    p2, m2, v2 = fused_adam(flat(x), flat(g), flat(m), flat(v), step, lr, weight_decay=0.01)
    turned = reshape(rotary_embedding(reshape(h, (B, M, 2, 16)), cosine, sine), (B, M, 32))
    return normed, p2, m2, v2, turned
"""


def library(x, scale, bias, g, m, v, step, lr, cosine, sine, h):
    d = {name: value.astype(np.float64) for name, value in locals().items()}
    x, g = d["x"], d["g"]
    centred = x - x.mean(axis=1, keepdims=True)
    normed = centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5) * d["scale"] + d["bias"]
    first, second = 0.9 * d["m"] + 0.1 * g, 0.999 * d["v"] + 0.001 * g * g
    n = float(step)
    moved = d["lr"] * first / (1 - 0.9 ** n) / (np.sqrt(second / (1 - 0.999 ** n)) + 1e-8)
    a, b = d["h"][..., :16], d["h"][..., 16:]
    turned = np.concatenate([a * d["cosine"] - b * d["sine"], b * d["cosine"] + a * d["sine"]], axis=-1)
    return {"normed": normed, "p2": (x - moved - d["lr"] * 0.01 * x).ravel(), "m2": first.ravel(),
            "v2": second.ravel(), "turned": turned}


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
        for rows, columns in ((1, 8), (50, 300)):
            def array(*dims):
                return rng.standard_normal(dims).astype(np.float32)
            inputs = {"x": array(rows, columns), "scale": array(columns), "bias": array(columns),
                      "g": array(rows, columns), "m": array(rows, columns), "v": np.abs(array(rows, columns)),
                      "step": np.array(3, np.int64), "lr": np.array(0.01, np.float32), "cosine": array(rows, 16),
                      "sine": array(rows, 16), "h": array(3, rows, 32)}
            check(folder, "stdlib", STDLIB, inputs, library(**inputs))


if __name__ == "__main__":
    main()
