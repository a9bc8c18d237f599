#!/usr/bin/env python3
"""Loops and branches that run on the machine, compiled and interpreted, beside NumPy.

Usage: control_flow_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

SOURCE = """
@jit
def scan(x: Tensor[S, B, D, f32], w: Tensor[D, D, f32]):
    h = zeros((B, D), f32)
    for i in range(S):
        h = tanh(x[i] + h @ w)
    return h

@jit
def fibonacci(x: Tensor[N, f32]):
    a, b = zeros((), f64), ones((), f64)
    for i in range(N):
        a, b = b, a + b
    return a, b

@jit
def root(a: Tensor[f32]):
    x, steps = a, zeros((), i64)
    while abs(x * x - a) > 1e-5 * a:
        x = 0.5 * (x + a / x)
        steps = steps + 1
    if steps > 6:
        x = -x
    return x, steps

@jit
def nested(x: Tensor[M, N, f32]):
    total = zeros((), f32)
    for i in range(M):
        row = zeros((), f32)
        for j in range(i, N):
            row = row + x[i, j]
        if row > 0.0:
            total = total + row
        elif row < -1.0:
            total = total - 1.0
    return total

@jit
def powers(x: Tensor[B, f32], n: Tensor[i64]):
    y = ones((B,), f32)
    for k in range(n):
        y = y * x
    return y

@jit
def fill_cache(x: Tensor[B, 2, S, 4, f32], cache: KVCache["B", 2, "S_max", 4, f32]) where S <= S_max, S_max >= 1:
    for i in range(S):
        part = x[:, :, i:i + 1]
        cache = cache.append(part, part * 2.0)
    return cache.length + 0, cache

@jit
def chosen(x: Tensor[B, 8, bf16], p: Tensor[bool]):
    if p:
        y = x * 3.0
    else:
        y = x - 1.0
    return y * 2.0
"""


def main():
    rng = np.random.default_rng(9)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "c.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "c.tsr", "-o", folder / "c.bundle")

        def call(mode, entry, outputs, *options, **inputs):
            arguments = []
            for key, value in inputs.items():
                np.save(folder / f"{key}.npy", value)
                arguments += ["--input", f"{key}={folder}/{key}.npy"]
            for output in outputs:
                arguments += ["--output", f"{output}={folder}/{output}.npy"]
            run(BIN / "tsr", "run", folder / "c.bundle", entry, *arguments, *options, *mode)
            return [np.load(folder / f"{output}.npy") for output in outputs]

        for mode in ((), ("--interpret", "exact")):
            for s in (0, 1, 2, 7):
                x, w = rng.standard_normal((s, 3, 5)).astype(np.float32), rng.standard_normal((5, 5)).astype(np.float32)
                h = np.zeros((3, 5))
                for i in range(s):
                    h = np.tanh(x[i] + h @ w)
                np.testing.assert_allclose(call(mode, "scan", ["h"], x=x, w=w)[0], h, rtol=1e-4, atol=1e-5)
                a, b = 0, 1
                for _ in range(s):
                    a, b = b, a + b
                assert call(mode, "fibonacci", ["a", "b"], x=np.zeros(s, np.float32)) == [a, b]
            for a in (2.0, 1.0, 1e6):
                x, steps = call(mode, "root", ["x", "steps"], a=np.float32(a))
                np.testing.assert_allclose(abs(x), np.sqrt(a), rtol=1e-4)
                assert (x < 0) == (steps > 6), (x, steps)
            x = rng.standard_normal((6, 6)).astype(np.float32)
            total = np.float32(0)
            for i in range(6):
                row = x[i, i:].sum()
                total += row if row > 0 else -1 if row < -1 else 0
            np.testing.assert_allclose(call(mode, "nested", ["total"], x=x)[0], total, rtol=1e-4)
            x = rng.standard_normal(9).astype(np.float32)
            for n in (0, 1, 5):
                np.testing.assert_allclose(call(mode, "powers", ["y"], x=x, n=np.int64(n))[0], x**n, rtol=1e-5)
            x = rng.standard_normal((2, 2, 3, 4)).astype(np.float32)
            (folder / "cache.safetensors").unlink(missing_ok=True)
            for length in (3, 6):
                state = ("--state", f"cache={folder}/cache.safetensors", "--dim", "S_max=7")
                assert call(mode, "fill_cache", ["fill_cache.0"], *state, x=x) == [length]
            for p in (True, False):
                half = (x.view(np.uint32) >> 16).astype(np.uint16)
                exact = (half.astype(np.uint32) << 16).view(np.float32).reshape(6, 8)
                y = call(mode, "chosen", ["chosen"], x=half.reshape(6, 8).view(np.dtype("V2")), p=np.bool_(p))[0]
                wanted = (exact * 3 if p else exact - 1) * 2
                got = (y.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
                np.testing.assert_allclose(got, wanted, rtol=2**-8, atol=1e-30)


if __name__ == "__main__":
    main()
