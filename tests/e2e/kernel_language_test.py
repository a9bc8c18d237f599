#!/usr/bin/env python3
"""Kernels with all that the kernel language has: compiled for each CPU, and interpreted, beside NumPy.

Usage: kernel_language_test.py BUILD_DIR
"""
import pathlib
import shutil
import tempfile

import numpy as np

from tools import BIN, DEVICE, run

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


DROPOUT = """
@kernel.schedule(Schedule({}))
def dropped(x: Tensor[M, N, f32], seed: Tensor[u64]) -> (Tensor[M, N, f32], Tensor[M, N, f32]):
    t = tile.context(m=M, n=N)
    s = tile.load(seed)
    number = tile.row_index() * N + tile.col_index()
    return dropout_in_kernel(tile.load(x), p=0.25, seed=s), tile.uniform(s, number, stream=7)

@jit
def f(x: Tensor[M, N, f32], seed: Tensor[u64]):
    a, b = dropped(x, seed)
    return a, b
"""


def philox_uniform(count, key):
    """Philox4x32-10: word i % 4 of the block with counter i / 4, as a number in [0, 1)."""
    mask = np.uint64(0xFFFFFFFF)
    number = np.arange(count, dtype=np.uint64)
    block = number // np.uint64(4)
    c = [block & mask, block >> np.uint64(32), np.zeros_like(block), np.zeros_like(block)]
    k = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k[0]), p1 & mask,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k[1]), p0 & mask]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    word = np.choose((number % np.uint64(4)).astype(np.int64), c)
    return (word >> np.uint64(8)).astype(np.float32) * np.float32(2.0 ** -24)


def dropout(x, seed):
    kept = philox_uniform(x.size, seed).reshape(x.shape) >= np.float32(0.25)
    return {"a": np.where(kept, x * np.float32(1 / 0.75), np.float32(0)),
            "b": philox_uniform(x.size, seed ^ 7).reshape(x.shape)}


BRANCHES = """
@kernel.schedule(Schedule(BM=4))
def chosen(x: Tensor[M, N, f32], y: Tensor[M, N, f32], flag: Tensor[i32]) -> (Tensor[M, N, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    total = tile.zeros((t.m,), f32)
    v = tile.load(x, (t.i, t.j), (t.m, t.n))
    if t.i == 0:
        v = v + 1.0
    if tile.load(flag) > 3:
        w = tile.load(y, (t.i, t.j), (t.m, t.n))
        total = tile.sum(w, axis=1)
        v = v * w
    elif tile.load(flag) == 2:
        total = tile.max(v, axis=1)
    else:
        v = -v
    return v, total

@kernel.schedule(Schedule(BM=4, BN=8))
def blocks(x: Tensor[M, N, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    total = tile.zeros((t.m,), f32)
    for j in tile.range(N, t.n):
        v = tile.load(x, (t.i, j), (t.m, t.n))
        if j % 2 == 0:
            total += tile.sum(v, axis=1)
        else:
            total -= tile.sum(v, axis=1)
    return total

@jit
def f(x: Tensor[M, N, f32], y: Tensor[M, N, f32], flag: Tensor[i32]):
    a, b = chosen(x, y, flag)
    c = blocks(x)
    return a, b, c
"""


def branches(x, y, flag):
    x, y = x.astype(np.float64), y.astype(np.float64)
    v = x.copy()
    v[:4] += 1
    total = np.zeros(x.shape[0])
    if flag > 3:
        v, total = v * y, y.sum(axis=1)
    elif flag == 2:
        total = v.max(axis=1)
    else:
        v = -v
    signs = np.where(np.arange(x.shape[1]) // 8 % 2 == 0, 1, -1)
    return {"a": v, "b": total, "c": (x * signs).sum(axis=1)}


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


REGIONS = """
@kernel.schedule(Schedule(BM=4, BN=16))
def running(x: Tensor[M, N, f32], y: Region[write] Tensor[M, N, f32]) -> Tensor[M, f32]:
    t     = tile.context(m=M, n=N)
    total = tile.zeros((t.m,), f32)
    for j in tile.range(N, t.n):
        s, more = tile.scan(tile.load(x, (t.i, j), (t.m, t.n)), axis=1, total=True)
        tile.store(s + total[:, None], y, (t.i, j))
        total += more
    return total

@kernel.schedule(Schedule(BM=8))
def counted(x: Tensor[M, N, f32], sums: Region[reduce_sum] Tensor[N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    v = tile.load(x, (t.i, t.j), (t.m, t.n))
    tile.store(tile.sum(v * v, axis=0), sums)
    return 2.0 * v

@kernel.schedule(Schedule(BM=8, BN=16))
def moved(x: Tensor[M, N, f32], y: Region[read_write] Tensor[M, N, f32], z: Region[write] Tensor[M, N, f32]):
    t = tile.context(m=M, n=N)
    v = tile.load(y) * 0.5 + tile.load(x)
    tile.store(v, y)
    tile.store(-v, z)

@jit
def f(x: Tensor[M, N, f32], y: Tensor[M, N, f32], w: Tensor[N, f32]):
    total, sums = running(x, y)
    double, squares = counted(x, w)
    half, minus = moved(x, y, x)
    return total, sums, double, squares, half, minus
"""


def regions(x, y, w):
    x, y, w = (value.astype(np.float64) for value in (x, y, w))
    half = y * 0.5 + x
    return {"total": x.sum(axis=1), "sums": np.cumsum(x, axis=1), "double": 2 * x, "squares": w + (x * x).sum(axis=0),
            "half": half, "minus": -half}


MEMORY = """
@kernel.schedule(Schedule({0}))
def staged(a: Tensor[M, K, {1}], b: Tensor[K, N, {1}]) -> Tensor[M, N, f32]:
    t   = tile.context(m=M, n=N, k=K)
    sa  = tile.alloc((t.m, t.k), {1})
    sb  = tile.alloc((t.k, t.n), {1})
    acc = tile.alloc((t.m, t.n), f32, space="register")
    for k in tile.range(K, t.k):
        tile.async_copy(a, (t.i, k), sa)
        tile.async_copy(b, (k, t.j), sb)
        tile.wait()
        tile.barrier()
        acc = tile.dot(tile.load(sa), tile.load(sb), acc)
        tile.barrier()
    return acc

@kernel.schedule(Schedule({0}))
def ahead(a: Tensor[M, K, {1}], b: Tensor[K, N, {1}]) -> Tensor[M, N, f32]:
    t   = tile.context(m=M, n=N, k=K)
    sa  = tile.alloc((2, t.m, t.k), {1})
    sb  = tile.alloc((2, t.k, t.n), {1})
    acc = tile.zeros((t.m, t.n), f32)
    tile.async_copy(a, (t.i, 0), sa[0])
    tile.async_copy(b, (0, t.j), sb[0])
    for k in tile.range(K, t.k):
        tile.async_copy(a, (t.i, k + 1), sa[k + 1])
        tile.async_copy(b, (k + 1, t.j), sb[k + 1])
        tile.wait(pending=2)
        tile.barrier()
        acc = tile.dot(tile.load(sa[k]), tile.load(sb[k]), acc)
        tile.barrier()
    tile.wait()
    return acc

@kernel.schedule(Schedule(BN=64))
def kept(x: Tensor[N, f32]) -> Tensor[N, f32]:
    t = tile.context(n=N)
    s = tile.alloc((t.n,), f32)
    tile.store(tile.load(x) * 2.0, s)
    tile.barrier()
    v = tile.load(s)
    tile.barrier()
    tile.store(v + 1.0, s)
    tile.barrier()
    return v * tile.load(s)

@jit
def f(a: Tensor[M, K, {1}], b: Tensor[K, N, {1}], x: Tensor[L, f32]):
    c = staged(a, b)
    d = ahead(a, b)
    e = kept(x)
    return c, d, e
"""


def memory(a, b, x):
    a, b, x = (value.astype(np.float64) for value in (a, b, x))
    return {"c": a @ b, "d": a @ b, "e": 2 * x * (2 * x + 1)}


PLACES = """
@kernel.schedule(Schedule(BM=8, BN=16))
def picked(x: Tensor[P, Q, f32], i: Tensor[M, N, i32], j: Tensor[M, N, i64]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.gather(x, (tile.load(i), tile.load(j)))

@kernel.schedule(Schedule(BM=8, BN=16))
def spread(x: Tensor[M, N, f32], i: Tensor[M, N, i32], j: Tensor[M, N, i64], y: Region[read_write] Tensor[P, Q, f32]):
    t = tile.context(m=M, n=N)
    tile.scatter(tile.load(x), y, (tile.load(i), tile.load(j)))

@kernel.schedule(Schedule(BM=8))
def rows(x: Tensor[M, N, f32], i: Tensor[M, i32], y: Region[write] Tensor[P, N, f32]):
    t = tile.context(m=M, n=N)
    tile.scatter(tile.load(x, (t.i, t.j), (t.m, t.n)), y, tile.load(i))

@kernel.schedule(Schedule(BM=4))
def flat(x: Tensor[Q, i8], j: Tensor[M, i32]) -> Tensor[M, i8]:
    t = tile.context(m=M)
    return tile.gather(x, tile.load(j))

@kernel.schedule(Schedule(BM=4, BN=16))
def part(x: Tensor[M, N, f32], y: Region[read_write] Tensor[M, N, f32], n: Tensor[i64]):
    t = tile.context(m=M, n=N)
    if t.i < tile.load(n):
        tile.store(tile.load(x) + tile.load(y), y)

@jit
def f(x: Tensor[P, Q, f32], i: Tensor[M, N, i32], j: Tensor[M, N, i64], z: Tensor[M, N, f32], r: Tensor[M, i32],
      w: Tensor[P, N, f32], h: Tensor[Q, i8], n: Tensor[i64]):
    a = picked(x, i, j)
    b = spread(z, i, j, x)
    c = rows(z, r, w)
    d = flat(h, r)
    e = part(z, a, n)
    return a, b, c, d, e
"""


def places(x, i, j, z, r, w, h, n):
    inside = (i >= 0) & (i < x.shape[0]) & (j >= 0) & (j < x.shape[1])
    i, j = np.where(inside, i, 0), np.where(inside, j, 0)
    a = np.where(inside, x[i, j], np.float32(np.nan))
    b, c, e = x.copy(), w.copy(), a.copy()
    b[i[inside], j[inside]] = z[inside]
    there = (r >= 0) & (r < len(w))
    c[r[there]] = z[there]
    e[:4 * int(n)] += z[:4 * int(n)]
    d = np.where((r >= 0) & (r < len(h)), h[np.clip(r, 0, len(h) - 1)], np.int8(0))
    return {"a": a, "b": b, "c": c, "d": d, "e": e}


SUMS = """
@kernel.schedule(Schedule(BN=32))
def counted(x: Tensor[N, {0}], i: Tensor[N, i32], y: Region[reduce_sum] Tensor[P, {0}]):
    t = tile.context(n=N)
    tile.atomic_add(tile.load(x), y, tile.load(i))

@jit
def f(x: Tensor[N, {0}], i: Tensor[N, i32], y: Tensor[P, {0}]):
    s = counted(x, i, y)
    return s
"""


def sums(x, i, y):
    s = y.copy()
    np.add.at(s, i[(i >= 0) & (i < len(y))], x[(i >= 0) & (i < len(y))])
    return {"s": s}


def check(folder, name, source, inputs, wanted, bound=1e-5, flags=()):
    """Runs the entry f on the inputs in every mode; results by name are within the bound of the wanted ones."""
    bundle = folder / f"{name}.bundle"
    if not bundle.exists():
        (folder / f"{name}.tsr").write_text(source)
        run(BIN / "tesserac", folder / f"{name}.tsr", "--target=cpu:x86-64-v3,cpu:x86-64-v4", "-o", bundle, *flags)
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
            apart = np.nan_to_num(np.abs(got - value) / (1 + np.abs(value)))
            assert np.array_equal(np.isnan(got), np.isnan(value)), (name, mode, key)
            assert got.size == 0 or np.max(apart) <= bound, (name, mode, key, got.shape, np.max(apart))


def assemble(folder):
    """Code for GPUs is what ptxas takes, where that is installed."""
    by_hand = "BM=64, BN=64, BK=32, warps=4"
    for source in (MEMORY.format(by_hand, "f32"), MEMORY.format(by_hand, "bf16"), PLACES, SUMS.format("f32"), REGIONS):
        (folder / "gpu.tsr").write_text(source)
        cubin = ["--cubin"] if shutil.which("ptxas") else []
        run(BIN / "tesserac", folder / "gpu.tsr", "--target=cuda:sm_80,cuda:sm_90a", "--fast=nondet", *cubin, "-o",
            folder / "gpu.bundle")


def main():
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for shape in ((1, 1), (5, 37), (3, 1000), (130, 17), (7, 16), (0, 5)):
            x = rng.standard_normal(shape).astype(np.float32)
            check(folder, "scans", SCANS, {"x": x}, scans(x))
        for shape in ((1, 1), (5, 37), (70, 130)):
            x = rng.standard_normal(shape).astype(np.float32)
            seed = np.array(0x123456789ABCDEF, np.uint64)
            for n, schedule in enumerate(("BM=4, BN=16", "BM=64, BN=64", "BM=1")):
                check(folder, f"dropout{n}", DROPOUT.format(schedule), {"x": x, "seed": seed}, dropout(x, int(seed)), 0)
        for shape in ((1, 1), (9, 37), (4, 200)):
            x, y = rng.standard_normal((2, *shape)).astype(np.float32)
            for flag in (1, 2, 5) if DEVICE == "cpu" else ():  # a GPU's branches give no rows of unknown length
                check(folder, "branches", BRANCHES, {"x": x, "y": y, "flag": np.array(flag, np.int32)},
                      branches(x, y, flag))
        for shape in ((1, 1), (9, 37), (70, 130)):
            x, y = rng.standard_normal((2, *shape)).astype(np.float32)
            w = rng.standard_normal(shape[1]).astype(np.float32)
            check(folder, "regions", REGIONS, {"x": x, "y": y, "w": w}, regions(x, y, w))
        for m, k, n, length in ((32, 16, 48, 64), (70, 50, 100, 130), (5, 3, 7, 1)):
            a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
            x = rng.standard_normal(length).astype(np.float32)
            check(folder, "memory", MEMORY.format("BM=32, BN=48, BK=16", "f32"), {"a": a, "b": b, "x": x}, memory(a, b, x))
        for m, n, p, q in ((16, 16, 30, 40), (9, 21, 50, 33), (1, 1, 1, 1)):
            place = rng.permutation(p * q)[:m * n].reshape(m, n)
            x, z, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((p, q), (m, n), (p, n)))
            i, j, r = (place // q).astype(np.int32), (place % q).astype(np.int64), rng.permutation(p)[:m].astype(np.int32)
            i[0, 0], j[-1, -1], r[0] = -3, q, p + 1
            inputs = {"x": x, "i": i, "j": j, "z": z, "r": r, "w": w, "h": rng.integers(-99, 99, q).astype(np.int8),
                      "n": np.array(1, np.int64)}
            check(folder, "places", PLACES, inputs, places(**inputs))
        for dtype, numpy in (("f32", np.float32), ("f64", np.float64), ("i32", np.int32), ("u64", np.uint64)):
            x, y = (rng.integers(0, 9, size).astype(numpy) for size in (1000, 7))
            i = rng.integers(-1, 8, 1000).astype(np.int32)
            check(folder, f"sums_{dtype}", SUMS.format(dtype), {"x": x, "i": i, "y": y}, sums(x, i, y), 0,
                  ("--fast=nondet",))
        assemble(folder)
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
