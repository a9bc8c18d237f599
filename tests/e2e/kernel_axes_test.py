#!/usr/bin/env python3
"""Kernels in which an axis comes back as another one: the state of a recurrence in its own product, squares of tiles,
tiles beside what they are transposed, gathered rows as columns. Computed beside NumPy on each CPU.

Usage: kernel_axes_test.py BUILD_DIR
"""
import os
import pathlib
import tempfile

import numpy as np

from tools import BIN, DEVICE, run

RECURRENCES = """
@kernel.schedule(Schedule({schedule}))
def recurrence(x: Tensor[T, B, {n}, {dtype}], u: Tensor[{n}, {n}, {dtype}]) -> Tensor[B, {n}, {dtype}]:
    t = tile.context(b=B, n={n})
    h = tile.zeros((t.b, t.n), f32)
    w = tile.load(u, (0, 0), (t.n, t.n))
    for i in tile.range(T, 1):
        x_i = tile.cast(tile.load(x, (i, t.i, t.j), (t.b, t.n)), f32)
        h = tile.tanh(x_i + tile.dot(tile.cast(h, {dtype}), w))
    return tile.cast(h, {dtype})

@kernel.schedule(Schedule({schedule}))
def gated(x: Tensor[T, B, {n}, {dtype}], u: Tensor[{n}, {n}, {dtype}],
          v: Tensor[{n}, {n}, {dtype}]) -> Tensor[B, {n}, {dtype}]:
    t = tile.context(b=B, n={n})
    h, c = tile.zeros((t.b, t.n), f32), tile.zeros((t.b, t.n), f32)
    for i in tile.range(T, 1):
        x_i = tile.cast(tile.load(x, (i, t.i, t.j), (t.b, t.n)), f32)
        s = tile.cast(h, {dtype})
        gate = tile.sigmoid(x_i + tile.dot(s, tile.load(u, (0, 0), (t.n, t.n))))
        c = gate * c + (1.0 - gate) * tile.tanh(tile.dot(s, tile.load(v, (0, 0), (t.n, t.n))) - x_i)
        h = c * gate
    return tile.cast(h, {dtype})

@jit
def f(x: Tensor[T, B, {n}, f32], u: Tensor[{n}, {n}, f32], v: Tensor[{n}, {n}, f32]):
    a = cast(recurrence(cast(x, {dtype}), cast(u, {dtype})), f32)
    b = cast(gated(cast(x, {dtype}), cast(u, {dtype}), cast(v, {dtype})), f32)
    return a, b
"""


def recurrences(x, u, v):
    a = h = c = np.zeros(x.shape[1:])
    for x_i in x:
        a = np.tanh(x_i + a @ u)
        gate = 1 / (1 + np.exp(-(x_i + h @ u)))
        c = gate * c + (1 - gate) * np.tanh(h @ v - x_i)
        h = c * gate
    return {"a": a, "b": h}


SQUARES = """
@kernel.schedule(Schedule())
def squares(x: Tensor[20, 20, f32]) -> (Tensor[20, 20, f32], Tensor[20, 20, f32], Tensor[20, 20, f32]):
    t = tile.context(m=20, n=20)
    v = tile.load(x, (0, 0), (t.m, t.n))
    e = tile.tanh(v)
    return e + e.T, tile.dot(e, e), tile.dot(v, v.T)

@jit
def f(x: Tensor[20, 20, f32]):
    a, b, c = squares(x)
    return a, b, c
"""


def squares(x):
    e = np.tanh(x)
    return {"a": e + e.T, "b": e @ e, "c": x @ x.T}


# Each kernel for itself: what joins two axes, or keeps them apart, in one of them does so nowhere else.
SHARED = """
@kernel.schedule(Schedule(BM=8))
def unrolled(x: Tensor[M, {n}, f32], u: Tensor[{n}, {n}, f32]) -> Tensor[M, {n}, f32]:
    t = tile.context(m=M, n={n})
    w, v = tile.load(u, (0, 0), (t.n, t.n)), tile.load(x, (t.i, t.j), (t.m, t.n))
    h = v
    for i in range(3):
        h = tile.tanh(v + tile.dot(h, w))
    return h

@kernel.schedule(Schedule(BM=8))
def chained(x: Tensor[M, {n}, f32], u: Tensor[{n}, {n}, f32]) -> Tensor[M, {n}, f32]:
    t = tile.context(m=M, n={n})
    w, h = tile.load(u, (0, 0), (t.n, t.n)), tile.load(x, (t.i, t.j), (t.m, t.n))
    for i in tile.range(4, 1):
        h = tile.dot(tile.tanh(tile.dot(h, w)), w)
    return h

@kernel.schedule(Schedule(BM=8))
def turned(x: Tensor[M, {n}, f32], u: Tensor[{n}, {n}, f32]) -> Tensor[M, {n}, f32]:
    t = tile.context(m=M, n={n})
    w, h = tile.load(u, (0, 0), (t.n, t.n)), tile.load(x, (t.i, t.j), (t.m, t.n))
    for i in tile.range(4, 1):
        h = tile.tanh(tile.dot(h, w) + tile.dot(h, w.T))
    return h

@kernel.schedule(Schedule(BM=8))
def branched(x: Tensor[M, {n}, f32], u: Tensor[{n}, {n}, f32]) -> Tensor[M, {n}, f32]:
    t = tile.context(m=M, n={n})
    w, h = tile.load(u, (0, 0), (t.n, t.n)), tile.load(x, (t.i, t.j), (t.m, t.n))
    e = tile.tanh(w)
    for i in tile.range(4, 1):
        if i < 2:
            h = tile.tanh(tile.dot(h, w))
            e = e * 0.5 + e.T
        else:
            h = tile.dot(tile.tanh(tile.dot(h, e)), w.T)
    return h

@kernel.schedule(Schedule())
def mirrored(u: Tensor[{n}, {n}, f32]) -> Tensor[{n}, {n}, f32]:
    t = tile.context(m={n}, n={n})
    e = tile.tanh(tile.load(u, (0, 0), (t.m, t.n)))
    return e + e.T

@kernel.schedule(Schedule())
def spread(u: Tensor[{n}, {n}, f32]) -> Tensor[{n}, {n}, f32]:
    t = tile.context(m={n}, n={n})
    w = tile.load(u, (0, 0), (t.m, t.n))
    e = tile.tanh(w)
    return e + tile.sum(tile.dot(e, w.T), axis=1)[None, :]

@kernel.schedule(Schedule())
def across(u: Tensor[{n}, {n}, f32]) -> Tensor[{n}, {n}, f32]:
    t = tile.context(m={n}, n={n})
    e = tile.tanh(tile.load(u, (0, 0), (t.m, t.n)))
    both = tile.sum(e, axis=0) + tile.sum(e, axis=1)
    for i in tile.range(3, 1):
        e = tile.tanh(e.T * 0.5 + both[:, None])
    return e

@jit
def f(x: Tensor[M, {n}, f32], u: Tensor[{n}, {n}, f32]):
    a, b, c = unrolled(x, u), chained(x, u), turned(x, u)
    d, e, g, h = mirrored(u), spread(u), across(u), branched(x, u)
    return a, b, c, d, e, g, h
"""


def shared(x, u):
    a = b = c = x
    for _ in range(3):
        a = np.tanh(x + a @ u)
    for _ in range(4):
        b = np.tanh(b @ u) @ u
        c = np.tanh(c @ u + c @ u.T)
    t = e = np.tanh(u)
    h = x
    for i in range(4):
        h = np.tanh(h @ u) if i < 2 else np.tanh(h @ e) @ u.T
        e = e * 0.5 + e.T if i < 2 else e
    g = t
    for _ in range(3):
        g = np.tanh(g.T * 0.5 + (t.sum(axis=0) + t.sum(axis=1))[:, None])
    return {"a": a, "b": b, "c": c, "d": t + t.T, "e": t + (t @ u.T).sum(axis=1)[None, :], "g": g, "h": h}


GATHERED = """
@kernel.schedule(Schedule(BM={0}, BR={1}))
def scores(q: Tensor[M, 40, f32], k: Tensor[V, 40, f32], rows: Tensor[R, i32]) -> Tensor[M, R, f32]:
    t = tile.context(m=M, r=R)
    keys = tile.gather(k, tile.load(rows, (t.j,), (t.r,)))
    return tile.dot(tile.load(q, (t.i, 0), (t.m, 40)), keys.T)

@kernel.schedule(Schedule(BM={0}, BR={1}))
def weighted(q: Tensor[M, 40, f32], k: Tensor[V, 40, f32], rows: Tensor[R, i32]) -> Tensor[M, 40, f32]:
    t = tile.context(m=M, d=40, r=R)
    taken = tile.load(q, (t.i, t.j), (t.m, t.d))
    acc = tile.zeros((t.m, t.d), f32)
    for r in tile.range(R, t.r):
        keys = tile.gather(k, tile.load(rows, (r,), (t.r,)))
        acc = tile.dot(tile.exp(tile.dot(taken, keys.T) * 0.1), keys, acc)
    return acc

@kernel.schedule(Schedule(BR={1}))
def greatest(k: Tensor[V, 40, f32], rows: Tensor[R, i32]) -> Tensor[R, f32]:
    t = tile.context(r=R)
    return tile.max(tile.gather(k, tile.load(rows, (t.i,), (t.r,))).T, axis=0)

@kernel.schedule(Schedule(BM={0}, BR={1}))
def centred(q: Tensor[M, 40, f32], k: Tensor[V, 40, f32], rows: Tensor[R, i32]) -> Tensor[M, R, f32]:
    t = tile.context(m=M, r=R)
    keys = tile.gather(k, tile.load(rows, (t.j,), (t.r,))).T
    return tile.dot(tile.load(q, (t.i, 0), (t.m, 40)), keys - tile.max(keys, axis=0)[None, :])

@jit
def f(q: Tensor[M, 40, f32], k: Tensor[V, 40, f32], rows: Tensor[R, i32]):
    a, b = scores(q, k, rows), weighted(q, k, rows)
    c, d = greatest(k, rows), centred(q, k, rows)
    return a, b, c, d
"""


def gathered(q, k, rows):
    keys = k[rows.astype(int)]
    most = keys.max(axis=1)
    return {"a": q @ keys.T, "b": np.exp(q @ keys.T * 0.1) @ keys, "c": most, "d": q @ (keys - most[:, None]).T}


REGIONS = """
@kernel.schedule(Schedule(BM=8))
def upper(x: Tensor[M, 16, f32], y: Region[read_write] Tensor[M, 16, f32]):
    t = tile.context(m=M, n=16)
    if t.i < 1:
        tile.store(tile.load(x, (t.i, t.j), (t.m, t.n)), y, (t.i, t.j))

@kernel.schedule(Schedule(BM=8))
def total(x: Tensor[M, 16, f32], y: Region[reduce_sum] Tensor[16, f32]):
    t = tile.context(m=M, n=16)
    tile.store(tile.sum(tile.load(x, (t.i, t.j), (t.m, t.n)), axis=0), y)

@jit
def f(x: Tensor[M, 16, f32], y: Tensor[M, 16, f32]) where M >= 1:
    a = upper(x, y) * 3.0
    b = total(x, zeros((16,), f32)) * 3.0
    c = tanh(total(x, y[0]) + total(y, x[0])) * M
    return a, b, c
"""


def regions(x, y):
    changed = np.concatenate((x[:8], y[8:]))
    sums = x.sum(axis=0) + y[0] + y.sum(axis=0) + x[0]
    return {"a": changed * 3, "b": x.sum(axis=0) * 3, "c": np.tanh(sums) * len(x)}


# The blocks of keys have as many rows as columns, and the keys end elsewhere than their columns do.
LIMITS = """
@kernel.schedule(Schedule(BM={0}, BK={1}))
def weighted(q: Tensor[M, {1}, f32], keys: Tensor[K, {1}, f32], v: Tensor[K, {1}, f32]) -> Tensor[M, {1}, f32]:
    t = tile.context(m=M, n={1}, k=K)
    rows = tile.load(q, (t.i, t.j), (t.m, t.n))
    acc, m, l = tile.zeros((t.m, t.n), f32), tile.full((t.m,), -INF), tile.zeros((t.m,), f32)
    for k in tile.range(K, t.k):
        s = tile.dot(rows, tile.load(keys, (k, 0), (t.k, t.n)).T)
        s = s + tile.cast(tile.arange(t.k, k)[None, :] - tile.arange(t.m, t.i)[:, None], f32) * 0.125
        p, top, total = tile.softmax_online(s)
        acc, m, l = tile.softmax_accumulate(acc, m, l, p, tile.load(v, (k, 0), (t.k, t.n)), top, total)
    return acc / l[:, None] + tile.where(tile.arange(t.m, t.i)[:, None] == tile.arange(t.n, t.j)[None, :], rows, 1.5)

@jit
def f(q: Tensor[M, {1}, f32], k: Tensor[K, {1}, f32], v: Tensor[K, {1}, f32]):
    a = weighted(q, k, v)
    return a
"""


def limits(q, k, v):
    m, n = np.ogrid[:len(q), :len(k)]
    p = np.exp(q @ k.T + (n - m) / 8)
    return {"a": p / p.sum(axis=1, keepdims=True) @ v + np.where(np.eye(*q.shape) == 1, q, 1.5)}


# Scores times a number, or times one of the call, that softmax_online takes as a scale. The first row's scores are huge
# and equal but for the last, so that their scaled differences are 0 and -inf in effect; the last row's are -inf.
SCALED = """
@kernel.schedule(Schedule(BM=16, BK=8))
def weighted(q: Tensor[M, N, f32], keys: Tensor[K, N, f32], v: Tensor[K, N, f32],
             by: Tensor[f32]) -> (Tensor[M, N, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N, k=K)
    rows = tile.load(q, (t.i, t.j), (t.m, t.n))
    acc, m, l = tile.zeros((t.m, t.n), f32), tile.full((t.m,), -INF), tile.zeros((t.m,), f32)
    for k in tile.range(K, t.k):
        s = tile.dot(rows, tile.load(keys, (k, 0), (t.k, t.n)).T)
        row, col = tile.arange(t.m, t.i)[:, None], tile.arange(t.k, k)[None, :]
        s = tile.where(row == 0, tile.where(col < K - 1, -1e30, -3e38), s)
        s = tile.where(row == M - 1, -INF, s)
        p, top, total = tile.softmax_online(s, scale={})
        acc, m, l = tile.softmax_accumulate(acc, m, l, p, tile.load(v, (k, 0), (t.k, t.n)), top, total)
    return acc / l[:, None], m

@jit
def f(q: Tensor[M, N, f32], k: Tensor[K, N, f32], v: Tensor[K, N, f32], by: Tensor[f32]):
    a, m = weighted(q, k, v, by)
    top = maximum(m, -2.0)
    return a, top
"""


def scaled(q, k, v, by):
    s = q @ k.T
    s[0], s[0, -1] = -1e30, -3e38
    s[-1] = -np.inf
    with np.errstate(invalid="ignore"):
        p = np.nan_to_num(np.exp(by * (s - s.max(axis=1, keepdims=True))))
    return {"a": p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300) @ v, "top": np.maximum(s.max(axis=1), -2.0)}


def check(folder, source, reference, given, bound=2e-5):
    """Compiles for each CPU, and runs on those there are."""
    (folder / "f.tsr").write_text(source)
    targets = "cpu:x86-64-v3,cpu:x86-64-v4,cpu:x86-64-v4-bf16,cpu:x86-64-v4-amx"
    run(BIN / "tesserac", folder / "f.tsr", f"--target={targets}", "-o", folder / "f.bundle")
    run(BIN / "tsr", "verify", folder / "f.bundle")
    arguments = []
    for name, value in given.items():
        np.save(folder / f"{name}.npy", value)
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    expected = reference(**{name: value.astype(np.float64) for name, value in given.items()})
    for name in expected:
        arguments += ["--output", f"{name}={folder}/out_{name}.npy"]
    # Without a target it is the best one that the processor has.
    for target in ({"TSR_TARGET": "cpu:x86-64-v3"}, {"TSR_TARGET": "cpu:x86-64-v4"}, {}):
        run(BIN / "tsr", "run", folder / "f.bundle", "f", *arguments, env={**os.environ, **target})
        for name, value in expected.items():
            got = np.load(folder / f"out_{name}.npy")
            apart = np.max(np.abs(got - value) / (1 + np.abs(value)))
            assert apart <= bound, (reference.__name__, target, name, given[list(given)[0]].shape, apart)


def main():
    rng = np.random.default_rng(7)

    def of(*shape):
        return rng.standard_normal(shape).astype(np.float32)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for n, extent, schedule, dtype in ((20, 20, "BB=4", "f32"), (64, 64, "BB=1", "f32"), ("N", 37, "BB=8", "f32"),
                                           (64, 64, "BB=32", "bf16"), (40, 40, "BB=4", "bf16")):
            source = RECURRENCES.format(n=n, schedule=schedule, dtype=dtype)
            given = {"x": of(5, 41, extent), "u": of(extent, extent) / 8, "v": of(extent, extent) / 8}
            check(folder, source, recurrences, given, 2e-5 if dtype == "f32" else 5e-2)
        if DEVICE == "cpu":  # a GPU's tiles run along each axis once
            check(folder, SQUARES, squares, {"x": of(20, 20)})
            for n, extent in ((16, 16), (20, 20), ("N", 37)):
                check(folder, SHARED.format(n=n), shared, {"x": of(19, extent), "u": of(extent, extent) / 8})
        for blocks in ((8, 16), (1, 32), (16, 64)):
            for rows in (5, 70):
                given = {"q": of(21, 40), "k": of(11, 40), "rows": rng.integers(0, 11, rows).astype(np.int32)}
                check(folder, GATHERED.format(*blocks), gathered, given)
        for rows, width in ((48, 8), (8, 8), (32, 16)):
            given = {"q": of(50, width), "k": of(29, width), "v": of(29, width)}
            check(folder, LIMITS.format(rows, width), limits, given)
        for scale, by in (("0.3", 0.3), ("tile.load(by)", 0.3), ("tile.load(by)", 5.0), ("1e-3", 1e-3), ("7", 7.0)):
            given = {"q": of(37, 24), "k": of(29, 24), "v": of(29, 24), "by": np.array(by, np.float32)}
            check(folder, SCALED.format(scale), scaled, given, 1e-4)
        check(folder, REGIONS, regions, {"x": of(19, 16), "y": of(19, 16)})


if __name__ == "__main__":
    main()
