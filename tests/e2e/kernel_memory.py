"""Kernels that write to regions, to memory that they place, and to places by index, with what they make in NumPy."""
import numpy as np

from tools import ROOT

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


# A string of C++, which tests/unit/gpu has, too.
SLOTS = (ROOT / "tests/kernels/slots.inc").read_text().removeprefix('R"(').removesuffix(')"\n')
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

{slots}
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
""".replace("{slots}", SLOTS)


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
