// Where the casts are: operands widen, values are rounded where the language says so.

#include <catch2/catch.hpp>

#include "unit/frontend/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

/// The ops of an entry `f` with these parameters and body, one a line, without names of values.
std::string ops(const std::string& parameters, const std::string& body) {
  std::string text = compile("@jit\ndef f(" + parameters + "):\n" + body);
  std::string list;
  for (size_t at = text.find(" = gir."); at != std::string::npos;
       at = text.find(" = gir.", at + 1)) {
    size_t colon = text.rfind(": tensor", at);
    size_t end = text.find_first_of(" \n", at + 7);
    list += text.substr(at + 7, end - at - 7) + " " + text.substr(colon + 2, at - colon - 2) + "\n";
  }
  return list.empty() ? text : list;
}

}  // namespace

TEST_CASE("a chain of ops on bf16 is computed in f32 and rounded once") {
  CHECK(ops("x: Tensor[N, bf16], y: Tensor[N, bf16]", "    return exp(x * y) + y\n") ==
        "cast tensor<N, f32>\ncast tensor<N, f32>\nmul tensor<N, f32>\nexp tensor<N, f32>\n"
        "cast tensor<N, f32>\nadd tensor<N, f32>\ncast tensor<N, bf16>\n");
}

TEST_CASE("an annotated name holds the rounded value") {
  CHECK(ops("x: Tensor[N, bf16]", "    y: Tensor[N, bf16] = x * 2.0\n    return y * y\n") ==
        "cast tensor<N, f32>\nfull tensor<N, f32>\nmul tensor<N, f32>\ncast tensor<N, bf16>\n"
        "cast tensor<N, f32>\ncast tensor<N, f32>\nmul tensor<N, f32>\ncast tensor<N, bf16>\n");
}

TEST_CASE("@accum says what a value is computed in") {
  CHECK(ops("x: Tensor[N, bf16 @accum(bf16)]", "    return x * x\n") == "mul tensor<N, bf16>\n");
  CHECK(ops("x: Tensor[N, f32 @accum(f64)]", "    return x * x\n") ==
        "cast tensor<N, f64>\ncast tensor<N, f64>\nmul tensor<N, f64>\ncast tensor<N, f32>\n");
  // A written @accum decides for operands that have none.
  CHECK(ops("x: Tensor[N, f16 @accum(f16)], y: Tensor[N, f16]", "    return x + y\n") ==
        "add tensor<N, f16>\n");
}

TEST_CASE("matmuls take operands as they are stored and sum in accum") {
  CHECK(ops("x: Tensor[M, K, bf16], w: Tensor[K, N, bf16]", "    return (x * x) @ w\n") ==
        "cast tensor<M x K, f32>\ncast tensor<M x K, f32>\nmul tensor<M x K, f32>\n"
        "cast tensor<M x K, bf16>\ngemm tensor<M x N, f32>\ncast tensor<M x N, bf16>\n");
  CHECK(ops("x: Tensor[M, K, bf16 @accum(bf16)], w: Tensor[K, N, bf16]", "    return x @ w\n") ==
        "gemm tensor<M x N, bf16>\n");
  CHECK(ops("x: Tensor[M, K, i8], w: Tensor[K, N, i8]", "    return x @ w\n") ==
        "gemm tensor<M x N, i32>\n");
  CHECK(ops("x: Tensor[M, K, u8], w: Tensor[K, N, u8]", "    return x @ w\n") ==
        "gemm tensor<M x N, u32>\n");
  CHECK(ops("x: Tensor[M, K, bf16], w: Tensor[K, N, f32]", "    return x @ w\n") ==
        "cast tensor<M x K, f32>\ngemm tensor<M x N, f32>\n");
}

TEST_CASE("operands are promoted to the wider dtype") {
  CHECK(ops("x: Tensor[N, bf16], y: Tensor[N, f32]", "    return x + y\n") ==
        "cast tensor<N, f32>\nadd tensor<N, f32>\n");
  CHECK(ops("x: Tensor[N, u8], y: Tensor[N, i32]", "    return x + y\n") ==
        "cast tensor<N, i32>\nadd tensor<N, i32>\n");
  CHECK(ops("x: Tensor[N, u8], y: Tensor[N, f32]", "    return x * y\n") ==
        "cast tensor<N, f32>\nmul tensor<N, f32>\n");
  CHECK(ops("x: Tensor[N, u8], y: Tensor[N, bf16]", "    return x < y\n") ==
        "cast tensor<N, f32>\ncast tensor<N, f32>\nlt tensor<N, bool>\n");
}

TEST_CASE("a returned value is rounded, also from a function that is called; a lambda's is not") {
  std::string called = compile(
      "def twice(x):\n    return x + x\n"
      "@jit\ndef f(x: Tensor[N, bf16]):\n    return twice(x) * x\n");
  CHECK(called.find("%2: tensor<N, f32> = gir.add") != std::string::npos);
  CHECK(called.find("%3: tensor<N, bf16> = gir.cast %2") != std::string::npos);
  std::string lambda = compile(
      "@jit\ndef f(x: Tensor[N, bf16]):\n    twice = lambda v: v + v\n    return twice(x) * x\n");
  CHECK(lambda.find("tensor<N, bf16> = gir.cast %2") == std::string::npos);
}

TEST_CASE("a cast is exactly one cast") {
  CHECK(ops("x: Tensor[N, f32]", "    return cast(x, bf16)\n") == "cast tensor<N, bf16>\n");
  CHECK(ops("x: Tensor[N, f32], y: Tensor[N, f16]", "    return cast_like(x, y)\n") ==
        "cast tensor<N, f16>\n");
  CHECK(ops("x: Tensor[N, f32]", "    return cast(cast(x, bf16), f32)\n") ==
        "cast tensor<N, bf16>\ncast tensor<N, f32>\n");
  CHECK(ops("x: Tensor[N, bf16]", "    return cast(x * x, f32)\n") ==
        "cast tensor<N, f32>\ncast tensor<N, f32>\nmul tensor<N, f32>\n");
}

TEST_CASE("a result is rounded to the type that is written, which may be wider") {
  std::string text =
      compile("@jit\ndef f(x: Tensor[N, bf16]) -> Tensor[N, f32]:\n    return x + x\n");
  CHECK(text.find("gir.return [%2]") != std::string::npos);
  CHECK(text.find("bf16> = gir.cast") == std::string::npos);
}

TEST_CASE("numbers take the dtype of the other operands") {
  CHECK(ops("x: Tensor[N, i64]", "    return x + 9007199254740993\n") ==
        "constant tensor<i64>\nbroadcast tensor<N, i64>\nadd tensor<N, i64>\n");
  CHECK(ops("x: Tensor[N, f64]", "    return x + 0.1\n") ==
        "full tensor<N, f64>\nadd tensor<N, f64>\n");
  CHECK(ops("x: Tensor[N, f64]", "    return x * sqrt(N)\n") ==
        "dim tensor<i64>\ncast tensor<f32>\nsqrt tensor<f32>\ncast tensor<f64>\nsqrt tensor<f64>\n"
        "broadcast tensor<N, f64>\nmul tensor<N, f64>\n");
}
