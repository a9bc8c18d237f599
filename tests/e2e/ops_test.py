#!/usr/bin/env python3
"""Functions of tessera.nn and ops of the language, compiled and interpreted, beside NumPy.

Usage: ops_test.py BUILD_DIR
"""
import os
import pathlib
import tempfile

import numpy as np

from tools import BIN, run

HEADER = """
from tessera.nn import (
    layernorm, layernorm_safe, batch_norm, swiglu, geglu, reglu, gelu_exact, quick_gelu, softplus, mish, elu,
    leaky_relu, clamp, hard_sigmoid, hard_swish, dropout, residual, logsumexp, log_softmax, cross_entropy_mean,
    cross_entropy_smoothed, soft_cross_entropy, binary_cross_entropy, mse, avg, split_heads, merge_heads, split_qkv,
    repeat_heads, rotary_angles, rotary, one_hot, argmax, argmin, gather, take, pad, conv2d, conv2d_nchw, conv1d,
    max_pool2d, avg_pool2d, adaptive_avg_pool2d, stochastic_round, topk, rank, argsort, sort, scatter_add, quantize, dequantize,
    matmul_scaled, matmul_weights, matmul_int4, pack_int4, unpack_int4, matmul_gated, cumsum, cumprod, cummax, cummin,
)

def meanof(x: Tensor[N, f32]):
    return mean(reshape(x, (4, N // 4)), axis=1)

def typed(x: Tensor[N, f32]):
    y: Tensor[N, f16 @stochastic_round] = cast(x, f16 @stochastic_round)
    return cast(y, f32)
"""

RNG = np.random.default_rng(11)
CASES = []


def case(signature, body, inputs, wanted, tolerance=2e-5):
    """An entry of these parameters that returns `body`; `wanted` gives its results from inputs in float64."""
    with np.errstate(all="ignore"):
        results = wanted(*(v.astype(np.float64) if v.dtype.kind == "f" else v for v in inputs))
    results = [np.asarray(result) for result in (results if isinstance(results, tuple) else (results,))]
    CASES.append((signature, body, inputs, results, tolerance))


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    return np.vectorize(__import__("math").erf)(x)


def gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def norms():
    def layer(x, g, b):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * g + b

    for rows, columns in ((3, 768), (1, 1), (5, 33)):
        x = normal(2, rows, columns) * 3 + 2
        case(f"x: Tensor[B, S, {columns}, f32], g: Tensor[{columns}, f32], b: Tensor[{columns}, f32]",
             "layernorm(x, g, b)", [x, normal(columns), normal(columns)], layer)
    case("x: Tensor[B, N, f32]", "layernorm(x)", [normal(4, 100)], lambda x: layer(x, 1, 0))
    case("x: Tensor[B, N, f32], g: Tensor[N, f32]", "layernorm_safe(x, g)", [normal(4, 17) + 1000, normal(17)],
         lambda x, g: layer(x, g, 0), 1e-3)
    x, mean, variance, scale, bias = normal(2, 6, 5, 7), normal(6), normal(6)**2, normal(6), normal(6)
    for axis in (1, -3):
        case("x: Tensor[B, 6, H, W, f32], m: Tensor[6, f32], v: Tensor[6, f32], g: Tensor[6, f32], b: Tensor[6, f32]",
             f"batch_norm(x, m, v, g, b, axis={axis})", [x, mean, variance, scale, bias],
             lambda x, m, v, g, b: (x - m[:, None, None]) / np.sqrt(v[:, None, None] + 1e-5) * g[:, None, None]
             + b[:, None, None])
    case("x: Tensor[B, H, W, 6, f32], m: Tensor[6, f32], v: Tensor[6, f32]", "relu(batch_norm(x, m, v, eps=0.1))",
         [normal(2, 5, 7, 6), mean, variance], lambda x, m, v: np.maximum((x - m) / np.sqrt(v + 0.1), 0))


def activations():
    x, y = normal(3, 40) * 3, normal(3, 40)
    two = "x: Tensor[B, N, f32], y: Tensor[B, N, f32]"
    one = "x: Tensor[B, N, f32]"
    case(two, "swiglu(x, y)", [x, y], lambda x, y: x * sigmoid(x) * y)
    case(two, "geglu(x, y)", [x, y], lambda x, y: gelu(x) * y)
    case(two, "reglu(x, y)", [x, y], lambda x, y: np.maximum(x, 0) * y)
    case(one, "gelu_exact(x)", [x], lambda x: x / 2 * (1 + erf(x / np.sqrt(2))))
    case(one, "quick_gelu(x)", [x], lambda x: x * sigmoid(1.702 * x))
    case(one, "softplus(x)", [x * 50], lambda x: np.logaddexp(0, x))
    case(one, "mish(x)", [x], lambda x: x * np.tanh(np.logaddexp(0, x)))
    case(one, "elu(x, alpha=0.5)", [x], lambda x: np.where(x > 0, x, 0.5 * np.expm1(x)))
    case(one, "leaky_relu(x)", [x], lambda x: np.where(x > 0, x, 0.01 * x))
    case(one, "clamp(x, -1.0, 2.0), clamp(x, low=0.5), clamp(x, high=0.5)", [x],
         lambda x: (np.clip(x, -1, 2), np.maximum(x, 0.5), np.minimum(x, 0.5)))
    case(one, "hard_sigmoid(x), hard_swish(x)", [x],
         lambda x: (np.clip(x / 6 + 0.5, 0, 1), x * np.clip(x / 6 + 0.5, 0, 1)))


def losses():
    x = normal(5, 37) * 4
    one = "x: Tensor[B, V, f32]"
    lse = lambda x, axis: np.logaddexp.reduce(x, axis=axis)
    case(one, "logsumexp(x), logsumexp(x, axis=0, keepdims=True)", [x * 40],
         lambda x: (lse(x, 1), lse(x, 0)[None]))
    edges = np.array([[-np.inf, -np.inf], [np.inf, 0], [-np.inf, 1], [1000, 1000]], np.float32)
    case("x: Tensor[B, 2, f32]", "logsumexp(x)", [edges], lambda x: [-np.inf, np.inf, 1, 1000 + np.log(2)])
    case(one, "log_softmax(x), log_softmax(x, axis=0)", [x],
         lambda x: (x - lse(x, 1)[:, None], x - lse(x, 0)[None]))
    t = np.array([3, 36, -100, 0, 12], np.int32)

    def mean_loss(x, t):
        rows = (lse(x, 1) - x[np.arange(5), np.maximum(t, 0)])[t != -100]
        return rows.sum() / max(len(rows), 1)

    both = "x: Tensor[B, V, f32], t: Tensor[B, i32]"
    case(both, "cross_entropy_mean(x, t)", [x, t], mean_loss)
    case(both, "cross_entropy(x, t)", [np.full((3, 4), -np.inf, np.float32), np.array([0, 3, 9], np.int32)],
         lambda x, t: np.array([np.inf, np.inf, np.nan]))
    case(both, "cross_entropy_mean(x, t)", [x, np.full(5, -100, np.int32)], lambda x, t: 0.0)
    t = np.maximum(t, 0)
    case(both, "cross_entropy_smoothed(x, t, smoothing=0.1)", [x, t],
         lambda x, t: 0.9 * (lse(x, 1) - x[np.arange(5), t]) - 0.1 * (x - lse(x, 1)[:, None]).mean(1))
    p = np.exp(normal(5, 37))
    p /= p.sum(1, keepdims=True)
    case("x: Tensor[B, V, f32], p: Tensor[B, V, f32]", "soft_cross_entropy(x, p), binary_cross_entropy(x, p), mse(x, p)",
         [x, p], lambda x, p: (-(p * (x - lse(x, 1)[:, None])).sum(1),
                               -(p * np.log(sigmoid(x)) + (1 - p) * np.log(1 - sigmoid(x))), ((x - p)**2).mean()))
    case(one, "avg(x, axis=1)", [x], lambda x: x.mean(1))


def heads():
    x = normal(2, 5, 96)
    q, k, v = (np.moveaxis(part.reshape(2, 5, -1, 12), 2, 1) for part in np.split(x.astype(float), (48, 72), -1))
    whole = "x: Tensor[B, S, 96, f32]"
    case(whole, "split_qkv(x, heads=4, groups=2)", [x], lambda x: (q, k, v))
    case(whole, "split_qkv(x, heads=4)[1]", [x], lambda x: np.moveaxis(x[..., 32:64].reshape(2, 5, 4, 8), 2, 1))
    case(whole, "merge_heads(split_heads(x, 8) + 1.0)", [x], lambda x: x + 1)
    case(whole, "repeat_heads(split_qkv(x, heads=4, groups=2)[2], 2)", [x], lambda x: np.repeat(v, 2, axis=1))
    angle = np.arange(5)[:, None] * 10000.0 ** (-np.arange(6) / 6)
    turned = (q[..., :6] + 1j * q[..., 6:]) * np.exp(1j * angle)
    pairs = (q[..., ::2] + 1j * q[..., 1::2]) * np.exp(1j * angle)
    case(whole, "rotary(split_heads(x[:, :, :48], 4), rotary_angles(arange(S, i32), 12)[0], "
         "rotary_angles(arange(S, i32), 12)[1])", [x],
         lambda x: np.concatenate((turned.real, turned.imag), -1))
    case(whole, "rotary(split_heads(x[:, :, :48], 4), rotary_angles(arange(S, i32), 12)[0], "
         "rotary_angles(arange(S, i32), 12)[1], neighbours=True)", [x],
         lambda x: np.stack((pairs.real, pairs.imag), -1).reshape(q.shape))


def indexing():
    ids = RNG.integers(-1, 9, (3, 4)).astype(np.int32)
    case("ids: Tensor[B, S, i32]", "one_hot(ids, 8), one_hot(ids, 8, i8)", [ids],
         lambda ids: ((ids[..., None] == np.arange(8)).astype(float), (ids[..., None] == np.arange(8)).astype(int)))
    x = RNG.integers(0, 5, (4, 5, 70)).astype(np.float32)  # many equal numbers
    x[1, 2, 40:42] = np.nan
    three = "x: Tensor[B, S, N, f32]"
    case(three, "argmax(x)", [x], lambda x: x.argmax(-1))
    case(three, "argmin(x, dtype=i32)", [x], lambda x: x.argmin(-1))
    case(three, "argmax(x, axis=1, keepdims=True)", [x], lambda x: x.argmax(1)[:, None])
    case(three, "argmin(x, axis=0)", [x], lambda x: x.argmin(0))
    case("x: Tensor[B, N, i32]", "argmax(x)", [RNG.integers(-9, 9, (7, 50)).astype(np.int32)], lambda x: x.argmax(-1))
    x, at = normal(4, 6, 9), np.array([[0, 3, 2], [1, 3, 0]], np.int32)
    both = "x: Tensor[A, B, C, f32], i: Tensor[R, S, i32]"
    for axis in range(-3, 3):
        case(both, f"gather(x, i, axis={axis})", [x, at], lambda x, i, axis=axis: np.take(x, i, axis=axis), 0)
    outside = np.array([[5, -1, 0], [6, 100, 2]], np.int32)

    def checked(x, i, axis):
        got = np.take(x, np.clip(i, 0, x.shape[axis] - 1), axis=axis)
        lost = ((i < 0) | (i >= x.shape[axis])).reshape((1,) * axis + i.shape + (1,) * (2 - axis))
        return np.where(lost, np.nan, got)

    for axis in range(3):
        case(both, f"take(x, i, axis={axis})", [x, outside], lambda x, i, axis=axis: checked(x, i, axis), 0)
    case("x: Tensor[N, f32], i: Tensor[R, i64]", "gather(x, i)", [normal(40), RNG.integers(0, 40, 77)],
         lambda x, i: x[i], 0)


def subscripts():
    x, at = normal(4, 6, 9), np.array([[0, 3, 2], [1, 3, 0]], np.int32)
    both = "x: Tensor[A, 6, C, f32], i: Tensor[R, S, i32]"
    case(both, "x[:, i], x[..., i], x[:, i, None], x[:, 2:5, i]", [x, at],
         lambda x, i: (x[:, i], x[..., i], x[:, i][:, :, :, None], x[:, 2:5][:, :, i]), 0)


def products():
    a, b, c = normal(3, 4, 5), normal(3, 5, 6), normal(6, 7)
    three = "a: Tensor[3, 4, 5, f32], b: Tensor[3, 5, 6, f32], c: Tensor[6, N, f32]"
    for spec in ("bij,bjk->bik", "bij,bjk->kib", "bij,bjk", "bij,bjk->b", "bij,bjk->ijk", "bij,cjk->bcik"):
        case(three, f'einsum("{spec}", a, b)', [a, b, c], lambda a, b, c, spec=spec: np.einsum(spec, a, b))
    for spec in ("bij,bjk,kn->bin", "bij,bjk,kn->nb", "bij,bjk,kn->"):
        case(three, f'einsum("{spec}", a, b, c)', [a, b, c], lambda a, b, c, spec=spec: np.einsum(spec, a, b, c))
    for spec in ("bij->jib", "bij->b", "bij->", "bij"):
        case(three, f'einsum("{spec}", a)', [a, b, c], lambda a, b, c, spec=spec: np.einsum(spec, a))
    thin, stack = normal(3, 1, 5), normal(2, 3, 4, 5)
    dots = "a: Tensor[3, 4, 5, f32], b: Tensor[3, 5, 6, f32], t: Tensor[3, 1, 5, f32], s: Tensor[2, 3, 4, 5, f32]"
    for spec, names in (("...ij,...jk->...ik", "ab"), ("...ij,...jk->...ik", "sb"), ("...ij,bjk->...bik", "ab"),
                        ("...ij->...j", "s"), ("i...,i...->...", "at"), ("...,...", "sa"), ("b...j,b...j->j...", "at")):
        given = {"a": a, "b": b, "t": thin, "s": stack}
        case(dots, f'einsum("{spec}", {", ".join(names)})', list(given.values()),
             lambda *all, spec=spec, names=names: np.einsum(spec, *(all["abts".index(name)] for name in names)))
    i = RNG.integers(-100, 100, (4, 5)).astype(np.int8)
    case("x: Tensor[4, 5, i8], y: Tensor[N, 5, i8]", 'einsum("ik,jk->ij", x, y)', [i, i], lambda x, y: x.astype(int) @ y.T)


def padded(x, p, value=0):
    return np.pad(x, ((0, 0), (p[0], p[0]), (p[1], p[1]), (0, 0)), constant_values=value)


def seen(x, size, strides, dilation=(1, 1)):
    view = np.lib.stride_tricks.sliding_window_view(
        x, ((size[0] - 1) * dilation[0] + 1, (size[1] - 1) * dilation[1] + 1), axis=(1, 2))
    return view[:, ::strides[0], ::strides[1], :, ::dilation[0], ::dilation[1]]


def convolution(x, w, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    view = seen(padded(x, padding), w.shape[:2], strides, dilation)
    parts = [np.einsum("bhwcyx,yxcn->bhwn", v, u)
             for v, u in zip(np.split(view, groups, 3), np.split(w, groups, 3))]
    return np.concatenate(parts, -1)


def images():
    x = normal(2, 9, 11, 6)
    image = "x: Tensor[B, 9, 11, 6, f32]"
    case(image, "pad(x, ((0, 0), (1, 2), (3, 0), (0, 0))), pad(x, ((0, 0), (0, 0), (0, 0), (0, 1)), -1.5)", [x],
         lambda x: (np.pad(x, ((0, 0), (1, 2), (3, 0), (0, 0))),
                    np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 1)), constant_values=-1.5)))
    case(image, "windows(x, 3, axis=1, step=2, dilation=3), windows(x, 2)", [x],
         lambda x: (np.lib.stride_tricks.sliding_window_view(x, 7, 1)[:, ::2, ..., ::3],
                    np.lib.stride_tricks.sliding_window_view(x, 2, 3)), 0)
    for y, z, n, options in ((3, 3, 8, {}), (3, 3, 8, dict(strides=(2, 2), padding=(1, 1))),
                             (1, 1, 5, {}), (1, 1, 5, dict(strides=(2, 3))), (7, 5, 4, dict(padding=(3, 2))),
                             (3, 2, 8, dict(dilation=(2, 3), padding=(2, 0))), (3, 3, 6, dict(groups=6, padding=(1, 1))),
                             (3, 3, 12, dict(groups=3, strides=(1, 2))), (2, 2, 12, dict(groups=6))):
        w = normal(y, z, 6 // options.get("groups", 1), n)
        text = "".join(f", {key}={value}" for key, value in options.items())
        case(f"{image}, w: Tensor[{y}, {z}, {w.shape[2]}, {n}, f32], b: Tensor[{n}, f32]",
             f"relu(conv2d(x, w, b{text}))", [x, w, normal(n)],
             lambda x, w, b, options=options: np.maximum(convolution(x, w, **options) + b, 0))
    # Rows of many windows, which products read in place.
    wide, beside = normal(2, 12, 61, 6), normal(2, 12, 61, 40)
    for y, z, options in ((3, 3, dict(padding=(1, 1))), (5, 3, dict(padding=(4, 1), dilation=(2, 1)))):
        text = "".join(f", {key}={value}" for key, value in options.items())
        for extents in ("B, 12, 61, 6", "B, H, W, 6"):
            condition = " where H >= 1, W >= 1" if "H" in extents else ""
            case(f"x: Tensor[{extents}, f32], w: Tensor[{y}, {z}, 6, 40, f32], b: Tensor[40, f32], "
                 f"r: Tensor[{extents[:-1]}40, f32]{condition}", f"relu(conv2d(x, w, b{text}) + r)",
                 [wide, normal(y, z, 6, 40), normal(40), beside],
                 lambda x, w, b, r, options=options: np.maximum(convolution(x, w, **options) + b + r, 0))
    case("x: Tensor[B, 12, 61, 6, f32], w: Tensor[4, 5, 6, 7, f32]", "conv2d(x, w, strides=(3, 2), padding=(2, 2))",
         [wide, normal(4, 5, 6, 7)], lambda x, w: convolution(x, w, (3, 2), (2, 2)))
    case("x: Tensor[B, L, 6, f32], w: Tensor[4, 6, 9, f32] where L >= 8", "conv1d(x, w, padding=1)",
         [wide[0], normal(4, 6, 9)], lambda x, w: convolution(x[:, None], w[None], padding=(0, 1))[:, 0])
    w = normal(3, 3, 6, 8)
    case("x: Tensor[B, 6, H, W, f32], w: Tensor[8, 6, 3, 3, f32] where H >= 1, W >= 1", "conv2d_nchw(x, w, padding=(1, 1))",
         [np.moveaxis(x, 3, 1), np.transpose(w, (3, 2, 0, 1))],
         lambda x, w: np.moveaxis(convolution(np.moveaxis(x, 1, 3), np.transpose(w, (2, 3, 1, 0)), padding=(1, 1)), 3, 1))
    line = normal(2, 20, 6)
    case("x: Tensor[B, 20, 6, f32], w: Tensor[4, 6, 5, f32]", "conv1d(x, w, stride=2, padding=2)",
         [line, normal(4, 6, 5)],
         lambda x, w: convolution(x[:, None], w[None], strides=(1, 2), padding=(0, 2))[:, 0])
    case(image, "max_pool2d(x, (3, 3), strides=(2, 2), padding=(1, 1)), max_pool2d(x, (2, 2))", [x],
         lambda x: (seen(padded(x, (1, 1), -np.inf), (3, 3), (2, 2)).max((4, 5)), seen(x, (2, 2), (2, 2)).max((4, 5))))
    case(image, "avg_pool2d(x, (3, 2)), avg_pool2d(x, (3, 3), strides=(1, 1), padding=(1, 1))", [x],
         lambda x: (seen(x, (3, 2), (3, 2)).mean((4, 5)), seen(padded(x, (1, 1)), (3, 3), (1, 1)).mean((4, 5))))

    def adaptive(x, size):
        for axis, count in zip((1, 2), size):
            extent = x.shape[axis]
            x = np.stack([np.take(x, range(i * extent // count, -(-(i + 1) * extent // count)), axis).mean(axis)
                          for i in range(count)], axis)
        return x

    case(image, "adaptive_avg_pool2d(x, (1, 1)), adaptive_avg_pool2d(x, (4, 3))", [x],
         lambda x: (adaptive(x, (1, 1)), adaptive(x, (4, 3))))


def orders():
    x = RNG.integers(0, 300, (7, 1000)).astype(np.float32)
    x[3, 500:502] = np.nan
    x[4] = -np.inf
    order = np.argsort(-np.where(np.isnan(x), np.inf, x), axis=1, kind="stable")[:, :5]
    case("x: Tensor[B, 1000, f32]", "topk(x, 5)", [x], lambda x: (np.take_along_axis(x, order, 1), order), 0)
    rows = "x: Tensor[B, N, f32]"
    for n in (1, 7, 50, 130):
        x = RNG.integers(0, 30, (6, n)).astype(np.float32)
        x[0, n // 2] = x[0, 0] = np.nan
        case(rows, "sort(x), argsort(x)", [x], lambda x: (np.sort(x, 1), np.argsort(x, 1, kind="stable")), 0)
        case(rows, "rank(x, dtype=i32)", [x], lambda x: np.argsort(np.argsort(x, 1, kind="stable"), 1), 0)
    at = np.array([3, 0, 3, 9, -1, 3, 2], np.int32)
    added = normal(7, 3, 5)

    def scattered(x, at, u):
        x = x.copy()
        inside = (at >= 0) & (at < len(x))
        np.add.at(x, at[inside], u[inside])
        return x

    case("x: Tensor[V, 3, D, f32], i: Tensor[N, i32], u: Tensor[N, 3, D, f32]", "scatter_add(x, i, u)",
         [normal(6, 3, 5), at, added], scattered)


def scans():
    x = normal(5, 6, 70)
    three = "x: Tensor[A, B, C, f32]"
    for axis in (0, 1, 2, -1):
        case(three, f"cumsum(x, axis={axis})", [x], lambda x, axis=axis: np.cumsum(x, axis))
    case(three, "cumsum(x, exclusive=True), cumsum(x, reverse=True)", [x],
         lambda x: (np.cumsum(x, 2) - x, np.cumsum(x[..., ::-1], 2)[..., ::-1]))
    case(three, "cummax(x), cummin(x, axis=0, reverse=True)", [x],
         lambda x: (np.maximum.accumulate(x, 2), np.minimum.accumulate(x[::-1], 0)[::-1]), 0)
    case("x: Tensor[B, 9, f32]", "cumprod(x)", [normal(4, 9)], lambda x: np.cumprod(x, 1))
    case("x: Tensor[B, N, i32]", "cumsum(x)", [RNG.integers(-9, 9, (3, 1000)).astype(np.int32)],
         lambda x: np.cumsum(x, 1), 0)


def quantised():
    x = normal(6, 40) * 3
    x[2] = 0

    def rows(x):
        scale = np.where(np.abs(x).max(1, keepdims=True) == 0, 1, np.abs(x).max(1, keepdims=True) / np.float32(127))
        return np.round(x / scale) * scale

    case("x: Tensor[B, N, f32]", "dequantize(quantize(x, axis=-1)[0], quantize(x, axis=-1)[1])", [x], rows, 1e-5)
    a, b = (RNG.integers(-128, 128, shape).astype(np.int8) for shape in ((5, 300), (300, 7)))
    row, column = np.abs(normal(5, 1)), np.abs(normal(7))
    case("a: Tensor[M, K, i8], b: Tensor[K, N, i8], r: Tensor[M, 1, f32], c: Tensor[N, f32]",
         "matmul_scaled(a, b, r, c)", [a, b, row, column],
         lambda a, b, r, c: (a.astype(int) @ b.astype(int)) * r * c, 1e-6)
    case("x: Tensor[M, K, f32], q: Tensor[K, N, i8], c: Tensor[N, f32]", "matmul_weights(x, q, c)",
         [normal(5, 300), b, column], lambda x, q, c: x @ (q * c))
    q = RNG.integers(-8, 8, (10, 6)).astype(np.int8)
    case("q: Tensor[10, N, i8]", "unpack_int4(pack_int4(q)), pack_int4(q)", [q],
         lambda q: (q, ((q[::2] & 15) | ((q[1::2] & 15) << 4)).astype(np.uint8)), 0)
    q = RNG.integers(-8, 8, (64, 50)).astype(np.int8)
    packed = ((q[::2] & 15) | ((q[1::2] & 15) << 4)).astype(np.uint8)
    case("x: Tensor[A, B, 64, f32], p: Tensor[32, N, u8], c: Tensor[N, f32]", "matmul_int4(x, p, c)",
         [normal(2, 5, 64), packed, np.abs(normal(50))], lambda x, p, c: x @ (q * c))
    x, gate, up = normal(9, 64), normal(64, 50) / 8, normal(64, 50) / 8
    three = "x: Tensor[M, K, f32], g: Tensor[K, N, f32], u: Tensor[K, N, f32]"
    case(three, "matmul_gated(x, g, u), matmul_gated(x, g, u, activation=\"gelu\") + 1.0", [x, gate, up],
         lambda x, g, u: (x @ g * sigmoid(x @ g) * (x @ u), gelu(x @ g) * (x @ u) + 1))
    big = np.array([[1e9, -1e9, 500, -70000, np.inf, -np.inf, 447, 3]], np.float32)
    small = lambda x: np.clip(np.trunc(x), -8, 7)
    wrapped = lambda x: (x.astype(int) + 8) % 16 - 8
    x, y, w = normal(6, 40) * 9, normal(6, 40) * 9, normal(40, 5) * 9
    case("x: Tensor[B, 40, f32], y: Tensor[B, 40, f32], w: Tensor[40, N, f32]",
         "cast(cast(x, i4) * cast(y, i4) - cast(x, i4), i32), "
         "cast(x, i4) @ cast(w, i4), cast(sum(cast(x, i4), axis=1), f32)",
         [x, y, w], lambda x, y, w: (wrapped(small(x) * small(y) - small(x)), small(x) @ small(w),
                                     wrapped(small(x).sum(axis=1))), 0)
    case("x: Tensor[B, N, f32]", "cast(quantize(x, dtype=i4, axis=-1)[0], i32)", [x],
         lambda x: np.round(x / np.where(np.abs(x).max(1, keepdims=True) == 0, 1,
                                         (np.abs(x).max(1, keepdims=True) / 7).astype(np.float32))), 0)
    case("x: Tensor[8, N, f32]", "unpack_int4(pack_int4(cast(x, i4)))", [y.reshape(8, -1)], small, 0)
    case("x: Tensor[B, 8, f32]", "cast(cast(x, f8e4m3 @saturate), f32), cast(cast(x, f16 @saturate), f32)", [big],
         lambda x: (np.where(np.abs(x) < 448, np.array([[0] * 6 + [448, 3]]), np.clip(x, -448, 448)),
                    np.clip(x, -65504, 65504)), 0)


def chance():
    """Rounding and dropping by chance: what each element can become, and the mean."""
    base = np.repeat(np.array([1.001, -2.7, 0.3, 1e-3]), 4000)
    case("x: Tensor[16000, f32]", "meanof(cast(stochastic_round(x, bf16), f32))", [base.astype(np.float32)],
         lambda x: x.reshape(4, -1).mean(1), 2e-4)
    case("x: Tensor[16000, f32]", "meanof(typed(x))", [base.astype(np.float32)], lambda x: x.reshape(4, -1).mean(1), 2e-4)
    case("x: Tensor[16000, f32]", "meanof(dropout(x, 0.25)), meanof(residual(x, x, dropout=0.5))", [base.astype(np.float32)],
         lambda x: (x.reshape(4, -1).mean(1), 2 * x.reshape(4, -1).mean(1)), 5e-2)


def write(folder):
    text = HEADER
    for number, (signature, body, _, results, _) in enumerate(CASES):
        names = ", ".join(f"r{i}" for i in range(len(results)))
        parameters, _, condition = signature.partition(" where ")
        head = f"def case{number}({parameters})" + (f" where {condition}" if condition else "")
        text += f"\n@jit\n{head}:\n    {names} = {body}\n    return {names}\n"
    (folder / "ops.tsr").write_text(text)


def check(folder, number, mode, target):
    signature, body, inputs, results, tolerance = CASES[number]
    names = [part.split(":")[0].strip() for part in signature.split(", ") if ":" in part]
    command = [BIN / "tsr", "run", folder / "ops.bundle", f"case{number}"]
    for name, value in zip(names, inputs):
        np.save(folder / f"{name}.npy", value)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    for i in range(len(results)):
        command += ["--output", f"r{i}={folder}/r{i}.npy"]
    run(*command, *mode, env=dict(os.environ, TSR_POISON="1", **({"TSR_TARGET": target} if target else {})))
    for i, right in enumerate(results):
        got = np.load(folder / f"r{i}.npy")
        about = (body, signature, mode, target)
        assert got.shape == right.shape, (about, got.shape, right.shape)
        finite = np.isfinite(right)
        assert np.array_equal(got[~finite], right[~finite], equal_nan=True), (about, got, right)
        scale = np.max(np.abs(right[finite]), initial=0)
        error = np.max(np.abs(got[finite].astype(np.float64) - right[finite]), initial=0)
        assert error <= tolerance * scale, (about, error, scale, got, right)


def main():
    for add in (norms, activations, losses, heads, indexing, subscripts, products, images, orders, scans, quantised, chance):
        add()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder)
        run(BIN / "tesserac", folder / "ops.tsr", "-o", folder / "ops.bundle")
        for number in range(len(CASES)):
            for mode, target in (((), "cpu:x86-64-v3"), ((), ""), (("--interpret", "exact"), "")):
                check(folder, number, mode, target)


if __name__ == "__main__":
    main()
