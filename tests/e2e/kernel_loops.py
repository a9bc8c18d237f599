"""Kernels whose loops carry tiles of any size, and whose indices come from memory, with what they compute in NumPy."""
import numpy as np

CARRIED = """
@kernel.schedule(Schedule(BM={0}, BN={1}))
def neighbours(x: Tensor[M, N, f32]) -> (Tensor[M, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    a = tile.zeros((t.m, t.n), f32)
    b = tile.full((t.m, t.n), 1.0, f32)
    acc = tile.zeros((t.m, t.n), f32)
    old = tile.zeros((t.m, t.n), f32)
    older = tile.zeros((t.m, t.n), f32)
    same = tile.full((t.m, t.n), 0.5, f32)
    s = tile.zeros((t.m,), f32)
    r = tile.zeros((t.m,), f32)
    for n in tile.range(N, t.n):
        y = tile.load(x, (t.i, n), (t.m, t.n))
        acc = acc + y
        a, b, older, old, same = b * 0.5 + y, a, old, acc, same
        s += tile.sum(a * b + acc * old, axis=1)
        r += tile.sum(older + same * a, axis=1)
    return s, r

@kernel.schedule(Schedule(BM={0}, BN={1}))
def steepest(x: Tensor[M, N, f32], w: Tensor[N, 16, f32]) -> Tensor[M, 16, f32]:
    t = tile.context(m=M, n=N)
    last = tile.zeros((t.m, 16), f32)
    most = tile.zeros((t.m, 16), f32)
    for n in tile.range(N, t.n):
        p = tile.dot(tile.load(x, (t.i, n), (t.m, t.n)), tile.load(w, (n, 0), (t.n, 16)))
        most = tile.maximum(most, p - last)
        last = p
    return most

@kernel.schedule(Schedule(BM={0}, BN={1}))
def by_hand(x: Tensor[M, N, f32]) -> (Tensor[M, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    memory = tile.alloc((3, t.m, t.n), f32)
    s = tile.zeros((t.m,), f32)
    r = tile.zeros((t.m,), f32)
    for n in tile.range(N, t.n):
        tile.async_copy(x, (t.i, n), memory[n])
        tile.wait()
        tile.barrier()
        s += tile.sum(tile.load(memory[n]), axis=1)
        r = tile.maximum(r, tile.max(tile.load(memory[n]), axis=1) + s)
        tile.barrier()
    return s, r

@kernel.schedule(Schedule(BM={0}, BN={1}))
def crossed(x: Tensor[M, N, f32], w: Tensor[K, N, f32], v: Tensor[M, K, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N, k=K)
    columns = tile.zeros((t.n,), f32)
    rows = tile.zeros((t.m,), f32)
    for k in tile.range(K, t.k):
        columns += tile.sum(tile.load(w, (k, t.j), (t.k, t.n)), axis=0)
        rows += tile.sum(tile.load(v, (t.i, k), (t.m, t.k)), axis=1)
    return rows[:, None] * tile.load(x) + columns[None, :]

@kernel.schedule(Schedule(BM={0}, BN={1}))
def renamed(x: Tensor[M, N, f32], w: Tensor[N, 16, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    ones = tile.full((t.m, 16), 1.0, f32)
    total = tile.zeros((t.m, 16), f32)
    again = tile.zeros((t.m, 16), f32)
    outer = tile.zeros((t.m, 16), f32)
    inner = tile.zeros((t.m, 16), f32)
    for n in tile.range(N, t.n):
        total = total + tile.dot(tile.load(x, (t.i, n), (t.m, t.n)), tile.load(w, (n, 0), (t.n, 16)))
        again = total
        outer = ones
        for k in tile.range(N, t.n, stop=0):
            inner = ones
    return tile.sum(total + 2.0 * again, axis=1) + tile.sum(outer + 2.0 * inner, axis=1)

@kernel.schedule(Schedule(BM={0}, BN={1}))
def scanned(x: Tensor[M, N, f32], w: Tensor[N, 16, f32]) -> Tensor[M, 16, f32]:
    t = tile.context(m=M, n=N)
    sums = tile.zeros((t.m, 16), f32)
    more = tile.zeros((t.m, 16), f32)
    for n in tile.range(N, t.n):
        sums = tile.scan(tile.dot(tile.load(x, (t.i, n), (t.m, t.n)), tile.load(w, (n, 0), (t.n, 16))), axis=1)
        more = more * 0.5 + tile.scan(more, axis=1, reverse=True) * 0.125 + 1.0
    return sums + more

@kernel.schedule(Schedule(BM={0}, BN={1}))
def before(x: Tensor[M, N, f32]) -> (Tensor[M, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    memory = tile.alloc((4, t.m, t.n), f32)
    s = tile.zeros((t.m,), f32)
    r = tile.zeros((t.m,), f32)
    for n in tile.range(N, t.n):
        if n == 0:
            tile.store(tile.zeros((t.m, t.n), f32), memory[3])
        y = tile.load(x, (t.i, n), (t.m, t.n))
        tile.store(y, memory[n])
        tile.barrier()
        s += tile.sum(y + tile.load(memory[n - 1]), axis=1)
        r += tile.sum(tile.load(memory[n - 1]) + y, axis=1)
        tile.barrier()
    return s, r

@kernel.schedule(Schedule(BM={0}, BN={1}))
def counted(x: Tensor[M, N, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    s = tile.zeros((t.m, t.n), f32)
    for n in tile.range(N, t.n):
        ones, count = tile.scan(tile.full((4,), 1, i64), axis=0, total=True)
        s += tile.load(x, (t.i, count - 3), (t.m, t.n))
    return tile.sum(s, axis=1)

@jit
def f(x: Tensor[M, N, f32], w: Tensor[N, 16, f32]):
    s, r = neighbours(x)
    most = steepest(x, w)
    t, u = by_hand(x)
    c = crossed(x, w.T, x @ w)
    d = renamed(x, w)
    e = scanned(x, w)
    g, h = before(x)
    i = counted(x)
    return s, r, most, t, u, c, d, e, g, h, i
"""


def carried(x, w, width):
    x, w = x.astype(np.float64), w.astype(np.float64)
    rows, columns = x.shape
    a, b, acc, old, older, same = (np.full((rows, width), v) for v in (0, 1.0, 0, 0, 0, 0.5))
    s, r, last, most = np.zeros(rows), np.zeros(rows), np.zeros((rows, 16)), np.zeros((rows, 16))
    for start in range(0, columns, width):
        there = min(width, columns - start)
        y = np.pad(x[:, start:start + there], ((0, 0), (0, width - there)))
        acc = acc + y
        a, b, older, old = b * 0.5 + y, a, old, acc
        s, r = s + (a * b + acc * old)[:, :there].sum(1), r + (older + same * a)[:, :there].sum(1)
        p = x[:, start:start + there] @ w[start:start + there]
        most, last = np.maximum(most, p - last), p
    t, u = np.zeros(rows), np.zeros(rows)
    for start in range(0, columns, width):
        t = t + x[:, start:start + width].sum(1)
        u = np.maximum(u, x[:, start:start + width].max(1) + t)
    c = (x @ w).sum(1)[:, None] * x + w.sum(1)[None, :]
    d = 3.0 * (x @ w).sum(1) + (16.0 if columns else 0.0)
    sums, more = np.zeros((rows, 16)), np.zeros((rows, 16))
    for start in range(0, columns, width):
        sums = np.cumsum(x[:, start:start + width] @ w[start:start + width], axis=1)
        more = more * 0.5 + np.cumsum(more[:, ::-1], axis=1)[:, ::-1] * 0.125 + 1.0
    g = x.sum(1) + x[:, :max(columns - width, 0)].sum(1)
    i = -(-columns // width) * x[:, width:2 * width].sum(1)
    return {"s": s, "r": r, "most": most, "t": t, "u": u, "c": c, "d": d, "e": sums + more, "g": g, "h": g, "i": i}


WILD = """
@kernel.schedule(Schedule(BM=1, BN={0}))
def read(x: Tensor[M, N, f32], k: Tensor[i64]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.load(x, (t.i, tile.load(k)), (t.m, t.n), fill=-1.0)

@kernel.schedule(Schedule(BM=1, BN={0}))
def write(x: Tensor[M, N, f32], k: Tensor[i64], y: Region[read_write] Tensor[M, N, f32]):
    t = tile.context(m=M, n=N)
    for n in tile.range(N, t.n, stop=1):
        tile.store(tile.load(x, (t.i, n), (t.m, t.n)), y, (t.i, tile.load(k)))

@kernel.schedule(Schedule(BM=1, BN={0}))
def copied(x: Tensor[M, N, f32], k: Tensor[i64]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    memory = tile.alloc((t.n,), f32)
    tile.async_copy(x, (t.i, tile.load(k)), memory)
    tile.wait()
    tile.barrier()
    return tile.load(memory)[None, :]

@kernel.schedule(Schedule(BM=1, BN={0}))
def summed(x: Tensor[M, N, f32], k: Tensor[i64]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    s = tile.zeros((t.m,), f32)
    for n in tile.range(N, t.n, stop=tile.load(k)):
        s += tile.sum(tile.load(x, (t.i, n), (t.m, t.n)), axis=1)
    return s

@kernel.schedule(Schedule(BM=1, BN={0}))
def multiplied(x: Tensor[M, N, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    s = tile.zeros((t.m,), f32)
    for n in tile.range(N, t.n):
        s += tile.sum(tile.load(x, (t.i, n * 1152921504606846975), (t.m, t.n)), axis=1)
        s += tile.sum(tile.load(x, (t.i, n * 9223372036854775807), (t.m, t.n)), axis=1)
        s += tile.sum(tile.load(x, (t.i + n * 4611686018427387903, n), (t.m, t.n)), axis=1)
    return s

@jit
def f(x: Tensor[M, N, f32], y: Tensor[M, N, f32], k: Tensor[i64]):
    a = read(x, k)
    b = write(x, k, y)
    c = copied(x, k)
    d = summed(x, k)
    e = multiplied(x)
    return a, b, c, d, e
"""


def wild(x, y, k, width):
    """Numbers of tiles that there are not: nothing is read or written, however large they are."""
    k, columns = int(k), x.shape[1]
    tiles = -(-columns // width)
    there = slice(k * width, min((k + 1) * width, columns)) if 0 <= k < tiles else slice(0, 0)
    one, b = np.full((x.shape[0], tiles * width), -1.0), y.copy()
    one[:, :there.stop - there.start] = x[:, there]
    tile = one[:, :width]
    a = np.concatenate([tile] * tiles, axis=1)[:, :columns]
    b[:, there] = x[:, :there.stop - there.start]
    c = np.concatenate([np.where(np.arange(width) < there.stop - there.start, tile, 0)] * tiles, axis=1)[:, :columns]
    last = min(max(-(-k // width), 0), tiles) * width
    return {"a": a, "b": b, "c": c, "d": x[:, :last].astype(np.float64).sum(axis=1),
            "e": 3.0 * x[:, :width].astype(np.float64).sum(axis=1)}


MEANS = """
@kernel.schedule(Schedule(BM=4, BN=32))
def in_loop(x: Tensor[M, N, f32], like: Tensor[P, f32]) -> Tensor[M, P, f32]:
    t = tile.context(m=M, p=P, n=N)
    parts = tile.zeros((t.m, t.p), f32)
    for n in tile.range(N, t.n):
        v = tile.mean(tile.load(x, (t.i, n), (t.m, t.n)), axis=1, keepdims=True)
        parts = tile.where(tile.col_index() == n, v, parts)
    return parts

@kernel.schedule(Schedule(BM=4, BN=32))
def of_block(x: Tensor[M, N, f32]) -> (Tensor[M, N, f32], Tensor[M, N, f32]):
    t = tile.context(m=M, n=N)
    v = tile.load(x, (t.i, t.j), (t.m, t.n))
    return v - mean(v), v - tile.mean(v, axis=0)[None]

@kernel.schedule(Schedule(BM=4))
def of_row(x: Tensor[M, N, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    return tile.mean(tile.load(x, (t.i, 0), (t.m, t.n)) + 1.0, axis=1)

@jit
def f(x: Tensor[M, N, f32]):
    a = in_loop(x, zeros(((N + 31) // 32,), f32))
    b, c = of_block(x)
    d = of_row(x)
    return a, b, c, d
"""


def means(x):
    m, n = x.shape
    b, c = x.astype(np.float64), x.astype(np.float64)
    for i in range(0, m, 4):
        for j in range(0, n, 32):
            part = x[i:i + 4, j:j + 32].astype(np.float64)
            b[i:i + 4, j:j + 32] -= part.mean()
            c[i:i + 4, j:j + 32] -= part.mean(axis=0)
    a = np.stack([x[:, j:j + 32].mean(axis=1, dtype=np.float64) for j in range(0, n, 32)], axis=1)
    return {"a": a, "b": b, "c": c, "d": x.mean(axis=1, dtype=np.float64) + 1}
