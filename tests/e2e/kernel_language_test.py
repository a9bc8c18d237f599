#!/usr/bin/env python3
"""Kernels with all that the kernel language has: compiled for each CPU, and interpreted, beside NumPy.

Usage: kernel_language_test.py BUILD_DIR
"""
import pathlib
import shutil
import tempfile

import numpy as np

from kernel_loops import CARRIED, MEANS, WILD, carried, means, wild
from kernel_memory import MEMORY, PLACES, REGIONS, SUMS, memory, places, regions, sums
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
def blocks(x: Tensor[M, N, f32], odd: Tensor[2, i32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    total = tile.zeros((t.m,), f32)
    for j in tile.range(N, t.n):
        v = tile.load(x, (t.i, j), (t.m, t.n))
        if tile.load(odd, (j % 2,), ()) == 0:
            total += tile.sum(v, axis=1)
        else:
            total -= tile.sum(v, axis=1)
    return total

@jit
def f(x: Tensor[M, N, f32], y: Tensor[M, N, f32], flag: Tensor[i32]):
    a, b = chosen(x, y, flag)
    c = blocks(x, arange(2, i32))
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


EDGES = """
@kernel.schedule(Schedule({0}))
def gathered(x: Tensor[M, N, f32]) -> (Tensor[M, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    turned = tile.zeros((t.m,), f32)
    top    = tile.full((t.m,), -INF)
    for n in tile.range(N, t.n):
        v = tile.gather(x, (tile.row_index(), (tile.col_index(n) + 3) % N))
        turned += tile.sum(v, axis=1)
        top = tile.maximum(top, tile.max(v, axis=1))
    return turned, top

@kernel.schedule(Schedule({0}))
def counted(x: Tensor[M, N, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    held  = tile.alloc((t.m, t.n), f32, space="register")
    count = tile.zeros((t.m,), f32)
    for n in tile.range(N, t.n):
        v = tile.load(x, (t.i, n), (t.m, t.n))
        count += tile.sum(tile.full((t.m, t.n), 1.0), axis=1) + tile.sum(tile.full(v.shape, 2.0), axis=1)
        count += tile.sum(held + 4.0, axis=1)
    return count

@kernel.schedule(Schedule({0}))
def numbered(x: Tensor[M, N, f32]) -> Tensor[M, i64]:
    t = tile.context(m=M, n=N)
    places = tile.zeros((t.m,), i64)
    for n in tile.range(N, t.n):
        places += tile.sum(n * t.n + tile.arange(t.n), axis=0) + tile.sum(tile.arange(t.n, n), axis=0)
    return places

@kernel.schedule(Schedule({0}))
def scanned(x: Tensor[M, N, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    sums = tile.zeros((t.m,), f32)
    for n in tile.range(N, t.n):
        v = tile.gather(x, (tile.row_index(), (tile.col_index(n) + 3) % N))
        _, total = tile.scan(v, axis=1, total=True)
        sums += total
    return sums

@kernel.schedule(Schedule({0}))
def repeated(y: Tensor[M, f32], x: Tensor[M, N, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    spread = tile.zeros((t.m,), f32)
    for _n in tile.range(N, t.n):
        spread += tile.sum(tile.broadcast(tile.load(y, (t.i,), (t.m,))[:, None], (t.m, t.n)), axis=1)
    return spread

@kernel.schedule(Schedule({0}))
def kept(x: Tensor[M, N, f32], y: Region[reduce_sum] Tensor[N, f32]):
    t = tile.context(m=M, n=N)
    s = tile.alloc((t.m, t.n), f32)
    tile.store(tile.exp(tile.load(x)), s)
    tile.barrier()
    tile.store(tile.sum(tile.load(s), axis=0), y)

@kernel.schedule(Schedule({0}))
def shared(x: Tensor[M, N, f32], y: Region[reduce_sum] Tensor[N, f32]):
    t = tile.context(m=M, n=N)
    v = tile.gather(x, ((tile.row_index() + 5) % M, tile.col_index()))
    ones = tile.full((t.m, t.n), 1.0)
    tile.store(tile.sum(v, axis=0) + tile.sum(ones, axis=0), y)

@kernel.schedule(Schedule({0}, BK=16))
def products(x: Tensor[K, N, f32], y: Tensor[M, f32]) -> Tensor[M, N, f32]:
    t   = tile.context(m=M, n=N, k=K)
    acc = tile.zeros((t.m, t.n), f32)
    ones = tile.full((t.m, t.k), 1.0)
    for k in tile.range(K, t.k):
        acc = tile.dot(ones, tile.gather(x, (tile.arange(t.k, k)[:, None] % K, tile.col_index())), acc)
    return acc * tile.load(y, (t.i,), (t.m,))[:, None]

@kernel.schedule(Schedule({0}))
def rolled(x: Tensor[M, N, f32], y: Region[write] Tensor[M, N, f32]):
    t = tile.context(m=M, n=N)
    v = tile.gather(x, (tile.row_index(), (tile.col_index() + 3) % N))
    tile.scatter(v, y, (tile.row_index(), (tile.col_index() + 1) % N))

@kernel.schedule(Schedule({0}))
def both(x: Tensor[M, N, f32], y: Region[reduce_sum] Tensor[N, f32], z: Region[reduce_sum] Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    v = tile.load(x)
    tile.store(tile.sum(v, axis=0), y)
    tile.store(tile.sum(v, axis=1), z)

@kernel.schedule(Schedule({0}))
def applied(x: Tensor[M, N, f32], *, act: fn = identity) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return act(tile.load(x)) + 1.0

@jit
def f(x: Tensor[M, N, f32], y: Tensor[M, f32], z: Tensor[N, f32]):
    a, b = gathered(x)
    c, d, e = numbered(x), counted(x), repeated(y, x)
    g, h = kept(x, z), shared(x, z)
    i = products(x, y)
    k, l = rolled(x, x), scanned(x)
    o, p = both(x, z, y)
    q = applied(x, act=relu)
    return a, b, c, d, e, g, h, i, k, l, o, p, q
"""


def edges(x, y, z):
    m, n = x.shape
    x, y, z = (value.astype(np.float64) for value in (x, y, z))
    return {"a": x.sum(axis=1), "b": x.max(axis=1), "c": np.full(m, n * (n - 1)),
            "d": np.full(m, 7.0 * n), "e": n * y, "g": z + np.exp(x).sum(axis=0), "h": z + x.sum(axis=0) + m,
            "i": y[:, None] * x.sum(axis=0), "k": np.roll(x, -2, axis=1),
            "l": x.sum(axis=1), "o": z + x.sum(axis=0), "p": y + x.sum(axis=1), "q": np.maximum(x, 0) + 1.0}


WHOLE = """
@kernel
def scanned(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.scan(tile.gather(x, (tile.row_index(), (tile.col_index() + 3) % N)), axis=1)

def loaded(x):
    return tile.load(x)

@kernel
def centred(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.cast(tile.col_index(), f32) - tile.sum(loaded(x), axis=1)[:, None]

@jit
def f(x: Tensor[M, N, f32]) where N <= 2048:
    a, b = scanned(x), centred(x)
    return a, b
"""


def whole(x):
    x = x.astype(np.float64)
    return {"a": np.cumsum(np.roll(x, -3, axis=1), axis=1), "b": np.arange(x.shape[1]) - x.sum(axis=1)[:, None]}


SIZES = """
@kernel.schedule(Schedule(BM=8))
def scaled(x: Tensor[M, N, f32], *, H: int) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.load(x, (t.i, t.j), (t.m, t.n)) * tile.cast(t.i % H, f32)

@kernel.schedule(Schedule(BM=1, BN=16))
def spread(x: Tensor[M, f32], *, n: dim, by: int) -> Tensor[M, n, f32]:
    t = tile.context(m=M, n=n)
    columns = tile.cast(tile.col_index() * by, f32)
    return tile.load(x, (t.i,), (t.m,))[:, None] * tile.full((t.m, t.n), 1.0) + columns

@jit
def f(x: Tensor[N, M, 8, f32], y: Tensor[H, f32]):
    rows = reshape(x, (N * M, 8))
    a = scaled(rows, H=M)  # an M that is not the kernel's
    b = scaled(rows, H=N * 2 + 1) + scaled(rows * 2.0, H=8)
    c = spread(y, n=M + N, by=H)
    d = spread(y, n=H, by=2 * H)
    e = zeros((N * M, 8), f32)
    for i in range(N):
        e = e + scaled(rows, H=i + 2)
    return a, b, c, d, e
"""


def sizes(x, y):
    n, m, _ = x.shape
    h, rows = len(y), x.reshape(n * m, 8).astype(np.float64)

    def scaled(rows, k):
        # The numbers of blocks of 8 rows.
        return rows * (np.arange(n * m) // 8 % k)[:, None]

    def spread(columns, by):
        return y[:, None] + (np.arange(columns) * by)[None, :]

    return {"a": scaled(rows, m), "b": scaled(rows, 2 * n + 1) + scaled(2 * rows, 8), "c": spread(m + n, h),
            "d": spread(h, 2 * h), "e": sum((scaled(rows, i + 2) for i in range(n)), np.zeros((n * m, 8)))}


CAPTURES = """
dim W
const LATER = 2 * W + 1

@kernel.schedule(Schedule(BM=8))
def mapped(x: Tensor[M, N, f32], *, epilogue: fn = identity) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return epilogue(tile.load(x))

@kernel.schedule(Schedule(BM=8))
def widened(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.load(x) * W + LATER * N

def times(v, by):
    return v * by

@jit
def f(x: Tensor[N, M, f32], z: Tensor[W, f32], q: Tensor[1, 2, T, 16, f32], k: Tensor[1, 2, S, 16, f32],
      v: Tensor[1, 2, S, 16, f32], n: int) where S >= 2:
    @kernel.schedule(Schedule(BA=8))
    def around(x: Tensor[A, B, f32]) -> Tensor[A, B, f32]:
        t = tile.context(a=A, b=B)
        return tile.load(x) * n + M
    # The caller's sizes have the kernels' names, the other way round.
    a = mapped(x, epilogue=lambda e: e / M) + mapped(x, epilogue=lambda e: times(e, N + 3 * M))
    b = widened(x) + around(x)
    sizes = (N, [M, W])
    c = mapped(x, epilogue=lambda e: e * sizes[1][0] + sizes[1][1] * n)
    d = zeros((N, M), f32)
    for i in range(W):
        d = d + mapped(x, epilogue=lambda e: e * i)
    # S and T are the other way round in flash_attention.
    e = flash_attention(q, k, v, mask_mod=lambda b, h, i, j: j < S - 1, score_mod=lambda s, b, h, i, j: s * n)
    return a, b, c, d, e
"""


def captures(x, z, q, k, v, n):
    (rows, columns), w, n = x.shape, len(z), int(n)
    x, q, k, v = (each.astype(np.float64) for each in (x, q, k, v))
    scores = (q @ k.transpose(0, 1, 3, 2) / 4 * n)[..., :-1]
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return {"a": x / columns + x * (rows + 3 * columns), "b": x * w + (2 * w + 1) * columns + x * n + columns,
            "c": x * columns + w * n, "d": x * sum(range(w)), "e": weights @ v[:, :, :-1]}


PARTS = """
@kernel.schedule(Schedule(BM=32, BN=32, BK=16))
def split_k(a: Tensor[M, K, f32], b: Tensor[K, N, f32], y: Region[reduce_sum] Tensor[M, N, f32]):
    t = tile.context(m=M, n=N, k=K)
    a_part = tile.load(a, (t.i, t.h), (t.m, t.k))
    tile.store(tile.dot(a_part, tile.load(b, (t.h, t.j), (t.k, t.n)), tile.zeros((t.m, t.n), f32)), y, (t.i, t.j))

@kernel.schedule(Schedule(BP=1, BM=16, BN=32, BK=16))
def twice_as_far(x: Tensor[P, M, N, f32], a: Tensor[M, K, f32], b: Tensor[K, N, f32]) -> Tensor[P, M, N, f32]:
    t = tile.context(p=P, m=M, n=N, k=K)
    product = tile.zeros((t.m, t.n), f32)
    for k in tile.range(K, t.k):
        product = tile.dot(tile.load(a, (t.j, k), (t.m, t.k)), tile.load(b, (k, t.h), (t.k, t.n)), product)
    return tile.load(x, (t.i * 2, t.j, t.h), (t.p, t.m, t.n)) + product[None]

@jit
def f(a: Tensor[M, K, f32], b: Tensor[K, N, f32], y: Tensor[M, N, f32], x: Tensor[P, M, N, f32]):
    y = split_k(a, b, y)
    z = relu(split_k(a, b, zeros((M, N), f32)) * 3.0 + y)
    w = twice_as_far(x, a, b)
    return y, z, w
"""


def parts(a, b, y, x):
    far = np.zeros_like(x)
    far[:(len(x) + 1) // 2] = x[::2]
    product = a.astype(np.float64) @ b
    return {"y": y + product, "z": np.maximum(4 * product + y, 0), "w": far + product}


BOTH_WAYS = """
@kernel.schedule(Schedule(BM=8, warps=8))
def backward(x: Tensor[M, N, f32], g: Tensor[M, N, f32], y: Region[reduce_sum] Tensor[N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    v, u = tile.load(x, (t.i, t.j), (t.m, t.n)), tile.load(g, (t.i, t.j), (t.m, t.n))
    r = tile.rsqrt(tile.sum(v * v, axis=1) / N + 1e-5)
    tile.store(tile.sum(u * v * r[:, None], axis=0), y)
    return u * r[:, None]

@kernel.schedule(Schedule(BM=16))
def total(x: Tensor[M, N, f32]) -> Tensor[f32]:
    t = tile.context(m=M, n=N)
    s = tile.zeros((), f32)
    for i in tile.range(M, t.m):
        s += tile.sum(tile.load(x, (i, 0), (t.m, t.n)))
    return s

@jit
def f(x: Tensor[M, N, f32], g: Tensor[M, N, f32], y: Tensor[N, f32]) where N <= 4096:
    d, y = backward(x, g, y)
    s = total(x)
    return d, y, s
"""


def both_ways(x, g, y):
    x, g = x.astype(np.float64), g.astype(np.float64)
    r = 1 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-5)
    return {"d": g * r, "y": y + np.sum(g * x * r, axis=0), "s": np.sum(x)}


# More than LLVM's optimiser is given (large-kernel).
LARGE = """
@kernel.schedule(Schedule(BN=64))
def steps(x: Tensor[N, f32]) -> Tensor[N, f32]:
    t = tile.context(n=N)
    a = tile.load(x)
    for i in range(250):
        a = tile.exp(a * -0.5)
    return a

@jit
def f(x: Tensor[N, f32]):
    a = steps(x)
    return a
"""


def large(x):
    a = x.astype(np.float64)
    for _ in range(250):
        a = np.exp(a * -0.5)
    return {"a": a}


BETWEEN = """
@kernel.schedule(Schedule(BM=4))
def between(x: Tensor[M, N, f32], w: Tensor[N, P, f32], c: Tensor[P, Q, f32]) -> (Tensor[M, Q, f32], Tensor[M, Q, f32]):
    t = tile.context(m=M, n=N, p=P, q=Q)
    e = tile.exp(tile.dot(tile.load(x, (t.i, 0), (t.m, t.n)), tile.load(w, (0, 0), (t.n, t.p))))
    s = e / tile.sum(e, axis=1)[:, None]
    d = e - tile.max(e, axis=1)[:, None]
    v = tile.load(c, (0, 0), (t.p, t.q))
    return tile.dot(s, v), tile.dot(d * d, v)

@jit
def f(x: Tensor[M, N, f32], w: Tensor[N, P, f32], c: Tensor[P, Q, f32]):
    y, z = between(x, w, c)
    return y, z
"""


def between(x, w, c):
    e = np.exp(x.astype(np.float64) @ w)
    return {"y": e / e.sum(axis=1, keepdims=True) @ c, "z": (e - e.max(axis=1, keepdims=True)) ** 2 @ c}


EMPTY = """
@jit
def f(x: Tensor[0, 4, f32], y: Tensor[4, 0, f32], z: Tensor[N, 4, f32]):
    a, b, c = sum(x, axis=0), softmax(y), prod(z[:0], axis=0)
    d, e = rmsnorm(y), sum(y)
    return a, b, c, d, e
"""


def empty(x, y, z):
    return {"a": np.zeros(4), "b": y, "c": np.ones(4), "d": y, "e": np.zeros(())}


CLAUSES = """
@kernel.schedule(Schedule(BM=32, BN=32, BK=32))
def matmul_of(a: Tensor[M, K, f32], b: Tensor[L, N, f32]) -> Tensor[M, N, f32] where K == L, N % 4 == 0:
    t   = tile.context(m=M, n=N, k=K)
    acc = tile.zeros((t.m, t.n), f32)
    for k in tile.range(K, t.k):
        acc = tile.dot(tile.load(a, (t.i, k), (t.m, t.k)), tile.load(b, (k, t.j), (t.k, t.n)), acc)
    return acc

@kernel
def shifted(x: Tensor[N, f32], y: Tensor[P, f32]) -> Tensor[N, f32] where N % 4 == 0 and P == N, N > 0:
    t = tile.context(n=N)
    return tile.load(x, (t.i,), (t.n,)) * 4.0 + tile.load(y, (t.i,), (t.n,))

@kernel.schedule(Schedule(BM=8, BN=16))
def paired(x: Tensor[M, N, f32], y: Tensor[P, Q, f32]) -> Tensor[P, N, f32] where M == P and N == Q:
    t = tile.context(m=M, n=N)
    return tile.load(x) + tile.load(y)

@kernel.schedule(Schedule(BM=8, BN=16))
def stored(x: Tensor[M, N, f32], z: Region[write] Tensor[P, Q, f32]) where P == M, Q == N:
    t = tile.context(m=M, n=N)
    tile.store(tile.load(x), z)

@jit
def f(a: Tensor[M, K, f32], b: Tensor[L, N, f32], x: Tensor[P, f32]) where L == K, N % 8 == 0, P == 4 * M, M > 0:
    c = matmul_of(a, b)
    d = shifted(x, x)
    e = paired(c, stored(c, zeros((M, N), f32)))
    w = reshape(arange(128, f32), (16, 8))
    g = paired(w, w)
    return c, d, e, g
"""


def clauses(a, b, x):
    c = a.astype(np.float64) @ b
    return {"c": c, "d": x.astype(np.float64) * 5, "e": 2 * c, "g": 2.0 * np.arange(128).reshape(16, 8)}


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
    for source in (MEMORY.format(by_hand, "f32"), MEMORY.format(by_hand, "bf16"), PLACES, WHOLE, SIZES, CAPTURES, PARTS,
                   SUMS.format("f32"), REGIONS, EMPTY, CLAUSES, BOTH_WAYS):
        (folder / "gpu.tsr").write_text(source)
        cubin = ["--cubin"] if shutil.which("ptxas") else []
        run(BIN / "tesserac", folder / "gpu.tsr", "--target=cuda:sm_80,cuda:sm_90a", "--fast=nondet", *cubin, "-o",
            folder / "gpu.bundle")
    # Of kernels that combine rows and columns there are none for rows of any length.
    plan = run(BIN / "tsr", "inspect", folder / "gpu.bundle", "--ir", "plan")
    assert plan.count("guard N <= 1024") == 2, plan


def main():
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for shape in ((1, 1), (5, 37), (3, 1000), (130, 17), (7, 16), (0, 5)):
            x = rng.standard_normal(shape).astype(np.float32)
            check(folder, "scans", SCANS, {"x": x}, scans(x))
            if x.size and DEVICE == "cpu":  # a GPU carries no rows of unknown length
                check(folder, "means", MEANS, {"x": x}, means(x))
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
        for m, n, p, q in ((1, 1, 1, 1), (5, 3, 37, 70),
                           (66, 40, 130 if DEVICE == "cpu" else 128, 17)):  # a GPU's rows are in registers
            x, w, c = (rng.standard_normal(shape).astype(np.float32) / 4 for shape in ((m, n), (n, p), (p, q)))
            check(folder, "between", BETWEEN, {"x": x, "w": w, "c": c}, between(x, w, c), 1e-4)
        for m, k, n, length in ((32, 16, 48, 64), (70, 50, 100, 130), (5, 3, 7, 1)):
            a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
            x = rng.standard_normal(length).astype(np.float32)
            check(folder, "memory", MEMORY.format("BM=32, BN=48, BK=16", "f32"), {"a": a, "b": b, "x": x},
                  memory(a, b, x))
        for m, n, p, q in ((16, 16, 30, 40), (9, 21, 50, 33), (1, 1, 1, 1)):
            place = rng.permutation(p * q)[:m * n].reshape(m, n)
            x, z, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((p, q), (m, n), (p, n)))
            i, j, r = (place // q).astype(np.int32), (place
                                                      % q).astype(np.int64), rng.permutation(p)[:m].astype(np.int32)
            i[0, 0], j[-1, -1], r[0] = -3, q, p + 1
            inputs = {"x": x, "i": i, "j": j, "z": z, "r": r, "w": w, "h": rng.integers(-99, 99, q).astype(np.int8),
                      "n": np.array(1, np.int64)}
            check(folder, "places", PLACES, inputs, places(**inputs))
        for dtype, numpy in (("f32", np.float32), ("f64", np.float64), ("i32", np.int32), ("u64", np.uint64)):
            x, y = (rng.integers(0, 9, size).astype(numpy) for size in (1000, 7))
            i = rng.integers(-1, 8, 1000).astype(np.int32)
            check(folder, f"sums_{dtype}", SUMS.format(dtype), {"x": x, "i": i, "y": y}, sums(x, i, y), 0,
                  ("--fast=nondet",))
        for m, n in ((1, 1), (37, 37), (16, 64), (5, 130)):
            x, y = -1 - rng.random((m, n), np.float32), rng.standard_normal(m).astype(np.float32)
            z = rng.standard_normal(n).astype(np.float32)
            for k, schedule in enumerate(("BM=16, BN=16", "BM=32, BN=64", "BM=64, BN=32", "BM=4, BN=128")):
                check(folder, f"edges{k}", EDGES.format(schedule), {"x": x, "y": y, "z": z}, edges(x, y, z))
            check(folder, "whole", WHOLE, {"x": x}, whole(x))
        for n, m, h in ((1, 1, 1), (3, 7, 5), (6, 10, 40)):
            inputs = {"x": rng.standard_normal((n, m, 8)).astype(np.float32),
                      "y": rng.standard_normal(h).astype(np.float32)}
            check(folder, "sizes", SIZES, inputs, sizes(**inputs))
        for n, m, w, s, t in ((1, 1, 1, 2, 1), (2, 5, 3, 9, 4), (20, 11, 6, 70, 130), (3, 2, 0, 2, 3)):
            inputs = {key: rng.standard_normal(shape).astype(np.float32) for key, shape in
                      {"x": (n, m), "z": (w,), "q": (1, 2, t, 16), "k": (1, 2, s, 16), "v": (1, 2, s, 16)}.items()}
            inputs["n"] = np.array(n + 1, np.int64)
            check(folder, "captures", CAPTURES, inputs, captures(**inputs))
        for m, k, n, p in ((1, 1, 1, 1), (64, 64, 32, 3), (33, 70, 65, 5), (5, 0, 3, 4)):
            inputs = {key: rng.standard_normal(shape).astype(np.float32) for key, shape in
                      {"a": (m, k), "b": (k, n), "y": (m, n), "x": (p, m, n)}.items()}
            check(folder, "parts", PARTS, inputs, parts(**inputs))
        for width in (4, 8, 16):
            x, y = rng.standard_normal((2, 3, 33)).astype(np.float32)
            for k in (0, 1, 2, 3, 9, -1, -2, *(sign * 2**n for n in (31, 59, 60, 61, 62) for sign in (1, -1)),
                      2**63 - 1, -2**63):
                inputs = {"x": x, "y": y, "k": np.array(k, np.int64)}
                check(folder, f"wild{width}", WILD.format(width), inputs, wild(**inputs, width=width))
        for height, width in ((1, 4), (3, 7), (4, 32), (8, 48)) if DEVICE == "cpu" else ():  # a GPU's are in registers
            for m, n in ((5, 100), (1, 1), (9, 33), (17, 130), (3, 0)):
                x, w = rng.standard_normal((m, n)).astype(np.float32), rng.standard_normal((n, 16)).astype(np.float32)
                check(folder, f"carried{width}", CARRIED.format(height, width), {"x": x, "w": w}, carried(x, w, width),
                      1e-4)
        for m, n in ((1, 1), (37, 100), (16, 1024), (5, 1030) if DEVICE == "cpu" else (5, 1022)):
            x, g = rng.standard_normal((2, m, n)).astype(np.float32)
            y = rng.standard_normal(n).astype(np.float32)
            check(folder, "both_ways", BOTH_WAYS, {"x": x, "g": g, "y": y}, both_ways(x, g, y))
        for n in (1, 33, 130):
            x = rng.standard_normal(n).astype(np.float32)
            check(folder, "large", LARGE, {"x": x}, large(x), 1e-5)
        for m, k, n in ((1, 1, 8), (33, 70, 40), (64, 64, 64), (5, 0, 16)):
            inputs = {key: rng.standard_normal(shape).astype(np.float32) for key, shape in
                      {"a": (m, k), "b": (k, n), "x": (4 * m,)}.items()}
            check(folder, "clauses", CLAUSES, inputs, clauses(**inputs), 1e-4)
        for n in (0, 3):
            inputs = {"x": np.zeros((0, 4), np.float32), "y": np.zeros((4, 0), np.float32),
                      "z": np.zeros((n, 4), np.float32)}
            check(folder, "empty", EMPTY, inputs, empty(**inputs))
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
