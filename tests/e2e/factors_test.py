#!/usr/bin/env python3
"""Products whose factors are packed by kernels of their own, with what their launch needs beside the factors: sizes
used as numbers, parts at the counters of loops, two right factors. Compiled for each CPU, and computed beside NumPy in
float64.

Factors are small numbers that bf16 holds, and products of them exact, so that in f32 little is left to round. What is
bf16 is rounded where the language says so: the sum of its roundings is at most that of eight, each of 2^-9 of the
greatest number of a result.

Usage: factors_test.py BUILD_DIR
"""
import os
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

from bf16 import load_bf16, save_bf16

BOUNDS = {"f32": 1e-5, "bf16": 8 * 2**-9}
TARGETS = ("cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:x86-64-v4-bf16", "cpu:x86-64-v4-amx")

SOURCE = """
from tessera.nn import matmul_int4

@jit
def sized(h: Tensor[{rows}, K, {dtype}], w: Tensor[K, N, {dtype}], y: Tensor[T, f32]):
    a = (h @ w) * T
    b = relu(h @ w + T * N) * (K + 1)
    return a, b

@jit
def turned(h: Tensor[{rows}, K, {dtype}], w: Tensor[N, K, {dtype}], y: Tensor[T, f32]):
    a = gelu(h @ w.T) * T
    b = h[:, :K // 2] @ w[:, K - K // 2:].T * T
    return a, b

@jit
def recurrent(x: Tensor[T, {rows}, N, {dtype}], w: Tensor[N, N, {dtype}]):
    h = zeros(({rows}, N), {dtype})
    for i in range(T):
        h = x[i] + h @ w
    g = zeros(({rows}, N), {dtype})
    for i in range(T):
        for j in range(i, T):
            g = g * 0.5 + x[j] @ w * (i + 1)
    return h, g

@jit
def packed(x: Tensor[{rows}, 2 * K, {dtype}], q: Tensor[K, N, u8], s: Tensor[N, f32]):
    y = matmul_int4(x, q, s)
    return y
"""


def unpacked(q):
    """Numbers of 4 bits from pairs of them in bytes, the low one first."""
    parts = np.stack((q & 15, q >> 4), axis=1).reshape(2 * len(q), -1).astype(np.int64)
    return np.where(parts > 7, parts - 16, parts)


def gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def wanted(entry, v):
    if entry == "sized":
        p, iterations = v["h"] @ v["w"], len(v["y"])
        return {"a": p * iterations, "b": np.maximum(p + iterations * p.shape[1], 0) * (v["w"].shape[0] + 1)}
    if entry == "turned":
        k = v["h"].shape[1]
        parts = v["h"][:, :k // 2] @ v["w"][:, k - k // 2:].T
        return {"a": gelu(v["h"] @ v["w"].T) * len(v["y"]), "b": parts * len(v["y"])}
    if entry == "packed":
        return {"y": v["x"] @ unpacked(v["q"].astype(np.uint8)) * v["s"]}
    h = g = np.zeros(v["x"].shape[1:])
    for i in range(len(v["x"])):
        h = v["x"][i] + h @ v["w"]
        for j in range(i, len(v["x"])):
            g = g * 0.5 + v["x"][j] @ v["w"] * (i + 1)
    return {"h": h, "g": g}


def inputs(rng, rows, k, n, iterations):
    """Small integers, whose products are exact, with few of them not 0 where iterations multiply again and again."""
    def of(*shape):
        return rng.integers(-2, 3, shape).astype(np.float32)
    sparse = of(n, n) * (rng.random((n, n)) < 0.5 / n)
    h, y = of(rows, k), of(iterations)
    return {"sized": {"h": h, "w": of(k, n), "y": y}, "turned": {"h": h / 8, "w": of(n, k) / 8, "y": y},
            "recurrent": {"x": of(iterations, rows, n), "w": sparse},
            "packed": {"x": of(rows, 2 * k), "q": rng.integers(0, 256, (k, n)).astype(np.uint8), "s": of(n)}}


def save(path, value, dtype):
    if dtype == "bf16" and value.dtype == np.float32 and value.ndim > 1:
        save_bf16(path, value)
    else:
        np.save(path, value)


def load(path):
    return load_bf16(path) if np.load(path).dtype.itemsize == 2 else np.load(path)


def check(folder, bundle, entry, given, dtype):
    arguments = []
    for name, value in given.items():
        save(folder / f"{name}.npy", value, dtype)
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    expected = wanted(entry, {name: value.astype(np.float64) for name, value in given.items()})
    for name in expected:
        arguments += ["--output", f"{name}={folder}/out_{name}.npy"]
    # Without a target it is the best one that the processor has.
    for target in (*({"TSR_TARGET": target} for target in TARGETS[:2]), {}):
        run(BIN / "tsr", "run", bundle, entry, *arguments, env={**os.environ, **target})
        for name, value in expected.items():
            size = np.abs(value) if dtype == "f32" else np.max(np.abs(value), initial=0)
            apart = np.abs(load(folder / f"out_{name}.npy") - value) / (1 + size)
            assert np.max(apart, initial=0) <= BOUNDS[dtype], (target, entry, name, dtype, np.max(apart))


def main():
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source, bundle = folder / "f.tsr", folder / "f.bundle"
        for rows, dtype in ((17, "f32"), (130, "f32"), (33, "bf16")):
            source.write_text(SOURCE.format(rows=rows, dtype=dtype))
            run(BIN / "tesserac", source, f"--target={','.join(TARGETS)}", "-o", bundle)
            run(BIN / "tsr", "verify", bundle)
            for k, n, iterations in ((70, 75, 4), (300, 520, 2)):
                for entry, given in inputs(rng, rows, k, n, iterations).items():
                    check(folder, bundle, entry, given, dtype)


if __name__ == "__main__":
    main()
