#!/usr/bin/env python3
"""Where values are rounded, to what digits, and what infinities and NaN give: as docs/language.md and docs/numerics.md
say, of the exact interpreter and of compiled code, beside NumPy.

Usage: numbers_test.py BUILD_DIR
"""
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

# A wide value is x * BY of a narrow x: f32 holds it, the narrow dtype does not.
BY = 1.1
WIDE = """
from tessera.nn import avg_pool2d, adaptive_avg_pool2d, max_pool2d, conv2d, cumsum, rank, argsort, scatter_add, gather

@jit
def taken(x: Tensor[B, N, T], ids: Tensor[K, i32], *, T: dtype = DTYPE):
    v = x * BY
    r0, r1, r2 = cast(v[:, ids], f32), cast(v[ids], f32), cast(v[ids, ids], f32)
    return r0, r1, r2

@jit
def gathered(x: Tensor[B, N, T], ids: Tensor[K, i32], *, T: dtype = DTYPE):
    r0 = gather(x * BY, ids, axis=1)
    return r0

@jit
def pooled(x: Tensor[B, H, W, C, T], *, T: dtype = DTYPE) where H >= 1, W >= 2:
    v = x * BY
    r0, r1, r2 = avg_pool2d(v, (1, 2)), max_pool2d(v, (1, 2), padding=(0, 1)), adaptive_avg_pool2d(v[:, :1, :2], (1, 1))
    return r0, r1, r2

@jit
def filtered(x: Tensor[B, H, W, 3, T], w: Tensor[1, 2, 1, 3, T], *, T: dtype = DTYPE) where H >= 1, W >= 2:
    r0 = conv2d(x * BY, w, groups=3)
    return r0

@jit
def scanned(x: Tensor[B, 2, T], *, T: dtype = DTYPE):
    r0 = cumsum(x * BY)
    return r0

@jit
def ordered(x: Tensor[B, N, T], y: Tensor[B, N, T], *, T: dtype = DTYPE):
    v = x * BY + y * 0.0009765625
    r0, r1 = rank(v, dtype=i32), argsort(v, dtype=i32)
    return r0, r1

@jit
def added(x: Tensor[2, D, T], ids: Tensor[1, i32], y: Tensor[1, D, T], *, T: dtype = DTYPE):
    r0 = scatter_add(x * BY, ids, y)
    return r0
"""

# Files of NumPy have no floats of 8 bits.
EIGHT = """
from tessera.nn import avg_pool2d, cumsum

@jit
def eighths(x: Tensor[B, 4, f32], ids: Tensor[K, i32]):
    v = cast(x, DTYPE) * BY
    pairs = reshape(v, (2 * B, 1, 2, 1))
    r0, r1 = cast(v[:, ids], f32), cast(avg_pool2d(pairs, (1, 2)), f32)
    r2 = cast(cumsum(reshape(v, (2 * B, 2))), f32)
    return r0, r1, r2
"""

ATTENTION = """
@jit
def changed(q: Tensor[B, H, S, D, T], k: Tensor[B, H, S, D, T], v: Tensor[B, H, S, D, T], bias: Tensor[S, T],
            *, T: dtype = DTYPE) where D >= 1:
    plain = flash_attention(q, k, v, bias=bias * BY)
    scored = flash_attention(q, k, v, bias=bias * BY, score_mod=lambda s, b, h, i, j: s)
    masked = flash_attention(q, k, v, bias=bias * BY, mask_mod=lambda b, h, i, j: j >= 0)
    r0, r1, r2 = cast(plain, f32), cast(scored, f32), cast(masked, f32)
    return r0, r1, r2
"""

DOUBLES = """
from tessera.rotary_embedding import rotary_embedding

@kernel
def scaled_rows(x: Tensor[M, N, T], *, epilogue: fn = identity) -> Tensor[M, N, T]:
    t = tile.context(m=M, n=N)
    return tile.cast(epilogue(tile.load(x) * (1 / sqrt(N) + 0.1)), T)

@jit
def attended(q: Tensor[B, H, S, D, f64], k: Tensor[B, H, S, D, f64], v: Tensor[B, H, S, D, f64]) where D >= 1:
    r0 = flash_attention(q, k, v)
    return r0

@jit
def sized(x: Tensor[B, N, f64]) where N >= 1:
    third: Tensor[f64] = 1.0 / (3 * N)
    r0, r1, r2, r3, r4 = x / sqrt(N), x * (0.1 / N) + exp(0.3 / N), third * x, cast(1.0 / N, f64) * x, scaled_rows(x)
    return r0, r1, r2, r3, r4

@jit
def lost(x: Tensor[B, N, f64], t: Tensor[B, i32]):
    r0 = cross_entropy(x, t)
    return r0

@jit
def turned(x: Tensor[B, S, 2, H, f64], c: Tensor[S, H, f64], s: Tensor[S, H, f64]):
    r0 = rotary_embedding(x, c, s)
    return r0
"""

ROWS = """
from tessera.nn import log_softmax, logsumexp, cross_entropy_mean

@jit
def rows(x: Tensor[B, N, T], t: Tensor[B, i32], *, T: dtype = DTYPE):
    r0, r1, r2, r3 = softmax(x), log_softmax(x), logsumexp(x), cross_entropy(x, t)
    return r0, r1, r2, r3

@jit
def columns(x: Tensor[N, B, T], *, T: dtype = DTYPE):
    r0, r1, r2 = softmax(x, axis=0), log_softmax(x, axis=0), logsumexp(x, axis=0)
    return r0, r1, r2
"""

RNG = np.random.default_rng(15)


DIGITS = {"bf16": (8, -126), "f16": (11, -14), "f8e4m3": (4, -6), "f8e5m2": (3, -14)}  # and the least normal exponent


def narrowed(x, dtype):
    """x rounded to the dtype, as f32 or f64; what is too large for it is not given."""
    if dtype not in DIGITS:
        return np.asarray(x, {"f32": np.float32, "f64": np.float64}[dtype])
    x = np.asarray(x, np.float32).astype(np.float64)
    digits, least = DIGITS[dtype]
    finite = np.where(np.isfinite(x), x, 0)
    unit = 2.0 ** (np.maximum(np.frexp(finite)[1] - 1, least) - digits + 1)
    return np.where(np.isfinite(x), np.rint(finite / unit) * unit, x).astype(np.float32)


def stored(x, dtype):
    if x.dtype.kind != "f" or dtype not in ("bf16", "f16"):
        return x
    return x.astype(np.float16) if dtype == "f16" else (x.view(np.uint32) >> 16).astype(np.uint16).view("V2")


def loaded(x):
    if x.dtype.kind == "V":
        return (np.frombuffer(x.tobytes(), np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(x.shape)
    return x.astype(np.float32) if x.dtype == np.float16 else x


class Program:
    def __init__(self, folder, source, dtype):
        self.folder, self.dtype = folder, dtype
        text = source.replace("DTYPE", dtype).replace("BY", str(BY))
        (folder / "s.tsr").write_text(text)
        run(BIN / "tesserac", folder / "s.tsr", "-o", folder / "s.bundle")

    def results(self, entry, count, **inputs):
        """Results of the interpreter and of the compiled code."""
        words = []
        for name, value in inputs.items():
            np.save(self.folder / f"{name}.npy", stored(value, self.dtype))
            words += ["--input", f"{name}={self.folder}/{name}.npy"]
        names = [f"r{i}" for i in range(count)]
        both = []
        for mode in (["--interpret=exact"], []):
            outputs = [word for name in names for word in ("--output", f"{name}={self.folder}/{name}.npy")]
            run(BIN / "tsr", "run", self.folder / "s.bundle", entry, *words, *outputs, *mode)
            both.append([loaded(np.load(self.folder / f"{name}.npy")) for name in names])
        return both

    def check(self, entry, wanted, inputs, tolerance=0.0):
        for way, results in zip(("interpreted", "compiled"), self.results(entry, len(wanted), **inputs)):
            for i, (got, want) in enumerate(zip(results, wanted)):
                want = np.asarray(want)
                what = f"{self.dtype} {entry} {i} {way}"
                assert got.shape == want.shape, f"{what}: {got.shape}, not {want.shape}"
                same = (got == want) | (np.isnan(got) & np.isnan(want)) if got.dtype.kind == "f" else got == want
                with np.errstate(invalid="ignore"):
                    near = np.abs(got - want) <= tolerance * (1 + np.abs(want))
                assert np.all(same | near), f"{what}:\n{got}\nis not\n{want}"


def wide_values(folder, dtype):
    program = Program(folder, WIDE, dtype)
    by = np.float32(BY)
    narrow = lambda *shape: narrowed(RNG.standard_normal(shape), dtype)
    x, ids = narrow(5, 5), np.array([4, 0, 3, 3], np.int32)
    v = x * by
    program.check("taken", [v[:, ids], v[ids], v[ids, ids]], {"x": x, "ids": ids})
    program.check("gathered", [narrowed(v[:, ids], dtype)], {"x": x, "ids": ids})

    x = narrow(2, 3, 8, 3)
    v = x * by
    pairs = v.reshape(2, 3, 4, 2, 3)
    mean = (pairs[:, :, :, 0] + pairs[:, :, :, 1]) / np.float32(2)
    edge = np.full((2, 3, 1, 3), -np.inf, np.float32)
    most = np.concatenate((edge, v, edge), axis=2).reshape(2, 3, 5, 2, 3).max(axis=3)
    program.check("pooled", [narrowed(r, dtype) for r in (mean, most, mean[:, :1, :1])], {"x": x})

    w = narrow(1, 2, 1, 3)
    wanted = v[:, :, :-1] * w[0, 0, 0] + v[:, :, 1:] * w[0, 1, 0]
    program.check("filtered", [narrowed(wanted, dtype)], {"x": x, "w": w})

    x = narrow(40, 2)
    v = x * by
    program.check("scanned", [narrowed(np.stack((v[:, 0], v[:, 0] + v[:, 1]), axis=1), dtype)], {"x": x})

    # Elements that are told apart by what the narrow dtype has no room for.
    x, y = narrowed(np.ones((3, 16)), dtype), narrow(3, 16)
    order = np.argsort(x * by + y * np.float32(2.0**-10), axis=1, kind="stable").astype(np.int32)
    program.check("ordered", [np.argsort(order, axis=1).astype(np.int32), order], {"x": x, "y": y})

    x, y = narrow(2, 50), narrow(1, 50)
    wanted = x * by
    wanted[1] += y[0]
    program.check("added", [narrowed(wanted, dtype)], {"x": x, "ids": np.array([1], np.int32), "y": y})


def eighths(folder, dtype):
    program = Program(folder, EIGHT, dtype)
    x, ids = RNG.standard_normal((30, 4)).astype(np.float32), np.array([2, 0, 3], np.int32)
    v = narrowed(x, dtype) * np.float32(BY)
    pairs = v.reshape(60, 2)
    sums = np.stack((pairs[:, 0], pairs[:, 0] + pairs[:, 1]), axis=1)
    mean = (sums[:, 1] / np.float32(2)).reshape(60, 1, 1, 1)
    program.check("eighths", [v[:, ids], narrowed(mean, dtype), narrowed(sums, dtype)], {"x": x, "ids": ids})


def attention(folder, dtype):
    program = Program(folder, ATTENTION, dtype)
    shape = (2, 2, 9, 16)
    inputs = {name: narrowed(RNG.standard_normal(shape), dtype) for name in "qkv"}
    inputs["bias"] = narrowed(RNG.standard_normal(9), dtype)
    for plain, scored, masked in program.results("changed", 3, **inputs):
        assert np.any(plain != narrowed(plain, dtype)), "attention is rounded"
        # Weights are rounded to the dtype on the way, of other maxima where blocks differ.
        for changed in (scored, masked):
            assert np.any(changed != narrowed(changed, dtype)), "attention with a function of the scores is rounded"
            assert np.max(np.abs(changed - plain)) < 2e-3, np.max(np.abs(changed - plain))


def softmax(x, axis=-1):
    weights = np.exp(x - x.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


def doubles(folder):
    program = Program(folder, DOUBLES, "f64")
    q, k, v = (RNG.standard_normal((2, 3, 10, 7)) for _ in range(3))
    scores = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(7)
    wanted = np.einsum("bhij,bhjd->bhid", softmax(scores), v)
    program.check("attended", [wanted], {"q": q, "k": k, "v": v}, 1e-14)
    x = RNG.standard_normal((4, 11))
    wanted = [x / np.sqrt(11), x * (0.1 / 11) + np.exp(0.3 / 11), x / 33, x / 11, x * (1 / np.sqrt(11) + 0.1)]
    program.check("sized", wanted, {"x": x}, 1e-15)
    t = np.array([0, 3, 10, 5], np.int32)
    loss = np.log(np.exp(x).sum(1)) - x[np.arange(4), t]
    program.check("lost", [loss], {"x": x, "t": t}, 1e-15)
    x, c, s = RNG.standard_normal((2, 4, 2, 3)), RNG.standard_normal((4, 3)), RNG.standard_normal((4, 3))
    a, b = x[:, :, 0], x[:, :, 1]
    program.check("turned", [np.stack((a * c - b * s, b * c + a * s), axis=2)], {"x": x, "c": c, "s": s}, 1e-15)


def rows(folder, dtype):
    """Infinities, NaN, and rows of no elements."""
    program = Program(folder, ROWS, dtype)
    inf, nan = np.inf, np.nan
    x = narrowed([[0, 0, 0], [-inf, 0, 0], [inf, 0, 0], [inf, inf, -inf], [inf, -inf, 0], [-inf] * 3, [nan, 0, 0],
                  [nan, inf, -inf], [-inf, nan, -inf]], dtype)
    t = np.zeros(len(x), np.int32)
    third, half = np.log(3), np.log(2)
    weights = [[1 / 3] * 3, [0, 0.5, 0.5], [nan] * 3, [nan] * 3, [nan] * 3, [0] * 3, [nan] * 3, [nan] * 3, [nan] * 3]
    logs = [[-third] * 3, [-inf, -half, -half]] + [[nan] * 3] * 7
    sums = [third, half, inf, inf, inf, -inf, nan, nan, nan]
    losses = [third, inf, nan, nan, nan, inf, nan, nan, nan]
    tolerance = {"f32": 1e-6, "f64": 1e-15, "bf16": 2**-8, "f16": 2**-10}[dtype]
    weights, logs, sums, losses = (np.array(a, x.dtype) for a in (weights, logs, sums, losses))
    program.check("rows", [weights, logs, sums, losses], {"x": x, "t": t}, tolerance)
    program.check("columns", [weights.T, logs.T, sums], {"x": np.ascontiguousarray(x.T)}, tolerance)
    none = np.zeros((4, 0), x.dtype)
    wanted = [none, none, np.full(4, -inf, x.dtype), np.full(4, nan, x.dtype)]
    program.check("rows", wanted, {"x": none, "t": t[:4]})
    program.check("columns", [none.T, none.T, wanted[2]], {"x": none.T})


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for dtype in ("bf16", "f16"):
            wide_values(folder, dtype)
            attention(folder, dtype)
        for dtype in ("f8e4m3", "f8e5m2"):
            eighths(folder, dtype)
        doubles(folder)
        for dtype in ("f32", "f64", "bf16", "f16"):
            rows(folder, dtype)


if __name__ == "__main__":
    main()
