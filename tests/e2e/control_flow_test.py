#!/usr/bin/env python3
"""Loops and branches that run on the machine, compiled and interpreted, beside NumPy.

Usage: control_flow_test.py BUILD_DIR
"""
import pathlib
import re
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
def exchanged(x: Tensor[M, N, f32]):
    a, b = x, x + x
    for i in range(M):
        kept = a
        a = b * 0.5
        b = kept
    return a, b

@jit
def damped(x: Tensor[N, N, f32], w: Tensor[N, N, f32], a: Tensor[f32]):
    step = abs(a) + 0.125
    t = zeros((), i32)
    while (t < 5) and (max(x) > 0.5):
        x = x @ w * 0.25 - step
        t = t + 1
    return x, t

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
def again(x: Tensor[M, f32], p: Tensor[bool]):
    if p:
        for i in range(M):
            x = x + 1.0
    for k in range(M):
        if k == 0:
            for i in range(M):
                x = x * 2.0
    return x

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

def early(x, limit):
    if sum(x) > limit:
        return x * 2.0
    elif sum(x) < -1.0:
        x = x - 1.0
    y = x + 1.0
    if max(y) > 5.0:
        return y
    return -y

@jit
def returns(x: Tensor[B, 8, f32], limit: f32) -> Tensor[B, 8, f32]:
    return early(x, limit) + 1.0

@jit
def sometimes(x: Tensor[1, 1, 1, 4, f32], cache: KVCache[1, 1, "S_max", 4, f32], p: Tensor[bool]) where S_max >= 1:
    if p:
        cache = cache.append(x, x)
        return x, cache
    return -x, cache

@jit
def narrow(x: Tensor[1, 1, S, 4, f32], cache: KVCache[1, 1, 5, 4, bf16] @rolling_window, p: Tensor[bool]) where S >= 1:
    first = cast(x[:, :, 0:1], bf16)
    if p:
        cache = cache.append(first, first)
    for i in range(S):
        part = cast(x[:, :, i:i + 1], bf16)
        if max(x[:, :, i:i + 1]) > 0.0:
            cache = cache.append(part, part * 2.0)
    return cast(cache.K, f32), cache

@jit
def members(x: Tensor[S, f32], k: i32):
    for i in range(S):
        if i in (0, 2):
            x = x + 1.0
        if i == 1 or k == i:
            x = x + 100.0
        if i < S - 1 and i not in (1, S - 2):
            x = x + 1000.0
    if k in (3, 4):
        x = -x
    if k not in (1, 2, 3) and x.shape == (S,):
        x = x * 2.0
    return x

def folded(x: Tensor[N, f32]) -> Tensor[f32]:
    if N % 4 == 0 and N >= 4:
        return sum(max(reshape(x, (N // 4, 4)), axis=1))
    elif N > 5 or not N >= 2:
        return -sum(x)
    return x[0] * 2.0 + x[N - 1]

def matched(x, y):
    return x + y

@jit
def by_sizes(x: Tensor[N, f32], y: Tensor[M, f32]) -> (Tensor[f32], Tensor[N, f32]):
    a = folded(x)
    if N == M:
        z = matched(x, y)
    elif not (N <= 3 or M == 1):
        z = concat((x[N - 3:], x[:N - 3]), axis=0)
    else:
        z = x
    return a, z

@jit
def by_counter(x: Tensor[S, B, f32]):
    total, before = zeros((B,), f32), zeros((B,), f32)
    for i in range(S):
        if i > 0:
            before = x[i - 1]
        if i % 2 == 0 and i + 2 < S:
            total = total + x[i + 2] * 2.0
        else:
            total = total - before
    return total

@jit
def selected(x: Tensor[N, f32]):
    return where(N > 4, x, -x)

@jit
def draws(n: Tensor[i64], x: Tensor[S, f32]):
    each, sums = zeros((S, 1000), f32), zeros((1000,), f32)
    for i in range(S):
        for j in range(n):
            drawn = uniform(0.0, 1.0, shape=(1000,), dtype=f32)
            sums = sums + drawn
            each = where(arange(S, i64)[:, None] == i, drawn[None, :], each)
    return each, sums
"""


def early(x, limit):
    if x.sum() > limit:
        return x * 2
    if x.sum() < -1:
        x = x - 1
    y = x + 1
    return y if y.max() > 5 else -y


def check_returns(call, mode, rng):
    for offset in (-3, -1, 0, 1, 3, 8):
        x = (rng.standard_normal((3, 8)) + offset).astype(np.float32)
        for limit in (0, 100):
            got = call(mode, "returns", ["returns"], x=x, limit=np.float32(limit))[0]
            np.testing.assert_allclose(got, early(x, limit) + 1, rtol=1e-6)
    x = rng.standard_normal((1, 1, 1, 4)).astype(np.float32)
    held = {"cache.K": np.zeros((1, 1, 3, 4), np.float32), "cache.V": np.zeros((1, 1, 3, 4), np.float32)}
    for p in (True, False):
        outputs = ["sometimes.0", "cache.K", "cache.length"]
        y, keys, length = call(mode, "sometimes", outputs, x=x, p=np.bool_(p), **held, **{"cache.length": np.int64(1)})
        np.testing.assert_array_equal(y, x if p else -x)
        np.testing.assert_array_equal(keys[:, :, 1:2], x if p else 0 * x)
        assert length == 1 + p


def check_members(call, mode):
    """Counters and values of the machine in lists, and compared."""
    for size in (0, 1, 2, 5):
        for k in range(6):
            wanted = 0.0
            for i in range(size):
                wanted += (i in (0, 2)) + 100 * (i == 1 or k == i) + 1000 * (i < size - 1 and i not in (1, size - 2))
            wanted *= (-1 if k in (3, 4) else 1) * (2 if k not in (1, 2, 3) else 1)
            got, = call(mode, "members", ["x"], x=np.zeros(size, np.float32), k=np.int32(k))
            np.testing.assert_array_equal(got, np.full(size, wanted, np.float32))


def check_sizes(call, mode, rng):
    """Sizes choose branches, whose shapes mean something for them alone."""
    for n in (0, 1, 2, 3, 4, 5, 6, 8, 11):
        x = rng.standard_normal(n).astype(np.float32)
        np.testing.assert_array_equal(call(mode, "selected", ["selected"], x=x)[0], x if n > 4 else -x)
        for m in {0, 1, 2, n}:
            y = rng.standard_normal(m).astype(np.float32)
            a, z = call(mode, "by_sizes", ["a", "z"], x=x, y=y)
            wanted = -x.sum() if n > 5 or n < 2 else x[0] * 2 + x[n - 1]
            if n % 4 == 0 and n >= 4:
                wanted = x.reshape(-1, 4).max(1).sum()
            np.testing.assert_allclose(a, wanted, rtol=1e-5, atol=1e-6)
            rolled = x if n <= 3 or m == 1 else np.roll(x, 3)
            np.testing.assert_array_equal(z, x + y if n == m else rolled)
    for s in (0, 1, 2, 3, 6):
        x = rng.standard_normal((s, 3)).astype(np.float32)
        total, before = np.zeros(3, np.float32), np.zeros(3, np.float32)
        for i in range(s):
            before = x[i - 1] if i > 0 else before
            total = total + x[i + 2] * 2 if i % 2 == 0 and i + 2 < s else total - before
        np.testing.assert_allclose(call(mode, "by_counter", ["total"], x=x)[0], total, rtol=1e-5, atol=1e-6)


def check_narrow(call, mode):
    """A cache of bf16 stays one, in loops and in branches."""
    x = np.arange(-6, 18, dtype=np.float32).reshape(1, 1, 6, 4)
    zeros = np.zeros((1, 1, 5, 4), np.uint16).view(np.dtype("V2"))
    for p in (True, False):
        appended = ([x[0, 0, 0]] if p else []) + [row for row in x[0, 0] if row.max() > 0]
        rows = np.zeros((5, 4), np.float32)
        for n, row in enumerate(appended):
            rows[n % 5] = row
        keys, length = call(mode, "narrow", ["narrow.0", "cache.length"], x=x, p=np.bool_(p),
                            **{"cache.K": zeros, "cache.V": zeros, "cache.length": np.int64(0)})
        assert length == len(appended)
        np.testing.assert_array_equal(keys[0, 0], rows)


def check_draws(call):
    """Each iteration of each loop draws numbers of its own, the same compiled and interpreted."""
    x, several = np.zeros(5, np.float32), []
    for mode in ((), ("--interpret", "exact")):
        several.append(call(mode, "draws", ["each", "sums"], n=np.int64(3), x=x))
        again = call(mode, "draws", ["each", "sums"], "--input", "seed=7", n=np.int64(3), x=x)
        assert (again[0] != several[-1][0]).mean() > 0.99
    np.testing.assert_array_equal(several[0][0], several[1][0])
    np.testing.assert_array_equal(several[0][1], several[1][1])
    each, sums = several[0]
    assert np.abs(np.corrcoef(each) - np.eye(5)).max() < 0.15, np.corrcoef(each)
    assert abs(sums.var() / (15 / 12) - 1) < 0.2 and abs(sums.mean() / 7.5 - 1) < 0.02, (sums.mean(), sums.var())


def main():
    rng = np.random.default_rng(9)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "c.tsr").write_text(SOURCE)
        run(BIN / "tesserac", folder / "c.tsr", "-o", folder / "c.bundle")
        # A branch that appends to a cache does so in place.
        plan = run(BIN / "tsr", "inspect", folder / "c.bundle", "--ir", "plan")
        branches = re.findall(r"plan @sometimes .*?\n}", plan, re.S)
        assert branches and not re.search(r"copy .*cache\.[KV]", "".join(branches)), branches

        for entry in ("by_sizes", "by_counter"):  # no kernel computes what sizes say
            steps = re.findall(rf"plan @{entry} .*?\n}}", plan, re.S)
            assert steps and not re.search(r"\bbool\[", "".join(steps)), steps

        def call(mode, entry, outputs, *options, **inputs):
            arguments = []
            for key, value in inputs.items():
                np.save(folder / f"{key}.npy", value)
                arguments += ["--input", f"{key}={folder}/{key}.npy"]
            for output in outputs:
                arguments += ["--output", f"{output}={folder}/{output}.out.npy"]
            run(BIN / "tsr", "run", folder / "c.bundle", entry, *arguments, *options, *mode)
            return [np.load(folder / f"{output}.out.npy") for output in outputs]

        check_draws(call)
        for mode in ((), ("--interpret", "exact")):
            check_returns(call, mode, rng)
            check_members(call, mode)
            check_sizes(call, mode, rng)
            check_narrow(call, mode)
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
            for m in (0, 1, 4):
                x = rng.standard_normal((m, 3)).astype(np.float32)
                a, b = x, x + x
                for _ in range(m):
                    a, b = b * np.float32(0.5), a
                for got, wanted in zip(call(mode, "exchanged", ["a", "b"], x=x), (a, b)):
                    np.testing.assert_array_equal(got, wanted)
            for m, p in ((0, True), (3, False), (3, True)):
                x = rng.standard_normal(m).astype(np.float32)
                got, = call(mode, "again", ["x"], x=x, p=np.bool_(p))
                np.testing.assert_allclose(got, (x + m * p) * 2**m, rtol=1e-6)
            x, w = (rng.standard_normal((4, 4)).astype(np.float32) for _ in range(2))
            got, iterations = call(mode, "damped", ["x", "t"], x=8 * x, w=w, a=np.float32(-0.25))
            wanted, t = 8 * x, 0
            while t < 5 and wanted.max() > 0.5:
                wanted, t = wanted @ w * 0.25 - 0.375, t + 1
            assert iterations == t > 0, (iterations, t)
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
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
                state = ("--state", f"cache={folder}/cache.safetensors", "--dims", "S_max=7")
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
