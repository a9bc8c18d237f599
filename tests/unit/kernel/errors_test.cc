// Every mistake in a kernel has its message.

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
  return "@kernel\ndef f(a: Tensor[M, K, bf16], b: Tensor[K, N, bf16], ids: Tensor[M, i32]) -> "
         "Tensor[M, N, f32]:\n"
         "    t = tile.context(m=M, n=N, k=K)\n" +
         body;
}

void check(const std::string& body, const std::string& wanted) {
  INFO(body);
  CHECK(message(kernel(body)) == wanted);
}

const char* const tiles =
    "    x = tile.full((8, 4), 1.0, f32)\n"
    "    y = tile.full((8,), 1.0, f32)\n"
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
}

TEST_CASE("a scan has one axis, a kind that exists and numbers") {
  check_op("tile.scan(x, axis=1)", "");
  check_op("tile.scan(x, axis=2)", "axis 2 lies outside the 2 dimensions of the operand of 'scan'");
  check_op("tile.scan(x, axis=(0, 1))", "the axis of 'tile.scan' is a tuple, where one axis is needed");
  check_op("tile.scan(x, axis=0, kind=\"mean\")",
           "the kind of 'tile.scan' is \"mean\", where \"sum\", \"prod\", \"max\" or \"min\" is needed");
  check_op("tile.scan(x > 0.0, axis=0)", "'scan' has no meaning for bool");
}

TEST_CASE("axes are declared once, with names that are free") {
  check("    u = tile.context(m=M)\n    return tile.zeros((t.m, t.n), f32)\n",
        "the axes of kernel 'f' are declared twice");
  check("    return tile.zeros((t.m, t.q), f32)\n", "kernel 'f' has no axis and no tunable 'q'");
  check("    return tile.zeros((t.m, t.n), f32) + tile.cast(t.h, f32)\n",
        "'h' is the index along grid axis 3, and the grid has 2");
  CHECK(message("@kernel\ndef f(a: Tensor[M, f32]) -> Tensor[M, f32]:\n    t = tile.context(i=M)\n "
                "   return tile.load(a)\n") == "axis 'i' has the name of a tile index");
  CHECK(
      message("@kernel\ndef f(a: Tensor[M, f32]) -> Tensor[M, f32]:\n    return tile.load(a)\n") ==
      "kernel 'f' declares no axes");
  CHECK(message("@kernel\ndef f(a: Tensor[M, f32]) -> Tensor[M, f32]:\n    x = tile.load(a)\n    t "
                "= tile.context(m=M)\n    return x\n") ==
        "'tile.load' is used before the kernel's axes are declared");
  CHECK(message("@kernel\ndef f(a: Tensor[M, f32]):\n    t = tile.context(m=M)\n    return "
                "tile.load(a)\n") == "kernel 'f' states no type for its result");
}

TEST_CASE("tiles that meet have shapes that broadcast and dtypes that widen") {
  check_op("x + y", "tiles of shape [8, 4] and [8] do not broadcast in 'add'");
  check_op("x + i", "f32 and i32 meet, and neither widens to the other");
  check_op("i + 0.5", "0.5 is no value of i32");
  check_op("i + 3000000000", "3000000000 is no value of i32");
  check_op("tile.exp(i)", "'exp' has no meaning for i32");
  check_op("tile.sum(x == x)", "'sum' has no meaning for bool");
  check_op("tile.where(x, x, x)",
           "the condition of 'where' is a tile<8 x 4, f32>, where a bool tile is needed");
  check_op("tile.broadcast(x, (8, 5))",
           "tiles of shape [8, 4] and [8, 5] do not broadcast in 'broadcast'");
  check_op("x[0]", "a tile is subscripted by something other than ':' and None");
  check_op("a + x", "an operand of 'add' is a tensor<M x K, bf16>, where a tile is needed");
}

TEST_CASE("extents of tiles are constants or whole axes, of a size that can be") {
  check_op("tile.zeros((-1, 4), f32)",
           "a tile's extent -1 is neither a constant from 1 up nor the whole of an axis");
  check_op("tile.full((M*N,), 0.0, f32)",
           "a tile's extent M*N is neither a constant from 1 up nor the whole of an axis");
  check_op("tile.arange(0)",
           "a tile's extent 0 is neither a constant from 1 up nor the whole of an axis");
  check_op("tile.zeros((1 << 62, 1 << 62), f32)",
           "a tile of shape [4611686018427387904, 4611686018427387904] has more than 2147483648 "
           "elements");
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

TEST_CASE("axes of a tile are inside it and named once") {
  check_op("tile.sum(x, axis=2)", "axis 2 lies outside the 2 dimensions of the operand of 'sum'");
  check_op("tile.sum(x, axis=(0, 0))", "axis 0 is named twice in 'sum'");
  check_op("tile.transpose(x, 0, 0)", "the axes are no permutation of the tile's 2 axes");
}

TEST_CASE("products have fitting shapes and an accumulator") {
  check_op("tile.dot(x, x)", "tiles of shape [8, 4] and [8, 4] have no product in a tile");
  check_op("tile.dot(x, x.T, x)", "tiles of shape [8, 4] and [4, 8] have no product in [8, 4]");
  check_op("tile.dot(x, x.T, tile.zeros((8, 8), i32))", "products of f32 are not added up in i32");
  check_op("tile.dot(h, h.T, tile.zeros((8, 8), bf16))",
           "a product of bf16 accumulated in bf16 cannot be compiled yet");
}

TEST_CASE("loads name a tile that exists") {
  check_op("tile.load(x)",
           "what 'tile.load' reads is a tile<8 x 4, f32>, where a tensor is needed");
  check_op("tile.load(a, (t.i,), (t.m,))",
           "'a' has 2 dimensions, and tile.load gives 1 indices and a shape of 1");
  check_op("tile.load(a, (t.i, 0), (t.m, N))",
           "extent N of dimension 1 of 'a' is neither constant nor the whole K");
  check_op("tile.load(a, (t.i, 0))", "argument 'shape' of 'tile.load' is missing");
  check_op("tile.load(a, (t.i, 0.5), (8, 8))",
           "an index of 'tile.load' is a number, where an integer index is needed");
  check_op("tile.load(ids, (t.i,), (8,), fill=0.5)", "0.5 is no value of i32");
  check_op("tile.load(a, (t.i, 0), (8, 8), vector=1000)",
           "schedule key 'vector' is 1000, outside 1 to 256");
  check_op("tile.gather(x, y)", "the table of 'tile.gather' is a tile<8 x 4, f32>, where a tensor of rank 2 is needed");
  check_op("tile.gather(ids, y)", "a coordinate is a tile<8, f32>, where a tile of integers of up to 63 bits is needed");
  check_op(
      "tile.gather(a, y)",
      "the rows of 'tile.gather' is a tile<8, f32>, where a tile of integers of rank 1 is needed");
  CHECK(message("@kernel.schedule(Schedule(block=(8, 8)))\ndef f(a: Tensor[M, K, f32]) -> "
                "Tensor[M, f32]:\n"
                "    t = tile.context(m=M, k=K)\n    return tile.sum(tile.load(a), axis=1)\n") ==
        "dimension 1 of 'a' is no axis of the grid, so this program has no tile of it");
}

TEST_CASE("loops carry tiles of one type") {
  check(
      "    s = tile.zeros((8, 4), f32)\n    for k in tile.range(K, 8):\n        s = tile.zeros((8, "
      "5), f32)\n    return s\n",
      "'s' enters the loop as tile<8 x 4, f32> and leaves a turn as tile<8 x 5, f32>");
  check(
      "    s = 0.0\n    for k in tile.range(K, 8):\n        s = s + 1.0\n    return "
      "tile.zeros((t.m, t.n), f32)\n",
      "'s' is a compile-time value and changes in a loop that runs on the machine");
  check("    for k in tile.range(K, 8):\n        return tile.zeros((t.m, t.n), f32)\n",
        "a loop that runs on the machine returns");
  check("    for k in tile.range(K, N):\n        x = 1\n    return tile.zeros((t.m, t.n), f32)\n",
        "the step N of a range over K is neither a constant from 1 up nor the whole extent");
  check("    for k in tile.range(K, 0):\n        x = 1\n    return tile.zeros((t.m, t.n), f32)\n",
        "the step 0 of a range over K is neither a constant from 1 up nor the whole extent");
}

TEST_CASE("results have the shape and dtype that the signature states") {
  check("    return tile.zeros((8, 4), f32)\n",
        "kernel 'f' returns a tile of shape [8, 4], and a program's part of the result is [1, 1]");
  check("    return tile.zeros((t.m, t.n), f64)\n",
        "the result of 'f' is f64 and would be narrowed to f32");
  check("    return 3\n", "the result of 'f' is an integer, where a tile is needed");
  check("    x = tile.zeros((t.m, t.n), f32)\n    return x, x\n",
        "'f' returns a tuple, where its result is one tile");
}

TEST_CASE("schedules fit the kernel") {
  auto decorated = [](const std::string& decorator) {
    return message(decorator +
                   "\ndef f(a: Tensor[M, f32]) -> Tensor[M, f32]:\n    t = tile.context(m=M)\n"
                   "    return tile.load(a)\n");
  };
  CHECK(decorated("@kernel.schedule(Schedule(BX=4))") ==
        "the schedule blocks axis 'x', and kernel 'f' has m");
  CHECK(decorated("@kernel.schedule(Schedule(block=(4, 4)))") ==
        "the schedule gives 2 extents, and kernel 'f' has 1 axes");
  CHECK(decorated("@kernel.schedule(Schedule(block=0))") ==
        "schedule key 'block' is 0, outside 1 to 65536");
  CHECK(decorated("@kernel.schedule(Schedule(BM=64, BM=32))") == "argument 'BM' of 'Schedule' is given twice");
  CHECK(decorated("@kernel.schedule(Schedule(registers=dict(load=25)))") ==
        "schedule key 'registers' is 25, outside the multiples of 8 from 24 to 240");
  CHECK(decorated("@kernel.schedule(Schedule(stage=3))") == "'stage' is no key of a schedule");
  CHECK(decorated("@kernel.schedule(Schedule(stages=\"3\"))") ==
        "schedule key 'stages' takes a number, not \"3\"");
  CHECK(decorated("@kernel.schedule(Schedule(stages=[2, 9]))") ==
        "schedule key 'stages' is 9, outside 1 to 8");
  CHECK(decorated("@kernel.schedule(Schedule(stages=[]))") ==
        "schedule key 'stages' has no choice");
  CHECK(decorated("@kernel.schedule(Schedule(stages=3).with_stage(2))") ==
        "'stage' is no key of a schedule");
  CHECK(decorated("@kernel.schedule(Schedule(stages=3).with_stages())") ==
        "'stages' of a schedule takes values");
  CHECK(decorated("@kernel.schedule(3)") ==
        "the argument of '@kernel.schedule' is an integer, where a schedule is needed");
  CHECK(decorated("@kernel.autotune(space=dict(stages=[2]), metrics=\"ms\")") ==
        "'kernel.autotune' has no parameter 'metrics'");
}

TEST_CASE("what rows are multiplied along is whole in a program") {
  auto text = [](const std::string& decorator, const std::string& depth) {
    return decorator + "def f(q: Tensor[M, " + depth + ", bf16], k: Tensor[N, " + depth + ", bf16]) -> Tensor[M, " + depth +
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
  CHECK(message(text(space, "128")) == "");
  CHECK(message(text(space, "D")) == "");
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

TEST_CASE("branches on the machine agree on what they leave") {
  check("    x = tile.zeros((t.m, t.n), f32)\n    if t.i > 0:\n        x = x + 1.0\n    return x\n", "");
  check("    x = 1\n    if t.i > 0:\n        x = tile.zeros((t.m, t.n), f32)\n    return tile.zeros((t.m, t.n), f32)\n",
        "'x' after one branch is an integer, where tile<M x N, f32> is needed");
  check("    if t.i > 0:\n        return tile.zeros((t.m, t.n), f32)\n    return tile.zeros((t.m, t.n), f32)\n",
        "a return in a branch that the machine takes or not cannot be compiled yet");
  check("    x = tile.zeros((t.m, t.n), f32)\n    if x > 0.0:\n        x = x + 1.0\n    return x\n",
        "the condition is a tile<M x N, bool>, where a bool or an integer scalar is needed");
}

TEST_CASE("regions are stored once, whole, by one program each") {
  auto region = [](const std::string& privileges, const std::string& body) {
    return message("@kernel.schedule(Schedule(BM=8, BN=8))\ndef f(a: Tensor[M, N, f32], y: Region[" + privileges +
                   "] Tensor[M, N, f32]) -> Tensor[M, N, f32]:\n    t = tile.context(m=M, n=N)\n    v = tile.load(a)\n" +
                   body + "    return v\n");
  };
  CHECK(region("write", "    tile.store(v, y)\n").empty());
  CHECK(region("read_write", "    tile.store(v + tile.load(y), y)\n").empty());
  CHECK(region("reduce_sum", "    tile.store(v, y)\n").empty());
  CHECK(region("read", "    v = v + tile.load(y)\n").empty());
  CHECK(region("writes", "    tile.store(v, y)\n") == "the privilege is 'writes', where read, write, read_write or reduce_sum is needed");
  CHECK(region("read, reduce_sum", "    tile.store(v, y)\n") == "the privilege is 'read, reduce_sum', where read, write, read_write or reduce_sum is needed");
  CHECK(region("write", "") == "a region that is never stored cannot be compiled yet");
  CHECK(region("write", "    tile.store(v, a)\n") ==
        "what 'tile.store' writes to is a tensor<M x N, f32>, where a region is needed");
  CHECK(region("write", "    tile.store(v + tile.load(y), y)\n") == "what 'tile.load' reads is 'y', which is only written, where a tensor that is read is needed");
  CHECK(region("read_write", "    tile.store(v, y)\n    v = tile.load(y)\n") ==
        "what 'tile.load' reads is 'y', which was stored, where a tensor as the kernel found it is needed");
  CHECK(region("write", "    tile.store(v, y, (t.i, 0))\n") ==
        "the index of 'tile.store' is the same for programs along axis 'n', where a place for each program is needed");
  CHECK(region("write", "    tile.store(v, y)\n    tile.store(v, y)\n") == "a region that is stored twice cannot be compiled yet");
  CHECK(region("write", "    if t.i > 0:\n        tile.store(v, y)\n").empty());
  CHECK(region("write", "    tile.store(tile.sum(v, axis=0), y)\n") ==
        "the tile stored in 'y' is [8], where [8, 8] is needed");
}

TEST_CASE("random numbers need seeds and numbers of elements") {
  check_op("tile.uniform(7, i)", "");
  check_op("tile.uniform(0.5, i)", "the seed is a number, where an integer is needed");
  check_op("tile.uniform(7, x)", "the index of 'tile.uniform' is a tile<8 x 4, f32>, where a tile of integers is needed");
  check_op("dropout_in_kernel(x, p=1.5, seed=7)", "the probability is 1.5, where a number from 0 up and below 1 is needed");
  check_op("dropout_in_kernel(x, p=0.5, seed=7)",
           "the tile is of extent 8, where one along axes of the grid and of loops around is needed");
  check_op("dropout_in_kernel(x, p=0.5, seed=7, index=i)", "");
}

TEST_CASE("operands fit the signature") {
  KernelFixture fixture;
  CHECK_THAT(fixture.ask("matmul", {"tensor<4 x 8, f32>"}).build(),
             Catch::Contains("kernel 'matmul' takes 2 tensors, and 1 are given"));
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
