#!/usr/bin/env python3
"""Functions of tessera.nn and ops of the language, compiled and interpreted, beside NumPy.

Usage: ops_test.py BUILD_DIR
"""
import os
import pathlib
import re
import tempfile

import numpy as np

from image_cases import images, numbers_for_all_axes, volumes
from op_cases import CASES, OTHERS, RNG, case, erf, gelu, loaded, normal, on_host, sigmoid
from tools import BIN, run

HEADER = """
from tessera.nn import (
    layernorm, layernorm_safe, batch_norm, swiglu, geglu, reglu, gelu_exact, quick_gelu, softplus, mish, elu,
    leaky_relu, clamp, hard_sigmoid, hard_swish, dropout, residual, logsumexp, logaddexp, log_softmax,
    cross_entropy_mean, cross_entropy_smoothed, soft_cross_entropy, binary_cross_entropy, mse, avg, split_heads,
    merge_heads, split_qkv, repeat_heads, rotary_angles, rotary, one_hot, argmax, argmin, gather, take, pad, conv2d,
    conv2d_nchw, conv1d, max_pool2d, avg_pool2d, adaptive_avg_pool2d, stochastic_round, topk, rank, argsort, sort,
    scatter_add, quantize, dequantize, matmul_scaled, matmul_weights, matmul_int4, pack_int4, unpack_int4,
    matmul_gated, cumsum, cumprod, cummax, cummin, batch_statistics, group_norm, instance_norm, var, std, flip, part,
    split, chunk, stack, tril, triu, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose2d_nchw,
    conv_transpose3d, max_pool1d, max_pool2d_nchw, max_pool3d, avg_pool1d, avg_pool2d_nchw, avg_pool3d,
    adaptive_avg_pool1d, adaptive_avg_pool2d_nchw, adaptive_avg_pool3d,
)

def meanof(x: Tensor[N, f32]):
    return mean(reshape(x, (4, N // 4)), axis=1)

def typed(x: Tensor[N, f32]):
    y: Tensor[N, f16 @stochastic_round] = cast(x, f16 @stochastic_round)
    return cast(y, f32)
"""

CASES_OF_A_BUNDLE = 24


def norms():
    def layer(x, g, b):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * g + b

    for rows, columns in ((3, 768), (1, 1), (5, 33)):
        x = normal(2, rows, columns) * 3 + 2
        case(f"x: Tensor[B, S, {columns}, f32], g: Tensor[{columns}, f32], b: Tensor[{columns}, f32]",
             "layernorm(x, g, b)", [x, normal(columns), normal(columns)], layer, units=2)
    case("x: Tensor[B, N, f32]", "layernorm(x)", [normal(4, 100)], lambda x: layer(x, 1, 0))
    case("x: Tensor[B, N, f32], g: Tensor[N, f32]", "layernorm_safe(x, g)", [normal(4, 17) + 1000, normal(17)],
         lambda x, g: layer(x, g, 0), 1e-3)
    x, mean, variance, scale, bias = normal(2, 6, 5, 7), normal(6), normal(6)**2, normal(6), normal(6)
    for axis in (1, -3):
        case("x: Tensor[B, 6, H, W, f32], m: Tensor[6, f32], v: Tensor[6, f32], g: Tensor[6, f32], b: Tensor[6, f32]",
             f"batch_norm(x, m, v, g, b, axis={axis})", [x, mean, variance, scale, bias],
             lambda x, m, v, g, b: (x - m[:, None, None]) / np.sqrt(v[:, None, None] + 1e-5) * g[:, None, None]
             + b[:, None, None], units=2)
    case("x: Tensor[B, H, W, 6, f32], m: Tensor[6, f32], v: Tensor[6, f32]", "relu(batch_norm(x, m, v, eps=0.1))",
         [normal(2, 5, 7, 6), mean, variance], lambda x, m, v: np.maximum((x - m) / np.sqrt(v + 0.1), 0))


def activations():
    x, y = normal(3, 40) * 3, normal(3, 40)
    two = "x: Tensor[B, N, f32], y: Tensor[B, N, f32]"
    one = "x: Tensor[B, N, f32]"
    case(two, "swiglu(x, y)", [x, y], lambda x, y: x * sigmoid(x) * y, units=2)
    case(two, "geglu(x, y)", [x, y], lambda x, y: gelu(x) * y, units=4)
    case(two, "reglu(x, y)", [x, y], lambda x, y: np.maximum(x, 0) * y, units=2)
    case(one, "gelu_exact(x)", [x], lambda x: x / 2 * (1 + erf(x / np.sqrt(2))), units=2)
    case(one, "quick_gelu(x)", [x], lambda x: x * sigmoid(1.702 * x), units=2)
    case(one, "softplus(x)", [x * 50], lambda x: np.logaddexp(0, x), units=2)
    case(one, "mish(x)", [x], lambda x: x * np.tanh(np.logaddexp(0, x)), units=2)
    case(one, "elu(x, alpha=0.5)", [x], lambda x: np.where(x > 0, x, 0.5 * np.expm1(x)), units=2)
    case(one, "leaky_relu(x)", [x], lambda x: np.where(x > 0, x, 0.01 * x), units=2)
    case(one, "clamp(x, -1.0, 2.0), clamp(x, low=0.5), clamp(x, high=0.5)", [x],
         lambda x: (np.clip(x, -1, 2), np.maximum(x, 0.5), np.minimum(x, 0.5)), units=2)
    case(one, "hard_sigmoid(x), hard_swish(x)", [x],
         lambda x: (np.clip(x / 6 + 0.5, 0, 1), x * np.clip(x / 6 + 0.5, 0, 1)), units=2)


def losses():
    x = normal(5, 37) * 4
    one = "x: Tensor[B, V, f32]"
    lse = lambda x, axis: np.logaddexp.reduce(x, axis=axis)
    case(one, "logsumexp(x), logsumexp(x, axis=0, keepdims=True)", [x * 40],
         lambda x: (lse(x, 1), lse(x, 0)[None]), units=2)
    edges = np.array([[-np.inf, -np.inf], [np.inf, 0], [-np.inf, 1], [1000, 1000]], np.float32)
    case("x: Tensor[B, 2, f32]", "logsumexp(x)", [edges], lambda x: [-np.inf, np.inf, 1, 1000 + np.log(2)])
    pair = np.array([0, 1, -1e4, 1e4, np.inf, -np.inf, np.nan], np.float32)
    case("x: Tensor[N, 1, f32], y: Tensor[N, f32]", "logaddexp(x, y)", [pair[:, None], pair], np.logaddexp, units=2)
    case(one, "logaddexp(x, 1.0), logaddexp(x, x)", [x * 10],
         lambda x: (np.logaddexp(x, 1), x + np.log(2)), units=2)
    case(one, "log_softmax(x), log_softmax(x, axis=0)", [x],
         lambda x: (x - lse(x, 1)[:, None], x - lse(x, 0)[None]), units=2)
    t = np.array([3, 36, -100, 0, 12], np.int32)

    def mean_loss(x, t):
        rows = (lse(x, 1) - x[np.arange(5), np.maximum(t, 0)])[t != -100]
        return rows.sum() / max(len(rows), 1)

    both = "x: Tensor[B, V, f32], t: Tensor[B, i32]"
    case(both, "cross_entropy_mean(x, t)", [x, t], mean_loss, units=2)
    case(both, "cross_entropy(x, t)", [np.full((3, 4), -np.inf, np.float32), np.array([0, 3, 9], np.int32)],
         lambda x, t: np.array([np.inf, np.inf, np.nan]))
    case(both, "cross_entropy_mean(x, t)", [x, np.full(5, -100, np.int32)], lambda x, t: 0.0)
    t = np.maximum(t, 0)
    for dtype, name in ((np.uint8, "u8"), (np.int8, "i8"), (np.uint64, "u64")):
        case(f"x: Tensor[B, V, f32], t: Tensor[B, {name}]", "cross_entropy_mean(x, t)", [x, t.astype(dtype)], mean_loss)
    case("x: Tensor[B, V, f32], t: Tensor[B, u8]",
         "cross_entropy_mean(x, t, ignore=12), cross_entropy_mean(x[:0], t[:0])",
         [x, t.astype(np.uint8)], lambda x, t: (mean_loss(x, np.where(t == 12, -100, t.astype(np.int64))), 0.0))
    case(both, "cross_entropy_smoothed(x, t, smoothing=0.1)", [x, t],
         lambda x, t: 0.9 * (lse(x, 1) - x[np.arange(5), t]) - 0.1 * (x - lse(x, 1)[:, None]).mean(1), units=2)
    p = np.exp(normal(5, 37))
    p /= p.sum(1, keepdims=True)
    case("x: Tensor[B, V, f32], p: Tensor[B, V, f32]",
         "soft_cross_entropy(x, p), binary_cross_entropy(x, p), mse(x, p)",
         [x, p], lambda x, p: (-(p * (x - lse(x, 1)[:, None])).sum(1),
                               p * np.logaddexp(0, -x) + (1 - p) * np.logaddexp(0, x), ((x - p)**2).mean()), units=2)
    case(one, "avg(x, axis=1)", [x], lambda x: x.mean(1), units=2)


def heads():
    x = normal(2, 5, 96)
    q, k, v = (np.moveaxis(part.reshape(2, 5, -1, 12), 2, 1) for part in np.split(x.astype(float), (48, 72), -1))
    whole = "x: Tensor[B, S, 96, f32]"
    case(whole, "split_qkv(x, heads=4, groups=2)", [x], lambda x: (q, k, v))
    case(whole, "split_qkv(x, heads=4)[1]", [x], lambda x: np.moveaxis(x[..., 32:64].reshape(2, 5, 4, 8), 2, 1),
         units=0)
    case(whole, "merge_heads(split_heads(x, 8) + 1.0)", [x], lambda x: x + 1, units=1)
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
    narrow = np.array([[0, 5, 44], [255, 100, 5]])
    for dtype in (np.uint8, np.uint16, np.int64, np.uint64):
        name = f"{'u' if np.dtype(dtype).kind == 'u' else 'i'}{8 * np.dtype(dtype).itemsize}"
        case(f"ids: Tensor[B, S, {name}]", "one_hot(ids, 300)", [narrow.astype(dtype)],
             lambda ids: (narrow[..., None] == np.arange(300)).astype(float), 0)
        case(f"x: Tensor[B, V, C, f32], i: Tensor[R, S, {name}] where B >= 1",
             "gather(x, i, axis=1), gather(x[0], i), x[:, i]",
             [normal(2, 300, 3), narrow.astype(dtype)], lambda x, i: (x[:, narrow], x[0][narrow], x[:, narrow]), 0)
    case("ids: Tensor[B, i8], far: Tensor[B, u64]", "one_hot(ids, 300), one_hot(far, 9)",
         [np.array([-1, 127], np.int8), np.array([2**63 + 5, 5], np.uint64)],
         lambda ids, far: (np.eye(300)[[0, 127]] * [[0], [1]], np.eye(9)[[0, 5]] * [[0], [1]]), 0)
    x = RNG.integers(0, 5, (4, 5, 70)).astype(np.float32)  # many equal numbers
    x[1, 2, 40:42] = np.nan
    three = "x: Tensor[B, S, N, f32]"
    case(three, "argmax(x)", [x], lambda x: x.argmax(-1))
    case(three, "argmin(x, dtype=i32)", [x], lambda x: x.argmin(-1))
    case(three, "argmax(x, axis=1, keepdims=True)", [x], lambda x: x.argmax(1)[:, None])
    case(three, "argmin(x, axis=0)", [x], lambda x: x.argmin(0))
    case(three + " where N <= 127, S <= 255", "argmax(x, dtype=i8), argmin(x, axis=1, dtype=u8)", [x],
         lambda x: (x.argmax(-1), x.argmin(1)))
    case("x: Tensor[B, N, f32]", "argmax(x), argmin(x, dtype=i32)", [normal(3, 0)],
         lambda x: (np.full(3, 2**63 - 1), np.full(3, 2**31 - 1)), 0)
    # Two over one axis that has no elements, known to be so.
    case("x: Tensor[M, 0, f32]", "argmax(x), argmin(x), argmax(x, dtype=i32), max(x, axis=1)", [normal(3, 0)],
         lambda x: (np.full(3, 2**63 - 1), np.full(3, 2**63 - 1), np.full(3, 2**31 - 1), np.full(3, -np.inf)), 0)
    case("x: Tensor[M, 0, f32], y: Tensor[0, M, f32]", "argmax(x), argmax(y, axis=0)", [normal(3, 0), normal(0, 3)],
         lambda x, y: (np.full(3, 2**63 - 1), np.full(3, 2**63 - 1)), 0)
    case("x: Tensor[B, N, i32]", "argmax(x)", [RNG.integers(-9, 9, (7, 50)).astype(np.int32)], lambda x: x.argmax(-1))
    x, at = normal(4, 6, 9), np.array([[0, 3, 2], [1, 3, 0]], np.int32)
    both = "x: Tensor[A, B, C, f32], i: Tensor[R, S, i32]"
    for axis in range(-3, 3):
        case(both, f"gather(x, i, axis={axis})", [x, at], lambda x, i, axis=axis: np.take(x, i, axis=axis), 0,
             units=0 if axis == 1 else None)
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
    first, second = np.array([[0], [3], [9], [-1]], np.int64), np.array([5, 0, 6, 2, -7], np.int32)

    def picked(x, i, j):
        inside = (i >= 0) & (i < x.shape[0]) & (j >= 0) & (j < x.shape[1])
        got = x[np.clip(i, 0, x.shape[0] - 1), np.clip(j, 0, x.shape[1] - 1)]
        return np.where(inside.reshape(inside.shape + (1,) * (x.ndim - 2)), got, np.nan)

    pairs = "x: Tensor[A, B, C, f32], i: Tensor[R, 1, i64], j: Tensor[S, i32] where A >= 2"
    case(pairs, "x[i, j], x[:2, j, j], x.T[:, j, i]", [x, first, second],
         lambda x, i, j: (picked(x, i, j), np.moveaxis(picked(np.moveaxis(x[:2], 0, 2), j, j), -1, 0),
                          np.moveaxis(picked(np.moveaxis(x.transpose(0, 2, 1), 0, 2), j, i), -1, 0)), 0)
    case("x: Tensor[N, V, f32], y: Tensor[N, i64]", "x[arange(N, i64), y]", [normal(7, 11), RNG.integers(0, 11, 7)],
         lambda x, y: x[np.arange(7), y], 0)


def products():
    a, b, c = normal(3, 4, 5), normal(3, 5, 6), normal(6, 7)
    three = "a: Tensor[3, 4, 5, f32], b: Tensor[3, 5, 6, f32], c: Tensor[6, N, f32]"
    for spec in ("bij,bjk->bik", "bij,bjk->kib", "bij,bjk", "bij,bjk->b", "bij,bjk->ijk", "bij,cjk->bcik"):
        case(three, f'einsum("{spec}", a, b)', [a, b, c], lambda a, b, c, spec=spec: np.einsum(spec, a, b),
             units=2 if spec in ("bij,bjk->kib", "bij,bjk->b") else None)
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
    case("x: Tensor[4, 5, i8], y: Tensor[N, 5, i8]", 'einsum("ik,jk->ij", x, y)', [i, i], lambda x,
         y: x.astype(int) @ y.T)


def parts():
    """Tensors taken apart, put together and in reverse order."""
    x = normal(3, 8, 5)
    three = "x: Tensor[A, 8, C, f32]"
    case(three, "split(x, (3, 0, 5), axis=1)", [x], lambda x: (x[:, :3], x[:, 3:3], x[:, 3:]), 0)
    case(three, "chunk(x, 3, axis=-2)", [x], lambda x: (x[:, :3], x[:, 3:6], x[:, 6:]), 0)
    case(three, "chunk(x, 5, 1)", [x], lambda x: (x[:, :2], x[:, 2:4], x[:, 4:6], x[:, 6:]), 0)
    case(three, "chunk(x[:, :1], 5, 1)[0]", [x], lambda x: x[:, :1], 0)
    case("x: Tensor[A, 8, C, f32], y: Tensor[A, 8, C, f32]", "stack((x, y)), stack((x, y), axis=2), stack((x, y), -1)",
         [x, x + 1], lambda x, y: (np.stack((x, y)), np.stack((x, y), 2), np.stack((x, y), -1)), 0)
    case("x: Tensor[A, B, C, f32] where B % 4 == 0", "chunk(x, 4, 1)", [x], lambda x: tuple(np.split(x, 4, 1)), 0)
    case("x: Tensor[A, B, C, f32] where B >= 2", "part(x, 1, B - 1, axis=1)", [x], lambda x: x[:, 1:-1], 0)
    square = normal(2, 5, 7)
    case("x: Tensor[B, M, N, f32]", "tril(x), triu(x), tril(x, -1), triu(x, 2)", [square],
         lambda x: (np.tril(x), np.triu(x), np.tril(x, -1), np.triu(x, 2)), 0)
    case("x: Tensor[B, M, N, i8]", "tril(x), triu(x, -3)", [RNG.integers(-9, 9, (2, 5, 7)).astype(np.int8)],
         lambda x: (np.tril(x), np.triu(x, -3)), 0)
    case("x: Tensor[M, 7, bool], i: Tensor[R, i32]", "tril(x), triu(x, 1), x[::-1], flip(x, 1), x[:, i], x[i, i]",
         [RNG.integers(0, 2, (5, 7)).astype(bool), np.array([4, 0, 9, -1], np.int32)],
         lambda x, i: (np.tril(x), np.triu(x, 1), x[::-1], x[:, ::-1],
                       np.stack([x[:, 4], x[:, 0], x[:, 0] & False, x[:, 0] & False], 1),
                       np.array([x[4, 4], x[0, 0], False, False])), 0)
    case("x: Tensor[A, 8, C, f32]", "flip(x, 0), flip(x, 1), flip(flip(x, -1), 1)", [x],
         lambda x: (x[::-1], x[:, ::-1], x[:, ::-1, ::-1]), 0, units=0)
    case("x: Tensor[A, 8, C, f32] where A >= 2",
         "x[::-1], x[:, ::-3], x[:, 6:1:-2], x[1, -2::-1, None], x[:0:-1, 3:3:-1]",
         [x], lambda x: (x[::-1], x[:, ::-3], x[:, 6:1:-2], x[1, -2::-1, None], x[:0:-1, 3:3:-1]), 0)
    case("x: Tensor[N, f32], i: Tensor[R, i64]", "x[::-1], x[::-2], x[::-1][i]", [normal(0), np.arange(2)],
         lambda x, i: (x, x, np.full(2, np.nan)), 0)


def statistics():
    x = normal(4, 6, 5) * 3 + 2
    three = "x: Tensor[A, B, C, f32]"
    case(three, "var(x), var(x, axis=1), var(x, axis=(0, -1), keepdims=True), var(x, axis=1, correction=0)", [x],
         lambda x: (x.var(ddof=1), x.var(1, ddof=1), x.var((0, 2), ddof=1, keepdims=True), x.var(1)), units=4)
    case(three, "std(x), std(x, axis=[0, 1], correction=0)", [x], lambda x: (x.std(ddof=1), x.std((0, 1))), units=2)
    case("x: Tensor[A, 1, f32]", "var(x, axis=1), std(x, axis=1, correction=0)", [normal(3, 1)],
         lambda x: (np.full(3, np.nan), np.zeros(3)))
    # With no more elements than the correction the divisor is 0, also where their number is known at the call.
    few = np.array([[1, 2], [3, 3]], np.float32)
    for sizes in ("2, 2", "A, B"):
        case(f"x: Tensor[{sizes}, f32]",
             "var(x, axis=1, correction=3), std(x, axis=1, correction=2), var(x, correction=9), "
             "var(x, axis=1)", [few],
             lambda x: (np.array([np.inf, np.nan]), np.array([np.inf, np.nan]), np.array(np.inf), x.var(1, ddof=1)))
    case("x: Tensor[A, B, f32]", "var(x, axis=1), std(x, axis=1, correction=5)", [normal(3, 0)],
         lambda x: (np.full(3, np.nan), np.full(3, np.nan)))

    def normalised(x, axes, scale=1, bias=0):
        return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5) * scale + bias

    image, scale, bias = normal(2, 5, 4, 6) * 3 + 1, normal(6), normal(6)
    signature = "x: Tensor[B, H, W, 6, f32], g: Tensor[6, f32], b: Tensor[6, f32]"
    groups = lambda x, n: normalised(x.reshape(*x.shape[:-1], n, -1), (1, 2, 4)).reshape(x.shape)
    case(signature, "group_norm(x, 3, g, b), group_norm(x, 6), group_norm(x, 1)", [image, scale, bias],
         lambda x, g, b: (groups(x, 3) * g + b, groups(x, 6), groups(x, 1)), units=4)
    case(signature, "instance_norm(x, g, b), batch_norm(x, scale=g, bias=b)", [image, scale, bias],
         lambda x, g, b: (normalised(x, (1, 2), g, b), normalised(x, (0, 1, 2), g, b)), units=4)
    case(signature, "batch_statistics(x)", [image, scale, bias], lambda x, g, b: (x.mean((0, 1, 2)), x.var((0, 1, 2))),
         units=2)
    first = lambda x: np.moveaxis(x, 3, 1)
    case("x: Tensor[B, 6, H, W, f32], g: Tensor[6, f32]",
         "group_norm(x, 2, g, axis=1), instance_norm(x, axis=1), batch_norm(x, scale=g, axis=1)",
         [first(image), scale], lambda x, g: (first(groups(image.astype(float), 2) * g), normalised(x, (2, 3)),
                                              normalised(x, (0, 2, 3), g[:, None, None])))


def greatest(x, count):
    """The greatest elements of rows and where they are: NaN first, and of equal ones the first."""
    down = ~x if x.dtype == bool else -(x.astype(object) if x.dtype.kind in "iu" else x)  # object: of all integers
    order = np.argsort(down, axis=-1, kind="stable")
    lost = np.take_along_axis(x != x, order, -1)
    order = np.take_along_axis(order, np.argsort(~lost, axis=-1, kind="stable"), -1)[..., :count]
    return np.take_along_axis(x, order, -1), order


def ordered(x, count):
    order = np.argsort(x, -1, kind="stable")
    return (np.sort(x, -1, kind="stable"), order, np.argsort(order, -1, kind="stable"), *greatest(x, count))


def orders():
    of = lambda count: lambda x: ordered(x, count)
    rows, special = "x: Tensor[B, N, f32]", [np.nan, np.inf, -np.inf, 0.0, -0.0]
    everything = "sort(x), argsort(x), rank(x, dtype=i32), topk(x, {0})[0], topk(x, {0})[1]".format
    for shape, count in (((6, 1), 1), ((1, 2), 1), ((3, 9), 9), ((4, 50), 9), ((6, 130), 9), ((2, 1000), 9),
                         ((33, 32), 9), ((9, 128), 9), ((5, 300), 9), ((2, 1025), 9), ((2, 2049), 9), ((1, 9001), 300),
                         ((0, 9), 9)):
        x = RNG.integers(-3, 30, shape).astype(np.float32)
        x[..., ::3] = RNG.choice(np.array(special, np.float32), x[..., ::3].shape)
        case(f"{rows} where N >= {count}", everything(count), [x], of(count), 0)
    x = RNG.choice(np.array(special, np.float32), (3, 600))
    # More than are looked for one by one; a size that is known; signs of zeros, which are the elements' own.
    case("x: Tensor[B, 600, f32]", everything(257), [x], of(257), 0)
    case("x: Tensor[600, f32]", everything(600), [x[0]], of(600), 0)
    # Several parts, the last of which has fewer elements than are looked for, or none that is not the least number.
    for size in (4096, 4099, 9000):
        x = RNG.choice(np.array(special, np.float32), (2, size))
        x[1] = -np.inf
        x[1, -2:] = 1, np.nan
        case(f"{rows} where N >= 9", "topk(x, 9)[0], topk(x, 9)[1], topk(x, 4, dtype=i32)[1]", [x],
             lambda x: (*greatest(x, 9), greatest(x, 4)[1]), 0)
    case("x: Tensor[2, 9000, f32]", "topk(x, 9)", [x], lambda x: greatest(x, 9), 0)
    # Parts whose greatest are looked through in parts again; blocks that are sorted, of which the last is short.
    for size, count in ((300000, 9), (9000, 40), (6145, 512), (9000, 1024)):
        x = RNG.choice(np.array([*special, 1.0, -7.0], np.float32), (2, size))
        x[1], x[1, :5] = -np.inf, (0.0, -0.0, np.nan, 3.0, np.nan)
        on_host(f"{rows} where N >= {count}", f"topk(x, {count})", [x], lambda x, count=count: greatest(x, count), 0)
    case(f"{rows} where N >= 9", "sum(where(1.0 / sort(x) > 0.0, 1.0, 0.0), axis=1), 1.0 / topk(x, 9)[0]",
         [np.array([[0.0, -0.0] * 8, [-0.0, 0.0, 0.0, 0.0] * 4], np.float32)],
         lambda x: ((1 / x > 0).sum(1), 1 / greatest(x, 9)[0]), 0)
    case(rows, "sort(x), argsort(x), rank(x)", [normal(3, 0)], lambda x: ordered(x, 0)[:3], 0)
    case("x: Tensor[A, B, N, f32] where N >= 3", everything(3), [normal(2, 3, 17)], of(3), 0)
    x = RNG.integers(-8, 9, (3, 77)).astype(np.float32)
    x[:, ::4] = RNG.choice(np.array(special[:1] + special[3:], np.float32), x[:, ::4].shape)
    for dtype in ("f64", "bf16", "f16", "f8e4m3", "f8e5m2"):
        text = everything(9).replace("(x", f"(cast(x, {dtype})")
        text = text.replace("sort(cast", "cast(sort(cast", 1).replace("))", ")), f32)", 1)
        add = case if dtype == "bf16" else on_host
        add(f"{rows} where N >= 9", re.sub(r"(topk\(cast\(x, \w+\), 9\)\[0\])", r"cast(\1, f32)", text), [x], of(9), 0)
    for dtype in (np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8):
        limits = np.iinfo(dtype)
        name = f"{'u' if limits.min == 0 else 'i'}{limits.bits}"
        x = RNG.integers(limits.min, limits.max, (3, 77), dtype=dtype, endpoint=True)
        x[:, ::2] = RNG.choice(np.array([limits.min, limits.max, 1], dtype), x[:, ::2].shape)
        add = case if name in ("i64", "u8") else on_host
        add(f"x: Tensor[B, N, {name}] where N >= 9", everything(9), [x], of(9), 0)
    # Runs that are merged: of a length that is known, all equal, in order and from the end.
    for dtype, name in ((np.uint64, "u64"), (np.int64, "i64"), (np.int16, "i16"), (np.float64, "f64")):
        rising = np.arange(4500)
        many = np.stack([rising, rising[::-1], np.full(4500, 7), RNG.integers(0, 90, 4500)]).astype(dtype)
        many[3, ::7] = np.nan if name == "f64" else np.iinfo(dtype).max
        on_host(f"x: Tensor[B, 4500, {name}]", "sort(x), argsort(x)", [many], lambda x: ordered(x, 0)[:2], 0)
    case("x: Tensor[B, 77, u8]", "argsort(x, dtype=i8), rank(x, dtype=u8), topk(x, 70, dtype=f32)[1]", [x],
         lambda x: (*ordered(x, 0)[1:3], greatest(x, 70)[1]), 0)
    on_host("x: Tensor[B, N, bool] where N >= 9", everything(9), [RNG.integers(0, 2, (3, 77)).astype(bool)], of(9), 0)
    on_host("x: Tensor[B, N, i8] where N >= 9",
            "cast(sort(cast(x, i4)), i8), argsort(cast(x, i4)), rank(cast(x, i4)), cast(topk(cast(x, i4), 9)[0], i8), "
            "topk(cast(x, i4), 9)[1]", [RNG.integers(-8, 8, (3, 77)).astype(np.int8)], of(9), 0)
    at = np.array([3, 0, 3, 9, -1, 3, 2], np.int32)
    added = normal(7, 3, 5)

    def scattered(x, at, u):
        x = x.copy()
        inside = (at >= 0) & (at < len(x))
        np.add.at(x, at[inside], u[inside])
        return x

    case("x: Tensor[V, 3, D, f32], i: Tensor[N, i32], u: Tensor[N, 3, D, f32]", "scatter_add(x, i, u)",
         [normal(6, 3, 5), at, added], scattered)
    case("x: Tensor[300, 2, f32], i: Tensor[N, u8], u: Tensor[N, 2, f32]", "scatter_add(x, i, u)",
         [normal(300, 2), np.array([5, 100, 255, 5, 44], np.uint8), normal(5, 2)], scattered)
    case("x: Tensor[9, 2, f32], i: Tensor[N, u64], u: Tensor[N, 2, f32]", "scatter_add(x, i, u)",
         [normal(9, 2), np.array([5, 2**63 + 5], np.uint64), normal(2, 2)], scattered)
    for rows, count, width in ((1, 1, 1), (5, 0, 3), (0, 4, 3), (4, 3, 0), (3, 400, 130), (300, 33, 2), (70, 2500, 5),
                               (9, 5000, 3), (260, 33, 100), (90, 44, 128)):
        at = RNG.integers(-2, rows + 2, count).astype(np.int64)
        case("x: Tensor[V, D, f32], i: Tensor[N, i64], u: Tensor[N, D, f32]", "scatter_add(x, i, u)",
             [normal(rows, width), at, normal(count, width)], scattered, 1e-4)
    for at in (np.full(40, 7), np.full(40, -1), np.full(40, 300)):
        case("x: Tensor[V, D, f32], i: Tensor[N, i64], u: Tensor[N, D, f32]", "scatter_add(x, i, u)",
             [normal(300, 5), at.astype(np.int64), normal(40, 5)], scattered, 1e-4)
    # One row has nearly all updates, so that some are added in blocks; they begin and end beside one.
    for rows, many, count, width in ((40, 63, 200, 3), (40, 64, 200, 40), (40, 130, 200, 3), (9, 4700, 5000, 131)):
        at = np.sort(RNG.integers(0, rows, count))
        at[count - many - 9:count - 9] = at[count - 10]
        case("x: Tensor[V, D, f32], i: Tensor[N, i64], u: Tensor[N, D, f32]", "scatter_add(x, i, u)",
             [normal(rows, width), RNG.permutation(at).astype(np.int64), normal(count, width)], scattered, 1e-4)
    whole = RNG.integers(-9, 9, (300, 2)).astype(np.float32), RNG.integers(-9, 9, (40, 2)).astype(np.float32)
    at = RNG.integers(0, 256, 40).astype(np.uint8)
    for dtype in ("bf16", "f16", "f64", "i32", "i8"):
        case("x: Tensor[300, 2, f32], i: Tensor[40, u8], u: Tensor[40, 2, f32]",
             f"cast(scatter_add(cast(x, {dtype}), i, cast(u, {dtype})), f32)", [whole[0], at, whole[1]], scattered, 0)
    case("x: Tensor[300, 2, f32], i: Tensor[40, u8], u: Tensor[40, 2, f32]",
         "scatter_add(cast(x, bf16), i, u)", [whole[0], at, whole[1]], scattered, 0)


def scans():
    x = normal(5, 6, 70)
    three = "x: Tensor[A, B, C, f32]"
    for axis in (0, 1, 2, -1):
        case(three, f"cumsum(x, axis={axis})", [x], lambda x, axis=axis: np.cumsum(x, axis),
             units=2 if axis == 1 else None)
    case(three, "cumsum(x, exclusive=True), cumsum(x, reverse=True)", [x],
         lambda x: (np.cumsum(x, 2) - x, np.cumsum(x[..., ::-1], 2)[..., ::-1]), units=2)
    case(three, "cummax(x), cummin(x, axis=0, reverse=True)", [x],
         lambda x: (np.maximum.accumulate(x, 2), np.minimum.accumulate(x[::-1], 0)[::-1]), 0)
    case("x: Tensor[B, 9, f32]", "cumprod(x)", [normal(4, 9)], lambda x: np.cumprod(x, 1), units=2)
    case("x: Tensor[B, N, i32]", "cumsum(x)", [RNG.integers(-9, 9, (3, 1000)).astype(np.int32)],
         lambda x: np.cumsum(x, 1), 0)
    # Rows that are cut into parts: of one more and one less than so many, and with what stays once it is there.
    everything = "cumsum(x), cumsum(x, reverse=True, exclusive=True), cumprod(x), cummax(x), cummin(x, reverse=True)"
    signs = np.where(RNG.random((1, 20481)) < 0.5, 1, -1).astype(np.float32)
    zeros, lost, endless = signs.copy(), signs.copy(), signs.copy()
    zeros[0, 9000], lost[0, 9000], endless[0, [5000, 15000]] = 0, np.nan, (np.inf, np.nan)
    for x in (signs[:, :16384], signs[:, :16385], signs[:, :20479], np.repeat(signs, 65, 0)[:, :16391], zeros, lost,
              endless):
        case("x: Tensor[B, N, f32]", everything, [x],
             lambda x: (np.cumsum(x, 1), np.cumsum(np.pad(x[:, :0:-1], ((0, 0), (1, 0))), 1)[:, ::-1], np.cumprod(x, 1),
                        np.maximum.accumulate(x, 1), np.minimum.accumulate(x[:, ::-1], 1)[:, ::-1]), 0)
    case("x: Tensor[N, B, i32]", "cumsum(x, axis=0), cummax(x, axis=0)",
         [RNG.integers(-99, 99, (16390, 2)).astype(np.int32)],
         lambda x: (np.cumsum(x, 0), np.maximum.accumulate(x, 0)), 0)


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
    for rows, half, columns in ((1, 300, 17), (17, 129, 33), (16, 5, 16)):
        q = RNG.integers(-8, 8, (2 * half, columns)).astype(np.int8)
        packed = ((q[::2] & 15) | ((q[1::2] & 15) << 4)).astype(np.uint8)
        case("x: Tensor[M, 2 * K, f32], p: Tensor[K, N, u8], c: Tensor[N, f32]", "matmul_int4(x, p, c)",
             [normal(rows, 2 * half), packed, np.abs(normal(columns))], lambda x, p, c, q=q: x @ (q * c))
        case("x: Tensor[M, K, f32], q: Tensor[K, N, i8], c: Tensor[N, f32]", "matmul_weights(x, q, c)",
             [normal(rows, half), q[:half], np.abs(normal(columns))], lambda x, q, c: x @ (q * c))
    x, gate, up = normal(9, 64), normal(64, 50) / 8, normal(64, 50) / 8
    three = "x: Tensor[M, K, f32], g: Tensor[K, N, f32], u: Tensor[K, N, f32]"
    case(three, "matmul_gated(x, g, u), matmul_gated(x, g, u, activation=\"gelu\") + 1.0", [x, gate, up],
         lambda x, g, u: (x @ g * sigmoid(x @ g) * (x @ u), gelu(x @ g) * (x @ u) + 1), units=4)
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
    infinite = np.array([[np.nan, np.inf, -np.inf, 3]], np.float32)
    for dtype, greatest in (("f32", np.finfo(np.float32).max), ("bf16", 2.0**127 * (2 - 2.0**-7)), ("f16", 65504)):
        case("x: Tensor[N, 4, f32]", f"cast(cast(cast(x, {dtype}), {dtype} @saturate), f32)", [infinite],
             lambda x, greatest=greatest: np.clip(x, -greatest, greatest), 0)
    ends = [-2**63, -2**31 - 1, -70000, -129, -128, -9, -1, 0, 5, 8, 127, 128, 449, 65505, 2**31, 2**32, 2**63 - 1]
    clipped = lambda x, dtype: np.clip(x, np.iinfo(dtype).min, min(np.iinfo(dtype).max, 2**63 - 1)).astype(dtype)
    case("x: Tensor[N, i64]", "cast(x, i8 @saturate), cast(x, u8 @saturate), cast(x, u32 @saturate), "
         "cast(x, u64 @saturate), cast(cast(x, i4 @saturate), i32), cast(cast(x, f8e4m3 @saturate), f32)",
         [np.array(ends)], lambda x: (clipped(x, np.int8), clipped(x, np.uint8), clipped(x, np.uint32),
                                      clipped(x, np.uint64), np.clip(x, -8, 7),
                                      np.where(np.abs(x) == 129, -128,
                                               np.where(x == 127, 128, np.clip(x, -448, 448)))), 0)
    case("x: Tensor[N, u64]", "cast(x, i64 @saturate), cast(x, i16 @saturate)",
         [np.array([0, 7, 2**15, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)],
         lambda x: (np.minimum(x, np.uint64(2**63 - 1)).astype(np.int64),
                    np.minimum(x, np.uint64(2**15 - 1)).astype(np.int16)), 0)
    case("x: Tensor[N, f32]", "cast(x, i8 @saturate), cast(x, u16 @saturate)",
         [np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 127.9, -0.5, 3], np.float32)],
         lambda x: (np.array([0, 127, -128, 127, -128, 127, 0, 3]), np.array([0, 65535, 0, 65535, 0, 127, 0, 3])), 0)


def chance():
    """Random rounding and dropping: what each element can become, and the mean."""
    base = np.repeat(np.array([1.001, -2.7, 0.3, 1e-3]), 4000)
    case("x: Tensor[16000, f32]", "meanof(cast(stochastic_round(x, bf16), f32))", [base.astype(np.float32)],
         lambda x: x.reshape(4, -1).mean(1), 2e-4)
    case("x: Tensor[16000, f32]", "meanof(typed(x))", [base.astype(np.float32)], lambda x: x.reshape(4, -1).mean(1),
         2e-4)
    case("x: Tensor[16000, f32]", "meanof(dropout(x, 0.25)), meanof(residual(x, x, dropout=0.5))",
         [base.astype(np.float32)],
         lambda x: (x.reshape(4, -1).mean(1), 2 * x.reshape(4, -1).mean(1)), 5e-2)


def entry_of(cases, signature, body):
    return next(i for i, other in enumerate(cases) if other[:2] == (signature, body))


def write(path, cases):
    """Cases of one text share an entry."""
    text, written = HEADER, set()
    for signature, body, _, results, _ in cases:
        number = entry_of(cases, signature, body)
        if number in written:
            continue
        written.add(number)
        names = ", ".join(f"r{i}" for i in range(len(results)))
        parameters, _, condition = signature.partition(" where ")
        head = f"def case{number}({parameters})" + (f" where {condition}" if condition else "")
        text += f"\n@jit\n{head}:\n    {names} = {body}\n    return {names}\n"
    path.write_text(text)


def check(folder, cases, number, mode, target):
    signature, body, inputs, results, tolerance = cases[number]
    names = [part.split(":")[0].strip() for part in signature.split(", ") if ":" in part]
    command = [BIN / "tsr", "run", folder / "ops.bundle", f"case{entry_of(cases, signature, body)}"]
    for name, value in zip(names, inputs):
        np.save(folder / f"{name}.npy", value)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    for i in range(len(results)):
        command += ["--output", f"r{i}={folder}/r{i}.npy"]
    run(*command, *mode, env=dict(os.environ, TSR_POISON="1", **({"TSR_TARGET": target} if target else {})))
    for i, right in enumerate(results):
        got = loaded(np.load(folder / f"r{i}.npy"))
        about = (body, signature, mode, target)
        assert got.shape == right.shape, (about, got.shape, right.shape)
        finite = np.isfinite(right)
        assert np.array_equal(got[~finite], right[~finite], equal_nan=True), (about, got, right)
        scale = np.max(np.abs(right[finite]), initial=0)
        error = np.max(np.abs(got[finite].astype(np.float64) - right[finite]), initial=0)
        assert error <= tolerance * scale, (about, error, scale, got, right)


def check_all(folder, cases, modes, *options):
    """Few cases share a bundle: each run reads the whole of one."""
    for first in range(0, len(cases), CASES_OF_A_BUNDLE):
        part = cases[first:first + CASES_OF_A_BUNDLE]
        write(folder / "ops.tsr", part)
        run(BIN / "tesserac", folder / "ops.tsr", "-o", folder / "ops.bundle", *options)
        for number in range(len(part)):
            for mode, target in modes:
                check(folder, part, number, mode, target)


def main():
    parts_of_test = (norms, activations, losses, heads, indexing, subscripts, products, images, volumes, parts,
                     statistics, orders, scans, quantised, chance, numbers_for_all_axes)
    for number, add in enumerate(parts_of_test):  # a case more in one leaves the numbers of the others
        RNG.bit_generator.state = np.random.default_rng([11, number]).bit_generator.state
        add()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_all(folder, CASES, (((), "cpu:x86-64-v3"), ((), ""), (("--interpret", "exact"), "")))
        check_all(folder, OTHERS, (((), ""),), "--target=host")


if __name__ == "__main__":
    main()
