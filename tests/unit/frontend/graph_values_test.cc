// The values of expressions on tensors, by the interpreter.

#include "unit/frontend/evaluate_graph.h"

using namespace tessera;
using namespace tessera::frontend;

TEST_CASE("subscripts select") {
  Numbers x = counting({3, 4});
  CHECK(apply("3, 4, f32", "x[1]", x) == Numbers{{4}, {4, 5, 6, 7}});
  CHECK(apply("3, 4, f32", "x[-1, -2]", x) == Numbers{{}, {10}});
  CHECK(apply("3, 4, f32", "x[:, 1:3]", x) == Numbers{{3, 2}, {1, 2, 5, 6, 9, 10}});
  CHECK(apply("3, 4, f32", "x[::2, ::3]", x) == Numbers{{2, 2}, {0, 3, 8, 11}});
  CHECK(apply("3, 4, f32", "x[..., 0]", x) == Numbers{{3}, {0, 4, 8}});
  CHECK(apply("3, 4, f32", "x[1:-1, -3:]", x) == Numbers{{1, 3}, {5, 6, 7}});
  CHECK(apply("3, 4, f32", "x[None, 0, :2]", x) == Numbers{{1, 2}, {0, 1}});
  CHECK(apply("3, 4, f32", "x[2, None]", x) == Numbers{{1, 4}, {8, 9, 10, 11}});
  CHECK(apply("3, 4, f32", "x[1:1]", x) == Numbers{{0, 4}, {}});
  CHECK(apply("B, 4, f32", "x[:, 1]", x) == Numbers{{3}, {1, 5, 9}});
  // An extent that is a product of differences is no less one.
  CHECK(apply("B, N, f32", "reshape(x[B // 2:], ((B - B // 2) * N,))[:, None]", x) ==
        Numbers{{8, 1}, {4, 5, 6, 7, 8, 9, 10, 11}});
}

TEST_CASE("shapes change") {
  Numbers x = counting({2, 3});
  CHECK(apply("2, 3, f32", "x.T", x) == Numbers{{3, 2}, {0, 3, 1, 4, 2, 5}});
  CHECK(apply("2, 3, f32", "transpose(x)", x) == Numbers{{3, 2}, {0, 3, 1, 4, 2, 5}});
  CHECK(apply("2, 3, f32", "transpose(x, (0, 1))", x) == x);
  CHECK(apply("1, 2, 3, f32", "transpose(x, 2, 0, 1)", counting({1, 2, 3})) ==
        Numbers{{3, 1, 2}, {0, 3, 1, 4, 2, 5}});
  CHECK(apply("2, 3, f32", "reshape(x, 3, 2)", x) == counting({3, 2}));
  CHECK(apply("2, 3, f32", "reshape(x, (-1,))", x) == counting({6}));
  CHECK(apply("B, 3, f32", "reshape(x, (3, B))", x) == counting({3, 2}));
  CHECK(apply("B, 6, f32", "reshape(x, (B, -1, 2))", counting({2, 6})) == counting({2, 3, 2}));
  CHECK(apply("3, f32", "broadcast_to(x, 2, 3)", counting({3})) ==
        Numbers{{2, 3}, {0, 1, 2, 0, 1, 2}});
  CHECK(apply("2, f32", "concat([x, x * 2.0])", counting({2})) == Numbers{{4}, {0, 1, 0, 2}});
  CHECK(apply("2, 1, f32", "concat((x, x), axis=-1)", counting({2, 1})) ==
        Numbers{{2, 2}, {0, 0, 1, 1}});
}

TEST_CASE("operators broadcast and keep their dtypes") {
  Numbers x = counting({2, 3});
  CHECK(apply("2, 3, f32", "x + x[0]", x) == Numbers{{2, 3}, {0, 2, 4, 3, 5, 7}});
  CHECK(apply("2, 3, f32", "x - x[:, :1]", x) == Numbers{{2, 3}, {0, 1, 2, 0, 1, 2}});
  CHECK(apply("2, 3, f32", "2 * -x / 4", x) == Numbers{{2, 3}, {-0.0, -0.5, -1, -1.5, -2, -2.5}});
  CHECK(apply("2, 3, f32", "x ** 2 % 3.0", x) == Numbers{{2, 3}, {0, 1, 1, 0, 1, 1}});
  CHECK(apply("3, i32", "x // 2 + (x << 2)", counting({3}, DType::I32)) ==
        Numbers{{3}, {0, 4, 9}, DType::I32});
  CHECK(apply("3, i32", "~x & 5", counting({3}, DType::I32)) ==
        Numbers{{3}, {5, 4, 5}, DType::I32});
  CHECK(apply("3, f32", "x >= 1", counting({3})) == Numbers{{3}, {0, 1, 1}, DType::Bool});
  CHECK(apply("3, f32", "0 < x < 2", counting({3})) == Numbers{{3}, {0, 1, 0}, DType::Bool});
  CHECK(apply("3, f32", "not x > 0.5", counting({3})) == Numbers{{3}, {1, 0, 0}, DType::Bool});
  CHECK(apply("3, f32", "where(x > 0, x, -1)", counting({3})) == Numbers{{3}, {-1, 1, 2}});
  CHECK(apply("3, f32", "maximum(x, 1) + minimum(x, 1)", counting({3})) == Numbers{{3}, {1, 2, 3}});
  CHECK(apply("3, f32", "cast(x, u8) + 250", counting({3})) ==
        Numbers{{3}, {250, 251, 252}, DType::U8});
}

TEST_CASE("some sizes are one number for all calls") {
  Numbers x = counting({3});
  const Numbers doubled{{3}, {0, 2, 4}};
  CHECK(apply("3, f32", "x * 2.0 if is_known(x.shape[0]) and x.shape[0] == 3 else x", x) == doubled);
  CHECK(apply("B, f32", "x if is_known(x.shape[0]) and x.shape[0] == 3 else x * 2.0", x) == doubled);
  CHECK(apply("B, f32", "x if is_known(x.shape[0] + 1) else x * 2.0", x) == doubled);
  CHECK(apply("B, f32", "x * 2.0 if is_known(x.shape[0] - x.shape[0]) and is_known(7) else x", x) == doubled);
}

TEST_CASE("tuples and lists differ from other values") {
  Numbers x = counting({3});
  const Numbers doubled{{3}, {0, 2, 4}};
  CHECK(apply("B, f32", "x * 2.0 if is_tuple(x.shape) and is_tuple([1]) and is_tuple(()) else x", x) == doubled);
  CHECK(apply("B, f32", "x if is_tuple(x) or is_tuple(B) or is_tuple(3) or is_tuple(None) else x * 2.0", x) == doubled);
}

TEST_CASE("sizes are numbers, known when the entry is called") {
  Numbers x = counting({4});
  CHECK(apply("B, f32", "x * B", x) == Numbers{{4}, {0, 4, 8, 12}});
  CHECK(apply("B, f32", "x / (B + 1)", x) ==
        Numbers{{4}, {0, double(1.0f / 5), double(2.0f / 5), double(3.0f / 5)}});
  CHECK(apply("B, f32", "x * sqrt(B)", x) == Numbers{{4}, {0, 2, 4, 6}});
  CHECK(apply("B, f32", "x + B / 8", x) == Numbers{{4}, {0.5, 1.5, 2.5, 3.5}});
  CHECK(apply("B, f32", "arange(B, f32) - x", x) == Numbers{{4}, {0, 0, 0, 0}});
  CHECK(apply("B, i32", "x < B - 2", counting({4}, DType::I32)) ==
        Numbers{{4}, {1, 1, 0, 0}, DType::Bool});
}

TEST_CASE("reductions") {
  Numbers x = counting({2, 3});
  CHECK(apply("B, D, f32", "sum(x)", x) == Numbers{{}, {15}});
  CHECK(apply("B, D, f32", "sum(x, axis=0)", x) == Numbers{{3}, {3, 5, 7}});
  CHECK(apply("B, D, f32", "sum(x, axis=-1, keepdims=True)", x) == Numbers{{2, 1}, {3, 12}});
  CHECK(apply("B, D, f32", "mean(x, axis=1)", x) == Numbers{{2}, {1, 4}});
  CHECK(apply("2, 3, f32", "mean(x)", x) == Numbers{{}, {2.5}});
  CHECK(apply("B, D, f32", "mean(x, axis=(0, 1))", x) == Numbers{{}, {2.5}});
  CHECK(apply("B, D, f32", "max(x, axis=1) - min(x, axis=1)", x) == Numbers{{2}, {2, 2}});
  CHECK(apply("B, D, f32", "prod(x + 1, axis=1)", x) == Numbers{{2}, {6, 120}});
}

TEST_CASE("matmuls of matrices, vectors and stacks of matrices") {
  std::string types = "(a: Tensor[2, 3, f32], v: Tensor[3, f32], s: Tensor[4, 3, 2, f32])";
  auto matmul = [&](const std::string& expression) {
    std::string text = "@jit\ndef f" + types + ":\n    return " + expression + "\n";
    return run(text, "f", {counting({2, 3}), counting({3}), counting({4, 3, 2})}).at(0);
  };
  CHECK(matmul("a @ v") == Numbers{{2}, {5, 14}});
  CHECK(matmul("v @ a.T") == Numbers{{2}, {5, 14}});
  CHECK(matmul("v @ v") == Numbers{{}, {5}});
  CHECK(matmul("a @ a.T") == Numbers{{2, 2}, {5, 14, 14, 50}});
  CHECK(matmul("matmul(s, a)").dims == std::vector<int64_t>{4, 3, 3});
  CHECK(matmul("(a @ s)[0]") == Numbers{{2, 2}, {10, 13, 28, 40}});
  CHECK(matmul("(a @ s)[3] - a @ s[3]") == Numbers{{2, 2}, {0, 0, 0, 0}});
  CHECK(matmul("(s.T @ s)[1] - s[1].T @ s[1]") == Numbers{{2, 2}, {0, 0, 0, 0}});
  CHECK(matmul("(v @ s)[2] - v @ s[2]") == Numbers{{2}, {0, 0}});
}

TEST_CASE("rows") {
  Numbers even{{2, 2}, {3, 3, -7, -7}};
  CHECK(apply("B, 2, f32", "softmax(x)", even) == Numbers{{2, 2}, {0.5, 0.5, 0.5, 0.5}});
  CHECK(apply("2, B, f32", "softmax(x, axis=0)", Numbers{{2, 1}, {4, 4}}) ==
        Numbers{{2, 1}, {0.5, 0.5}});
  CHECK(apply("B, 2, f32", "rmsnorm(x, eps=0)", even) == Numbers{{2, 2}, {1, 1, -1, -1}});
  std::string lookup =
      "@jit\ndef f(i: Tensor[N, u8], t: Tensor[V, 2, f32]):\n"
      "    return embedding(i, t)\n";
  CHECK(run(lookup, "f", {Numbers{{2}, {2, 0}, DType::U8}, counting({3, 2})}).at(0) ==
        Numbers{{2, 2}, {4, 5, 0, 1}});
}

TEST_CASE("what is known at compile time leaves nothing to compute") {
  std::string text = R"(
const LAYERS = 3
def repeated(x, f):
    for i in range(LAYERS):
        x = f(x, i)
    return x

@jit
def entry(x: Tensor[N, f32]):
    scale = [2.0 ** i for i in range(LAYERS)]
    return repeated(x, lambda v, i: v * scale[i] if i > 0 else v)
)";
  CHECK(run(text, "entry", {counting({2})}).at(0) == Numbers{{2}, {0, 8}});
  CHECK(count(compile(text), "gir.mul") == 2);
}
