// Kernels of a user's file.

#include <catch2/catch.hpp>

#include "support/file.h"
#include "unit/kernel/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

std::string built(const std::string& text) {
  return KernelFixture().build_source(text);
}

}  // namespace

TEST_CASE("conditions on compile-time values choose at instantiation") {
  auto kernel = [](const std::string& flag) {
    return "@kernel\ndef f(x: Tensor[M, f32], *, smooth: bool = " + flag +
           ") -> Tensor[M, f32]:\n    t = tile.context(m=M)\n    v = tile.load(x)\n    if smooth:\n"
           "        v = tile.silu(v)\n    else:\n        v = tile.relu(v)\n    return v\n";
  };
  CHECK(count(built(kernel("True")), "sched.silu") == 1);
  CHECK(count(built(kernel("True")), "sched.relu") == 0);
  CHECK(count(built(kernel("False")), "sched.relu") == 1);
}

TEST_CASE("a condition on a dtype parameter is decided by the operand") {
  for (const char* dtype : {"f32", "bf16"}) {
    KernelFixture fixture;
    SourceModule* source = fixture.session.load_file(fixture.sources.add("test.tsr", R"(
@kernel
def f(x: Tensor[M, T]) -> Tensor[M, T]:
    t = tile.context(m=M)
    v = tile.load(x)
    if T == bf16:
        return tile.cast(tile.exp(tile.cast(v, f32)), T)
    return tile.exp(v)
)"));
    CHECK(fixture.kernels.own_kernels(*source, "").empty());
    const frontend::Function& function = source->scope->find_here("f")->value.as_function();
    fixture.ask(fixture.kernels.symbol_of(function), {std::string("tensor<M, ") + dtype + ">"});
    std::string text = fixture.build();
    INFO(text);
    CHECK(count(text, "sched.cast") == (std::string(dtype) == "bf16" ? 2u : 0u));
  }
}

TEST_CASE("an axis without an extent is whole where elements are combined along it") {
  auto axes_of = [](const std::string& result) {
    std::string text = built("@kernel\ndef f(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:\n"
                             "    t = tile.context(m=M, n=N)\n"
                             "    v = tile.gather(x, (tile.row_index(), (tile.col_index() + 3) % N))\n" + result);
    INFO(text);
    size_t from = text.find("axes = [");
    REQUIRE(from != std::string::npos);
    std::string axes = text.substr(from, text.find("}]", from) - from);
    return std::pair(axes.find("block = <M>") != std::string::npos, axes.find("block = <N>") != std::string::npos);
  };
  CHECK(axes_of("    return v * 2.0\n") == std::pair(false, false));
  CHECK(axes_of("    return tile.scan(v, axis=1)\n") == std::pair(false, true));
  CHECK(axes_of("    return tile.scan(v, axis=0)\n") == std::pair(true, false));
  CHECK(axes_of("    return v / tile.sum(v, axis=1)[:, None]\n") == std::pair(false, true));
  CHECK(axes_of("    total = v\n    for i in tile.range(4, 1):\n        total = total + tile.exp(total)\n"
                "    return total / tile.max(total, axis=1)[:, None]\n") == std::pair(false, true));
  CHECK(axes_of("    def loaded(y):\n        return tile.load(y)\n"
                "    return v + tile.max(loaded(x), axis=0)[None, :]\n") == std::pair(true, false));
}

TEST_CASE("an axis of one element is whole as it is") {
  std::string text = built(R"(
@kernel
def f(x: Tensor[M, 1, f32]) -> Tensor[M, 1, f32]:
    t = tile.context(m=M, n=1)
    return tile.load(x, (t.i, t.j), (t.m, t.n)) + tile.sum(tile.full((t.m, t.n), 1.0), axis=1)[:, None]
)");
  INFO(text);
  CHECK(count(text, "sched.reduce") == 1);
}

TEST_CASE("lambdas and nested functions are folded in") {
  std::string text = built(R"(
@kernel
def f(x: Tensor[M, f32], *, epilogue: fn = lambda v: tile.silu(v) * 2.0) -> Tensor[M, f32]:
    t = tile.context(m=M)
    def shift(v):
        return v + 1.0
    return epilogue(shift(tile.load(x)))
)");
  INFO(text);
  CHECK(count(text, "sched.hook") == 0);
  CHECK(count(text, "sched.silu") == 1);
  CHECK(count(text, "sched.add") == 1);
}

TEST_CASE("a loop carries the names it changes, an inner one too") {
  std::string text = built(R"(
@kernel.schedule(Schedule(BM=8, BK=16))
def f(x: Tensor[M, K, f32]) -> (Tensor[M, f32], Tensor[M, f32]):
    t = tile.context(m=M, k=K)
    s = tile.zeros((t.m,), f32)
    p = tile.full((t.m,), 1.0, f32)
    for k in tile.range(K, t.k):
        v = tile.load(x, (t.i, k), (t.m, t.k))
        for again in tile.range(K, t.k):
            s += tile.sum(v, axis=1)
        p = tile.maximum(p, tile.max(v, axis=1))
    return s, p
)");
  INFO(text);
  CHECK(count(text, "sched.pipeline") == 2);
  CHECK_THAT(text,
             Catch::Contains("%s_1: tile<8, f32>, %p_1: tile<8, f32> = sched.pipeline [%s, %p], []"));
  CHECK(count(text, "sched.store") == 2);
}

TEST_CASE("loads in flight of a range over rows count where the schedule says no stages") {
  auto kernel = [](const std::string& schedule) {
    return built("@kernel.schedule(Schedule(BM=8, BN=16" + schedule + R"())
def f(x: Tensor[M, 8, f32], y: Tensor[N, 8, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    s = tile.zeros((t.m,), f32)
    for n in tile.range_n(y.shape, t.n, prefetch=3):
        s += tile.sum(tile.dot(tile.load(x, (t.i, 0), (t.m, 8)), tile.load(y, (n, 0), (t.n, 8)).T), axis=1)
    return s
)");
  };
  CHECK_THAT(kernel(""), Catch::Contains("stages = 3}"));
  CHECK_THAT(kernel(", stages=2"), Catch::Contains("stages = 2}") && !Catch::Contains("stages = 3"));
}

TEST_CASE("axes are told apart by how they are written, not by their extent") {
  std::string text = built(R"(
@kernel.schedule(Schedule(BM=8, BN=4, BK=2))
def f(a: Tensor[16, 16, f32], b: Tensor[16, 16, f32]) -> Tensor[16, 16, f32]:
    t = tile.context(m=16, n=16)
    return tile.load(a) + tile.load(b)
)");
  CHECK_THAT(text, Catch::Contains("'k'"));
  KernelFixture fixture;
  fixture.request.schedule["block"] = fixture.context.integers({8, 4, 2});
  text = fixture.ask("matmul", {"tensor<16 x 16, f32>", "tensor<16 x 16, f32>"}).build();
  INFO(text);
  CHECK_THAT(text, Catch::Contains("sched.tile {axes = [\"m\", \"n\"]}"));
  CHECK_THAT(text, Catch::Contains("count = 8"));
}

TEST_CASE("a context without arguments has the axes that loads name") {
  std::string text = built(R"(
@kernel.schedule(Schedule(BM=8))
def f(x: Tensor[B, M, D, f32]) -> Tensor[B, M, D, f32]:
    T = tile.context()
    v = tile.load(x, rows=T.m, cols=T.d)
    return v / tile.sum(v, axis=1, keepdims=True)
)");
  INFO(text);
  CHECK_THAT(text, Catch::Contains("tile<1 x 8 x D, f32> = sched.load %x, [%h, %i, %j]"));
  CHECK_THAT(text, Catch::Contains("tile<8 x D, f32> = sched.reshape"));
}

TEST_CASE("a kernel means the functions of tiles by whatever name it has of them") {
  auto kernel = [](const std::string& names, const std::string& load, const std::string& context,
                   const std::string& drop) {
    return built(names + "@kernel\ndef f(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:\n    t = " + context +
                 "(m=M, n=N)\n    return " + drop + "(" + load + "(x), 0.5)\n");
  };
  std::string plain = kernel("", "tile.load", "tile.context", "dropout_in_kernel");
  CHECK(count(plain, "sched.load") >= 1);
  CHECK(count(plain, "sched.kernel") == 1);
  CHECK(kernel("from tessera import tile as tl\n", "tl.load", "tl.context", "ops.dropout_in_kernel") == plain);
  CHECK(kernel("from tessera.tile import load, context as c\n", "load", "c", "dropout_in_kernel") == plain);
  CHECK(kernel("from tessera import dropout_in_kernel as drop\n", "tessera.tile.load", "tile.context", "drop") ==
        plain);
  CHECK(kernel("const tiles = tessera.tile\n", "tiles.load", "tiles.context", "tessera.dropout_in_kernel") == plain);
  CHECK(kernel("const c = tile.context\nconst load = tile.load\nconst d = dropout_in_kernel\nconst drop = d\n", "load",
               "c", "drop") == plain);
}

TEST_CASE("coordinates count elements of the tensor") {
  std::string text = built(R"(
@kernel.schedule(Schedule(BM=8, BN=8))
def f(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.where(tile.row_index() >= tile.col_index(), tile.load(x), -INF)
)");
  INFO(text);
  CHECK(count(text, "sched.iota") == 2);
  CHECK(count(text, "sched.ge") == 1);
  CHECK_THAT(text, Catch::Contains("tile<8 x 8, f32> = sched.full {value = -inf}"));
}

TEST_CASE("sizes are numbers where tiles need them") {
  std::string text = built(R"(
@kernel.schedule(Schedule(BM=8))
def f(x: Tensor[M, N, f32], y: Tensor[M, N, bf16]) -> (Tensor[M, N, f32], Tensor[M, N, bf16]):
    t = tile.context(m=M, n=N)
    s = 1.0 / sqrt(N)
    return tile.load(x) * s, tile.load(y) * s
)");
  INFO(text);
  CHECK(count(text, "sched.dim") == 1);
  CHECK(count(text, "sched.sqrt") == 1);
}

TEST_CASE("a softmax over blocks is expanded where it is accumulated") {
  auto attention = [](const std::string& between, const std::string& imports = "\n",
                      const std::string& mask = "tile.mask_causal") {
    return built(imports + R"(
@kernel.schedule(Schedule(BM=8, BN=8))
def f(q: Tensor[S, D, f32], k: Tensor[N, D, f32]) -> Tensor[S, D, f32]:
    t = tile.context(m=S, d=D, n=N)
    acc = tile.zeros((t.m, t.d), f32)
    m = tile.full((t.m,), -INF)
    l = tile.zeros((t.m,), f32)
    for n in tile.range(N, t.n):
        y = tile.load(k, (n, 0), (t.n, t.d))
        s = tile.dot(tile.load(q, (t.i, 0), (t.m, t.d)), y.T)
        )" + mask + R"((s, tile.row_index(), tile.col_index(n))
        p, top, total = tile.softmax_online(s)
)" + between + R"(        acc, m, l = tile.softmax_accumulate(acc, m, l, p, y, top, total)
    return acc / l[:, None]
)");
  };
  std::string text = attention("");
  INFO(text);
  // Weights relative to the maximum so far, and what the accumulator is scaled by; the mask, the row without keys and
  // that of large scores; the division by a sum of 0.
  CHECK(count(text, "sched.exp2") == 2);
  CHECK(count(text, "sched.le") == 1);
  CHECK(count(text, "sched.select") == 4);
  CHECK(attention("", "from tessera.tile import mask_causal as masked\n", "masked") == text);
  CHECK(attention("", "const masked = tile.mask_causal\n", "masked") == text);
  // Weights that were changed are those of their block, brought to the common maximum.
  CHECK(count(attention("        p = p * 2.0\n"), "sched.exp2") == 4);
}

TEST_CASE("a loop runs over the tiles that have elements from start to stop") {
  std::string text = built(R"(
@kernel.schedule(Schedule(BM=8, BN=16))
def f(x: Tensor[M, N, f32], first: Tensor[i32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    s = tile.zeros((t.m,), f32)
    for n in tile.range(N, t.n, start=tile.load(first), stop=(t.i + 1) * t.m):
        s = s + tile.sum(tile.load(x, (t.i, n), (t.m, t.n)), axis=1)
    return s
)");
  INFO(text);
  CHECK(count(text, "sched.extract") == 1);
  CHECK(count(text, "sched.floor_div") == 2);
  CHECK_THAT(text, Catch::Contains("sched.pipeline [%s], [%"));
}

TEST_CASE("a tensor whose default is None may be left out") {
  std::string text = built(R"(
@kernel
def f(x: Tensor[M, f32], shift: Tensor[M, f32] = None) -> Tensor[M, f32]:
    t = tile.context(m=M)
    return tile.load(x) if shift is None else tile.load(x) + tile.load(shift)
)");
  INFO(text);
  CHECK(count(text, "sched.load") == 1);
  CHECK_THAT(text, Catch::Contains("sched.kernel @f(%x: tensor<M, f32>, %result"));
}

TEST_CASE("a kernel of a KTile gives one of its shape") {
  std::string text = built(R"(
@kernel.schedule(Schedule(BM=8))
def f(q: KTile["B*H", "S", "D_h", bf16]):
    t = tile.context()
    return tile.load(q, rows=t.m, cols=t.d)
)");
  INFO(text);
  CHECK_THAT(text, Catch::Contains("%result: tensor<B x H x S x D_h, bf16>"));
}

TEST_CASE("the example's kernel builds under its own name") {
  std::string source, error;
  REQUIRE(read_file(TESSERA_SOURCE_DIR "/examples/tile_linear/tile_linear.tsr", source, error));
  std::string text = built(source);
  INFO(text);
  CHECK_THAT(text, Catch::Contains("sched.kernel @tile_linear_bf16("));
  CHECK_THAT(text, Catch::Contains(
                       "schedule = {block = {k = 64, m = 128, n = 128}, stages = 3, warps = 8}"));
}

TEST_CASE("a user's kernel of a library kernel's name has a symbol of its own") {
  KernelFixture fixture;
  SourceModule* source = fixture.session.load_file(fixture.sources.add("test.tsr", R"(
@kernel
def softmax(x: Tensor[M, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M)
    return tile.load(x)
)"));
  const frontend::Function& function = source->scope->find_here("softmax")->value.as_function();
  CHECK(fixture.kernels.symbol_of(function) == "softmax.1");
  CHECK(fixture.kernels.symbol_of(function) == "softmax.1");
  CHECK(fixture.kernels.own_kernels(*source, "").at(0).symbol == "softmax");
}

TEST_CASE("each kernel of docs/kernels.md builds") {
  std::string text, error;
  REQUIRE(read_file(TESSERA_SOURCE_DIR "/docs/kernels.md", text, error));
  size_t blocks = 0;
  for (size_t at = text.find("```python\n"); at != std::string::npos;
       at = text.find("```python\n", at + 1)) {
    size_t begin = at + 10;
    std::string block = text.substr(begin, text.find("```", begin) - begin);
    KernelFixture fixture;
    std::string out = fixture.build_source(block);
    INFO(block << "\n" << out);
    CHECK_FALSE(fixture.diagnostics.has_errors());
    ++blocks;
  }
  CHECK(blocks >= 5);
}
