#!/usr/bin/env python3
"""Order and windows of integers, down to the least one, tables of integers, and weights of 4 bits with scales, beside
NumPy.

Usage: integers_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

DTYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u32": np.uint32}
ORDER = """
@jit
def order_{name}(x: Tensor[A, B, {name}], y: Tensor[C, H, W, D, {name}]) where B >= 3, H >= 2, W >= 2:
    top = topk(x, 3)
    return sort(x), argsort(x), top[0], top[1], max_pool2d(y, (2, 2), strides=(1, 1), padding=(1, 1))
"""
SOURCE = "from tessera.nn import sort, argsort, topk, max_pool2d, quantize, pack_int4, matmul_int4\n" + "".join(
    ORDER.format(name=name) for name in DTYPES) + """
@jit
def product(x: Tensor[M, 8, f32], w: Tensor[8, N, f32]):
    q, scale = quantize(w, i4, axis=0)
    return matmul_int4(x, pack_int4(q), scale), matmul_int4(x, pack_int4(q), reshape(scale, (N,)))

@jit
def rows(table: Tensor[V, N, u8], ids: Tensor[M, i32]):
    return embedding(ids, cast(table, f32)), embedding(ids, table)
"""


def call(folder, entry, count, **inputs):
    arguments = []
    for name, value in inputs.items():
        np.save(folder / f"{name}.npy", value)
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    for i in range(count):
        arguments += ["--output", f"{entry}.{i}={folder}/{i}.npy"]
    run(BIN / "tsr", "run", folder / "s.bundle", entry, *arguments)
    return [np.load(folder / f"{i}.npy") for i in range(count)]


def check_order(folder, name, dtype, rng):
    least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = rng.integers(least, greatest, (5, 9), dtype=dtype, endpoint=True)
    x[0, 2:6] = least  # more of the least than topk leaves out, and equal ones
    x[1] = least
    y = np.full((1, 3, 4, 2), least, dtype)
    y[0, 1, 1] = least + 1
    ordered, places, values, at, pooled = call(folder, f"order_{name}", 5, x=x, y=y)
    np.testing.assert_array_equal(ordered, np.sort(x, axis=1))
    np.testing.assert_array_equal(places, np.argsort(x, axis=1, kind="stable"))
    # Greatest first, and of equal ones the first: what a stable sort of the complement gives.
    first = np.argsort(~x, axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(at, first)
    np.testing.assert_array_equal(values, np.take_along_axis(x, first, axis=1))
    padded = np.pad(y, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=least)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 2), axis=(1, 2))
    np.testing.assert_array_equal(pooled, windows.max(axis=(4, 5)))


def main():
    rng = np.random.default_rng(4)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "s.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "s.tsr", "-o", folder / "s.bundle")
        for name, dtype in DTYPES.items():
            check_order(folder, name, dtype, rng)
        x, w = rng.standard_normal((3, 8)).astype(np.float32), rng.standard_normal((8, 5)).astype(np.float32)
        scale = np.abs(w).max(axis=0, keepdims=True) / np.float32(7)
        wide, flat = call(folder, "product", 2, x=x, w=w)
        np.testing.assert_allclose(wide, x @ (np.round(w / scale) * scale), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(wide, flat)
        # A row outside of a table is NaN, of integers 0.
        table, ids = rng.integers(1, 255, (6, 37), np.uint8), np.array([5, -1, 0, 6, 255], np.int32)
        inside = ((ids >= 0) & (ids < 6))[:, None]
        floats, integers = call(folder, "rows", 2, table=table, ids=ids)
        np.testing.assert_array_equal(floats, np.where(inside, table[ids % 6], np.float32("nan")))
        np.testing.assert_array_equal(integers, np.where(inside, table[ids % 6], 0))


if __name__ == "__main__":
    main()
