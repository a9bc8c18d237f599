#!/usr/bin/env python3
"""tile.sort, compiled and interpreted, beside NumPy.

Usage: tile_sort_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

RNG = np.random.default_rng(5)
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "u8": np.uint8, "i32": np.int32,
          "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "bool": np.bool_}
ROUNDED = ("bf16", "f8e4m3", "f8e5m2")  # of numbers that NumPy has, all of which they have
# rows, columns, their blocks, the axis
SHAPES = [(3, 1, 2, 1, 1), (5, 2, 4, 2, 1), (7, 100, 4, 100, 1), (2, 1000, 1, 1000, 1), (37, 45, 37, 32, 0),
          (5, 70, 2, 32, 1), (70, 3, 32, 3, 0), (20, 33, 20, 33, 1), (1, 513, 1, 513, -1)]
NARROW = [(7, 100, 4, 100, 1), (37, 45, 37, 32, 0), (5, 70, 2, 32, 1)]  # also of other dtypes than f32


def numbers(rows, columns, name):
    """Few numbers, so that many are equal, and all that floats have."""
    dtype = DTYPES.get(name, np.float32)
    if dtype == np.bool_:
        return RNG.integers(0, 2, (rows, columns)).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return RNG.choice(np.array([info.min, info.max, 0, 1, 2, info.max - 1], dtype), (rows, columns))
    x = (RNG.integers(-7, 8, (rows, columns)) / 4).astype(dtype)
    odd = [np.nan, -0.0]
    if name in DTYPES:
        odd += [np.inf, -np.inf, np.finfo(dtype).tiny, np.finfo(dtype).max]
    x[RNG.random(x.shape) < 0.3] = RNG.choice(np.array(odd, dtype))
    x[0] = np.nan
    return x


def in_order(part, axis):
    """-0 is less than 0, which np.sort takes for equal."""
    if part.dtype.kind != "f":
        return np.sort(part, axis)
    return np.take_along_axis(part, np.lexsort((~np.signbit(part), part), axis), axis)


def wanted(x, block, axis, descending):
    """Each block for itself."""
    parts = [in_order(part, axis) for part in np.split(x, range(block, x.shape[axis], block), axis)]
    return np.concatenate([np.flip(part, axis) for part in parts] if descending else parts, axis)


def same(got, right):
    is_float = got.dtype.kind == "f"
    signs = not is_float or np.array_equal(np.signbit(got) | np.isnan(got), np.signbit(right) | np.isnan(right))
    return np.array_equal(got, right, equal_nan=is_float) and signs


MOVED = """
@kernel.schedule(Schedule(BM=2, BN=8))
def moved{d}(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.sort(tile.load(x, (t.i, t.j + 1), (t.m, t.n)), descending={d})

@jit
def sort{d}(x: Tensor[M, N, f32]):
    return moved{d}(x)
"""


MERGED = """
@kernel.schedule(Schedule(BM=1, BN={n}))
def merged{d}{n}(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.sort(tile.load(x, (t.i, t.j), (t.m, t.n)), bitonic=True, descending={d})

@jit
def sort{d}{n}(x: Tensor[M, N, f32]):
    return merged{d}{n}(x)
"""


KNOWN = """
@kernel.schedule(Schedule(BM=24))
def k(x: Tensor[1, 48, f16]) -> Tensor[1, 48, f16]:
    t = tile.context(m=1, n=48)
    return tile.sort(tile.load(x, (t.i, t.j), (t.m, t.n)))

@jit
def sort(x: Tensor[1, 48, f16]):
    return k(x)
"""


def known(folder):
    """One row of a block of 24: LLVM knows the others, and refers to their constants without a name."""
    (folder / "known.tsr").write_text(KNOWN)
    run(BIN / "tesserac", folder / "known.tsr", "-o", folder / "known.bundle", "--target=host")
    x = RNG.standard_normal((1, 48)).astype(np.float16)
    np.save(folder / "x.npy", x)
    run(BIN / "tsr", "run", folder / "known.bundle", "sort", "--input", f"x={folder}/x.npy", "--output",
        f"sort={folder}/y.npy")
    assert same(np.load(folder / "y.npy"), wanted(x, 48, 1, False))


def merged(folder):
    """Elements that fall and then rise, in blocks that the tensor fills or not."""
    sizes, orders = (1, 2, 50, 64, 300), (False, True)
    (folder / "merged.tsr").write_text("".join(MERGED.format(d=d, n=n) for d in orders for n in sizes))
    run(BIN / "tesserac", folder / "merged.tsr", "-o", folder / "merged.bundle", "--target=host")
    for descending in orders:
        for size in sizes:
            x = numbers(9, size + size // 3, "f32")
            for row, line in enumerate(x):
                for part in (line[:size], line[size:]):
                    first, second = in_order(part[:len(part) * row // 8], 0), in_order(part[len(part) * row // 8:], 0)
                    part[:] = np.concatenate([first, second[::-1]] if descending else [first[::-1], second])
            np.save(folder / "x.npy", x)
            right = wanted(x, size, 1, descending)
            for mode in ((), ("--interpret", "exact")):
                run(BIN / "tsr", "run", folder / "merged.bundle", f"sort{descending}{size}", "--input",
                    f"x={folder}/x.npy", "--output", f"sort{descending}{size}={folder}/y.npy", *mode)
                got = np.load(folder / "y.npy")
                assert same(got, right), (descending, size, mode, x, got, right)


def moved(folder):
    """Elements past the end of the tensor stay where they are: 0."""
    (folder / "moved.tsr").write_text("".join(MOVED.format(d=d) for d in (False, True)))
    run(BIN / "tesserac", folder / "moved.tsr", "-o", folder / "moved.bundle", "--target=host")
    x = RNG.standard_normal((3, 29)).astype(np.float32)
    np.save(folder / "x.npy", x)
    for descending in (False, True):
        right = np.zeros((3, 32), np.float32)
        right[:, :21] = wanted(x[:, 8:], 8, 1, descending)
        for mode in ((), ("--interpret", "exact")):
            run(BIN / "tsr", "run", folder / "moved.bundle", f"sort{descending}", "--input", f"x={folder}/x.npy",
                "--output", f"sort{descending}={folder}/y.npy", *mode)
            got = np.load(folder / "y.npy")
            assert same(got, right[:, :29]), (descending, mode, got, right)


def main():
    cases = [(shape, "f32", descending) for shape in SHAPES for descending in (False, True)]
    cases += [(shape, name, bool(n % 2)) for n, name in enumerate([*DTYPES, *ROUNDED]) for shape in NARROW]
    text = ""
    for n, ((_, _, m, k, axis), dtype, descending) in enumerate(cases):
        given, call = dtype, f"k{n}(x)"
        if dtype in ROUNDED:
            given, call = "f32", f"cast(k{n}(cast(x, {dtype})), f32)"
        text += (f"@kernel.schedule(Schedule(BM={m}, BN={k}))\n"
                 f"def k{n}(x: Tensor[M, N, {dtype}]) -> Tensor[M, N, {dtype}]:\n    t = tile.context(m=M, n=N)\n"
                 f"    return tile.sort(tile.load(x, (t.i, t.j), (t.m, t.n)), axis={axis}, descending={descending})\n\n"
                 f"@jit\ndef sort{n}(x: Tensor[M, N, {given}]):\n    return {call}\n\n")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "sorts.tsr").write_text(text)
        run(BIN / "tesserac", folder / "sorts.tsr", "-o", folder / "sorts.bundle", "--target=host")
        for n, ((rows, columns, m, k, axis), dtype, descending) in enumerate(cases):
            x = numbers(rows, columns, dtype)
            np.save(folder / "x.npy", x)
            right = wanted(x, m if axis == 0 else k, axis % 2, descending)
            for mode in ((), ("--interpret", "exact")):
                run(BIN / "tsr", "run", folder / "sorts.bundle", f"sort{n}", "--input", f"x={folder}/x.npy",
                    "--output", f"sort{n}={folder}/y.npy", *mode)
                got = np.load(folder / "y.npy")
                assert same(got, right), (cases[n], mode, x, got, right)
        moved(folder)
        merged(folder)
        known(folder)


if __name__ == "__main__":
    main()
