// Kernels that are right, and mistakes that only a call makes. The others have files in tests/diagnostics.

#include <catch2/catch.hpp>

#include "unit/kernel/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

/// The first message about a source text; empty when there is none.
std::string message(const std::string& text) {
  KernelFixture fixture;
  std::string out = fixture.build_source(text);
  return fixture.diagnostics.all().empty() ? "" : fixture.diagnostics.all()[0].message;
}

/// A kernel of a [M, K], b [K, N] bf16 and ids [M] i32 with that body.
std::string kernel(const std::string& body) {
  return "@kernel.schedule(block(m=32, n=32))\ndef f(a: Tensor[M, K, bf16], b: Tensor[K, N, bf16], ids: Tensor[M, "
         "i32]) -> "
         "Tensor[M, N, f32]:\n"
         "    t = tile.context(m=M, n=N)\n" +
         body;
}

void check(const std::string& body, const std::string& wanted) {
  INFO(body);
  CHECK(message(kernel(body)) == wanted);
}

const char* const tiles =
    "    x = tile.full((8, 4), 1.0, f32)\n"
    "    h = tile.full((8, 4), 1.0, bf16)\n"
    "    i = tile.full((8, 4), 1, i32)\n";

void check_op(const std::string& expression, const std::string& wanted) {
  check(std::string(tiles) + "    z = " + expression + "\n    return tile.zeros((t.m, t.n), f32)\n",
        wanted);
}

}  // namespace

TEST_CASE("a kernel without a mistake has no message") {
  check_op("x + 1", "");
  check_op("x + h", "");
  check_op("tile.scan(x, axis=1)", "");
  check_op("tile.uniform(7, i)", "");
  check_op("dropout_in_kernel(x, p=0.5, seed=7, index=i)", "");
  check("    x = tile.zeros((t.m, t.n), f32)\n    if t.i > 0:\n        x = x + 1.0\n    return x\n", "");
}

TEST_CASE("a wrong context is one mistake") {
  KernelFixture fixture;
  fixture.build_source(
      "@kernel\ndef f(a: Tensor[M, f32]) -> Tensor[M, f32]:\n    t = tile.context(M)\n"
      "    return tile.load(a)\n");
  CHECK(fixture.diagnostics.all().size() == 1);
}

TEST_CASE("a kernel of no elements builds") {
  CHECK(message("@kernel\ndef f(a: Tensor[0, f32]) -> Tensor[0, f32]:\n    t = tile.context(m=0)\n"
                "    return tile.load(a)\n") == "");
}

TEST_CASE("what rows are multiplied along is whole in a program") {
  auto text = [](const std::string& decorator, const std::string& depth) {
    return decorator + "def f(q: Tensor[M, " + depth + ", bf16], k: Tensor[N, " + depth + ", bf16]) -> Tensor[M, " +
           depth +
           ", f32]:\n"
           "    t = tile.context()\n"
           "    x = tile.load(q, rows=t.m, cols=t.d)\n"
           "    acc = tile.zeros((t.m, t.d), f32)\n"
           "    for n in tile.range_n(k.shape, t.n):\n"
           "        y = tile.load(k, n, cols=t.d)\n"
           "        acc = tile.dot(tile.cast(tile.dot(x, y.T), bf16), y, acc)\n"
           "    return acc\n";
  };
  const std::string space = "@kernel.autotune(space=dict(BM=[16], BN=[32], BD=[64, 128]))\n";
  const std::string cut = "@kernel.schedule(Schedule(BM=16, BN=32, BD=64))\n";
  const std::string chosen =
      "nothing is measured yet: kernel 'f' is compiled with the first choices, block(m=16, n=32)";
  CHECK(message(text(space, "128")) == chosen);
  CHECK(message(text(space, "D")) == chosen);
  CHECK(message(text(cut, "64")) == "");
  CHECK(message(text(cut, "128")) ==
        "rows are multiplied along axis 'd', of which the schedule gives a program 64 of 128");
  CHECK(message(text(cut, "D")) ==
        "rows are multiplied along axis 'd', of which the schedule gives a program 64 of D");
}

TEST_CASE("what is not lowered yet says so") {
  check("    for k in tile.range(N, 8):\n        x = tile.alloc((8, 8), f32)\n    return tile.zeros((t.m, t.n), f32)\n",
        "'tile.alloc' in a loop or a branch cannot be compiled yet");
  check("    x = tile.alloc((2, 2, 2, 2), f32)\n    return tile.zeros((t.m, t.n), f32)\n",
        "shared memory of other than 1 to 3 axes cannot be compiled yet");
}

TEST_CASE("regions are read and stored as they say") {
  auto region = [](const std::string& privileges, const std::string& body) {
    return message(
        "@kernel.schedule(Schedule(BM=8, BN=8))\ndef f(a: Tensor[M, N, f32], y: Region[" + privileges +
        "] Tensor[M, N, f32]) -> Tensor[M, N, f32]:\n    t = tile.context(m=M, n=N)\n    v = tile.load(a)\n" + body +
        "    return v\n");
  };
  CHECK(region("write", "    tile.store(v, y)\n").empty());
  CHECK(region("read_write", "    tile.store(v + tile.load(y), y)\n").empty());
  CHECK(region("reduce_sum", "    tile.store(v, y)\n").empty());
  CHECK(region("read", "    v = v + tile.load(y)\n").empty());
  CHECK(region("write", "    if t.i > 0:\n        tile.store(v, y)\n").empty());
}

TEST_CASE("operands fit the signature") {
  KernelFixture fixture;
  CHECK_THAT(fixture.ask("matmul", {"tensor<4 x 8, f32>"}).build(),
             Catch::Contains("kernel 'matmul' takes 2 tensors, and 1 is given"));
  KernelFixture shapes;
  CHECK_THAT(shapes.ask("matmul", {"tensor<4 x 8, f32>", "tensor<9 x 4, f32>"}).build(),
             Catch::Contains("shape-mismatch"));
  KernelFixture dtypes;
  CHECK_THAT(dtypes.ask("matmul", {"tensor<4 x 8, f32>", "tensor<8 x 4, bf16>"}).build(),
             Catch::Contains("dtype-mismatch"));
  KernelFixture unknown;
  CHECK_THAT(unknown.ask("matmull", {}).build(), Catch::Contains("there is no kernel 'matmull'"));
  KernelFixture argument;
  argument.request.arguments["epsilon"] = argument.context.number(1);
  CHECK_THAT(argument.ask("softmax", {"tensor<4 x 8, f32>"}).build(),
             Catch::Contains("'softmax' has no parameter 'epsilon'"));
}
