// What helps say, done: each compiles.

#include <catch2/catch.hpp>

#include "unit/frontend/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

/// The diagnostics of a source text; empty when it compiles.
std::string refused(const std::string& text) {
  Fixture fixture;
  std::string graph = fixture.compile(text);
  return fixture.diagnostics.has_errors() ? graph : "";
}

}  // namespace

// Those of tests/diagnostics/shape_fixes_calls.tsr and shape_fixes_norms.tsr.
TEST_CASE("changes that make shapes fit compile") {
  CHECK(refused(R"(
from tessera.nn import batch_norm, layernorm

@jit
def of_einsum(x: Tensor[S, 2048, f32], w: Tensor[4096, 2048, f32]):
    return einsum("sd,de->se", x, w.T), einsum("sd,de->se", x, w.T)

@jit
def of_batches(x: Tensor[B, S, D, f32], w: Tensor[E, D, f32]):
    return einsum("...d,de->...e", x, w.T)

@jit
def elementwise(x: Tensor[S, 2048, f32], g: Tensor[S, f32]):
    y = minimum(x, mean(x, axis=1, keepdims=True))
    return where(x > 0.0, x, g[:, None]), maximum(x, g[:, None]), pow(x, g[:, None]), y

@jit
def of_condition(x: Tensor[S, 2048, f32], c: Tensor[2048, f32]):
    return where((c > 0.0)[:, None], x.T, x.T * 2.0)

@jit
def matmuls(x: Tensor[B, S, 2048, f32], w: Tensor[1024, 2048, f32], y: Tensor[1024, S, f32]):
    return matmul(x, w.T), matmul(w.T, y)

@jit
def attention(q: Tensor[B, H, S, 64, f32], k: Tensor[B, H, 64, S, f32], v: Tensor[B, H, S, 64, f32]):
    return flash_attention(q, k.T, v)

@jit
def attention_of_rows(q: Tensor[B, 8, S, 64, f32], k: Tensor[B, 8, S, 64, f32], v: Tensor[S, 8, B, 64, f32]):
    return flash_attention(q, k, transpose(v, 2, 1, 0, 3))

@jit
def losses(x: Tensor[B, 2048, S, f32], t: Tensor[B, S, i32], y: Tensor[B, 1, 10, f32], one: Tensor[B, i32]):
    return cross_entropy(x.T, t), cross_entropy(y, one[:, None])

@jit
def appended(k: Tensor[B, 1, H, 64, f32], cache: KVCache["B", "H", 128, 64, f32]):
    return cache.append(transpose(k, 0, 2, 1, 3), transpose(k, 0, 2, 1, 3))

@jit
def appended_position(k: Tensor[B, H, 64, f32], cache: KVCache["B", "H", 128, 64, f32]):
    return cache.append(k[:, :, None], k[:, :, None])

@jit
def norms(x: Tensor[S, 2048, f32], g: Tensor[S, f32], b: Tensor[S, f32]):
    return layernorm(x.T, g, b), rmsnorm(x.T, g)

@jit
def norms_of_batches(x: Tensor[B, C, 2048, f32], g: Tensor[C, f32]):
    return batch_norm(x, scale=g, bias=g, axis=1), layernorm(x.T, g)

@jit
def repeated(g: Tensor[S, f32]):
    return broadcast_to(g[:, None], (S, 2048))
)") == "");
}

// Those of tests/diagnostics/filled_in_loops.tsr.
TEST_CASE("what loops do in the place of lists and dicts that grow compiles") {
  CHECK(refused(R"(
@jit
def tuples(x: Tensor[B, 8, f32]):
    outs = zeros((B, 8), f32)
    for i in range(B):
        outs = where((arange(B, i64) == i)[:, None], x[i], outs)
    return outs

@jit
def in_while(x: Tensor[B, 8, f32]):
    out = zeros((64, B, 8), f32)
    count = full((), 0, i64)
    s = sum(x)
    while s < 3.0:
        s = s + 1.0
        out = where((arange(64, i64) == count)[:, None, None], x * 2.0, out)
        count = count + 1
    return s, out

@jit
def of_number(x: Tensor[B, 8, f32], n: Tensor[i64]):
    out = zeros((64,), f32)
    for k in range(n):
        out = where(arange(64, i64) == k, sum(x), out)
    return out

@jit
def of_scalars(x: Tensor[B, 8, f32]):
    ys, indices = zeros((B,), f32), zeros((B,), i64)
    for row in range(1, B):
        ys = where(arange(B, i64) == row, sum(x[row]), ys)
        indices = where(arange(B, i64) == row, row, indices)
    return ys, indices

@jit
def fewer(x: Tensor[B, 8, f32]) where B > 0:
    ys = zeros((B - 1, 8), f32)
    for i in range(B - 1):
        ys = where((arange(B - 1, i64) == i)[:, None], x[i] * 2.0, ys)
    return ys

@jit
def entries(x: Tensor[B, 8, f32]):
    d = {"a": x, "b": x}
    d = {"c": x, "a": d["a"], "b": d["b"]}
    value = d["a"]
    for i in range(B):
        value = value + 1.0
    pair = [d["a"], d["b"]]
    for i in range(B):
        pair = [pair[1], pair[0] + 1.0]
    return value, pair[0]

@jit
def of_constants(x: Tensor[B, 8, f32]):
    pair, flag = (full((), 1, i64), full((), 2.0, f32)), full((), False, bool)
    for i in range(B):
        pair = (pair[0] + 1, pair[1] * 2.0)
        flag = full((), True, bool)
    ys = zeros((B, 8), f32)
    for i in range(B):
        ys = x
    return pair[0], pair[1], flag, ys

def halves(x):
    parts = []
    parts = parts + [x]
    return parts[0]

@jit
def within(x: Tensor[B, 8, f32]):
    y = x
    for i in range(B):
        own = []
        own = own + [x]
        y = halves(own[0])
    return y
)") == "");
}
