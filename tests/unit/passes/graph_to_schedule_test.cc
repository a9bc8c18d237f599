// Which kernels a graph becomes: counts and fused ops, and that what comes out verifies and prints.

#include <catch2/catch.hpp>

#include "ir/text/verifier.h"
#include "passes/pass.h"
#include "unit/ir/text_fixture.h"
#include "unit/passes/kernel_library_double.h"

using namespace tessera;

namespace {

/// An entry @f lowered for a CPU.
struct Lowered : TextFixture {
  KernelLibraryDouble library;
  std::unique_ptr<Module> module;
  std::string text;

  /// `args` as in a function's text; each is an input.
  Lowered(const std::string& args, const std::string& body, size_t results = 1) {
    run(entry_module(args, body, results));
  }

  void run(const std::string& source) {
    FileId file = sources.add("test.tir", source);
    auto modules = parse_modules(context, file, diagnostics);
    INFO(render_all(diagnostics, {}));
    REQUIRE(modules);
    module = std::move((*modules)[0]);
    PassContext pass{diagnostics, find_machine("cpu:x86-64-v4"), &library, "f", {}};
    Status lowered = graph_to_schedule(*module, pass);
    text = lowered ? print(*module, {.locations = false}) : render_all(diagnostics, {});
    UNSCOPED_INFO(text);
    if (!lowered) return;
    Status verified = verify(*module, diagnostics);
    INFO(render_all(diagnostics, {}));
    INFO(text);
    REQUIRE(verified);
    std::string full = print(*module);
    CHECK(TextFixture().round_trip(full) == full);
  }

  size_t count(const std::string& part) const {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
  bool has(const std::string& part) const { return count(part) != 0; }
};

#define CHECK_COUNT(lowered, part, n)    \
  do {                                   \
    INFO((lowered).text);                \
    CHECK((lowered).count(part) == (n)); \
  } while (false)
#define CHECK_HAS(lowered, part) \
  do {                           \
    INFO((lowered).text);        \
    CHECK((lowered).has(part));  \
  } while (false)

}  // namespace

TEST_CASE("a chain of elementwise ops is one kernel over one axis") {
  Lowered f("%x: tensor<B x S x 4, f32>, %y: tensor<B x S x 4, f32>", R"(
    %0: tensor<B x S x 4, f32> = gir.mul %x, %y
    %1: tensor<B x S x 4, f32> = gir.exp %0
    %2: tensor<B x S x 4, f32> = gir.add %1, %x
    gir.return [%2]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_COUNT(f, "sched.load", 2);
  CHECK_HAS(f, "%x: tensor<d0, f32>, %y: tensor<d0, f32>");
  CHECK_HAS(f, "dims = {d0 = <4*B*S>}");
}

TEST_CASE("a bias is read along columns") {
  Lowered f("%x: tensor<M x N, f32>, %b: tensor<N, bf16>", R"(
    %0: tensor<N, f32> = gir.cast %b
    %1: tensor<M x N, f32> = gir.broadcast %0
    %2: tensor<M x N, f32> = gir.add %x, %1
    gir.return [%2]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_HAS(f, "%b: tensor<d1, bf16>");
  CHECK_COUNT(f, "sched.broadcast", 1);
}

TEST_CASE("a softmax written out is one kernel with whole rows") {
  Lowered f("%x: tensor<B x S x N, f32>", R"(
    %0: tensor<B x S, f32> = gir.reduce %x {axes = [2], kind = "max"}
    %1: tensor<B x S x 1, f32> = gir.reshape %0
    %2: tensor<B x S x N, f32> = gir.broadcast %1
    %3: tensor<B x S x N, f32> = gir.sub %x, %2
    %4: tensor<B x S x N, f32> = gir.exp %3
    %5: tensor<B x S x 1, f32> = gir.reduce %4 {axes = [2], keep = true, kind = "sum"}
    %6: tensor<B x S x N, f32> = gir.broadcast %5
    %7: tensor<B x S x N, f32> = gir.div %4, %6
    gir.return [%7]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_COUNT(f, "sched.load", 1);
  CHECK_COUNT(f, "sched.reduce", 2);
  CHECK_HAS(f, "{block = <d1>, extent = <d1>, grid = false, name = \"j\"}");
}

TEST_CASE("a mean of all elements has one program") {
  Lowered f("%x: tensor<B x N, f32>", R"(
    %0: tensor<f32> = gir.reduce %x {axes = [0, 1], kind = "sum"}
    %1: tensor<i64> = gir.dim {value = <B*N>}
    %2: tensor<f32> = gir.cast %1
    %3: tensor<f32> = gir.div %0, %2
    gir.return [%3]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_COUNT(f, "sched.reduce", 1);
  CHECK_HAS(f, "value = <d0*d1>");
}

TEST_CASE("a sum over rows reads through a transposed window") {
  Lowered f("%x: tensor<M x N, f32>", R"(
    %0: tensor<N, f32> = gir.reduce %x {axes = [0], kind = "sum"}
    gir.return [%0]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_HAS(f, "view<d0 x d1, f32, strides = [1, d0], offset = 0, space = global>");
}

TEST_CASE("a value that others read as well is a further output") {
  Lowered f("%x: tensor<N, f32>", R"(
    %0: tensor<N, f32> = gir.exp %x
    %1: tensor<N, f32> = gir.neg %0
    gir.return [%0, %1]
)",
            2);
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_HAS(f, "outputs = 2");
  CHECK_COUNT(f, "sched.exp", 1);
}

TEST_CASE("a value with a path through another kernel does not join its later reader") {
  Lowered f("%x: tensor<M x N, f32>", R"(
    %0: tensor<M x N, f32> = gir.exp %x
    %1: tensor<M x N, f32> = gir.softmax %0
    %2: tensor<M x N, f32> = gir.sqrt %1
    %3: tensor<M x N, f32> = gir.add %1, %2
    %4: tensor<M x N, f32> = gir.mul %3, %0
    gir.return [%4]
)");
  CHECK_COUNT(f, "sched.kernel", 3);
  CHECK_COUNT(f, "host.launch", 3);
}

TEST_CASE("a transposed operand and a slice are windows") {
  Lowered f("%x: tensor<M x N, f32>, %y: tensor<N x (2*M), f32>", R"(
    %0: tensor<N x M, f32> = gir.transpose %x {perm = [1, 0]}
    %1: tensor<N x M, f32> = gir.slice %y {starts = [0, <M>], steps = [1, 1]}
    %2: tensor<N x M, f32> = gir.add %0, %1
    gir.return [%2]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_COUNT(f, "sched.view", 2);
  CHECK_HAS(f, "block = 64");
}

TEST_CASE("halves are joined by one kernel") {
  Lowered f("%x: tensor<M x 64, f32>", R"(
    %0: tensor<M x 32, f32> = gir.slice %x {starts = [0, 0], steps = [1, 1]}
    %1: tensor<M x 32, f32> = gir.slice %x {starts = [0, 32], steps = [1, 1]}
    %2: tensor<M x 32, f32> = gir.neg %1
    %3: tensor<M x 64, f32> = gir.concat [%2, %0] {axis = 1}
    gir.return [%3]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_COUNT(f, "sched.store", 2);
  CHECK_COUNT(f, "sched.view", 4);
}

TEST_CASE("parts of different extents are taken whole") {
  Lowered f("%x: tensor<M x P, f32>, %y: tensor<M x Q, f32>", R"(
    %0: tensor<M x (P + Q), f32> = gir.concat [%x, %y] {axis = 1}
    gir.return [%0]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_COUNT(f, "grid = false", 2);
  CHECK_HAS(f, "offset = d1");
}

TEST_CASE("bias, activation and cast become the epilogue of a product") {
  Lowered f("%x: tensor<B x S x 768, bf16>, %w: tensor<768 x 3072, bf16>, %b: tensor<3072, bf16>",
            R"(
    %0: tensor<B x S x 3072, f32> = gir.gemm %x, %w {accum = f32}
    %1: tensor<3072, f32> = gir.cast %b
    %2: tensor<B x S x 3072, f32> = gir.broadcast %1
    %3: tensor<B x S x 3072, f32> = gir.add %0, %2
    %4: tensor<B x S x 3072, f32> = gir.gelu %3
    %5: tensor<B x S x 3072, bf16> = gir.cast %4
    gir.return [%5]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_COUNT(f, "sched.hook", 0);
  CHECK_HAS(f, "epilogue = [\"add\", \"gelu\", \"cast\"]");
  CHECK_HAS(f, "%c: tensor<M x 3072, bf16>");
  CHECK_HAS(f, "dims = {M = <B*S>}");
}

TEST_CASE("a residual is added in the epilogue") {
  Lowered f("%x: tensor<B x S x 64, f32>, %w: tensor<64 x 64, f32>, %r: tensor<B x S x 64, f32>",
            R"(
    %0: tensor<B x S x 64, f32> = gir.gemm %x, %w {accum = f32}
    %1: tensor<B x S x 64, f32> = gir.add %r, %0
    gir.return [%1]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_HAS(f, "%r: tensor<M x 64, f32>");
}

TEST_CASE("what has no place in collapsed rows stays out of the epilogue") {
  Lowered f("%x: tensor<B x S x 64, f32>, %w: tensor<64 x 64, f32>, %p: tensor<S x 64, f32>", R"(
    %0: tensor<B x S x 64, f32> = gir.gemm %x, %w {accum = f32}
    %1: tensor<B x S x 64, f32> = gir.broadcast %p
    %2: tensor<B x S x 64, f32> = gir.add %0, %1
    gir.return [%2]
)");
  CHECK_COUNT(f, "sched.kernel", 2);
  CHECK_COUNT(f, "epilogue", 0);
}

TEST_CASE("a transposed factor is read through a window") {
  Lowered f("%x: tensor<M x K, f32>, %w: tensor<N x K, f32>", R"(
    %0: tensor<M x N, f32> = gir.gemm %x, %w {accum = f32, transpose_b = true}
    gir.return [%0]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_HAS(f, "%b: tensor<d1 x d2, f32>");
  CHECK_HAS(f, "view<d2 x d1, f32, strides = [1, d2], offset = 0, space = global>");
}

TEST_CASE("heads are put in order before a batched product, and products of heads are batched") {
  Lowered f("%q: tensor<B x S x H x 64, f32>, %k: tensor<B x H x S x 64, f32>", R"(
    %0: tensor<B x H x S x 64, f32> = gir.transpose %q {perm = [0, 2, 1, 3]}
    %1: tensor<B x H x S x S, f32> = gir.gemm %0, %k {accum = f32, transpose_b = true}
    %2: tensor<B x H x S x S, f32> = gir.full {value = 0.125}
    %3: tensor<B x H x S x S, f32> = gir.mul %1, %2
    gir.return [%3]
)");
  CHECK_COUNT(f, "sched.kernel", 2);
  CHECK_HAS(f, "epilogue = [\"mul\"]");
  CHECK(f.library.asked == std::vector<std::string>{"matmul_batched"});
}

TEST_CASE("a widening cast of an operand is done after the load") {
  Lowered f("%x: tensor<M x N, bf16>", R"(
    %0: tensor<M x N, f32> = gir.cast %x
    %1: tensor<M x N, f32> = gir.softmax %0
    %2: tensor<M x N, bf16> = gir.cast %1
    gir.return [%2]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_COUNT(f, "sched.cast", 2);
  CHECK_HAS(f, "(%x: tensor<M x N, bf16>, %y: tensor<M x N, bf16>)");
}

TEST_CASE("equal computations are one kernel with several launches") {
  Lowered f("%x: tensor<A x 64, f32>, %y: tensor<B x C, f32>, %w: tensor<64 x 64, f32>", R"(
    %0: tensor<A x 64, f32> = gir.gemm %x, %w {accum = f32}
    %1: tensor<A x 64, f32> = gir.gemm %0, %w {accum = f32}
    %2: tensor<B x C, f32> = gir.exp %y
    %3: tensor<A x 64, f32> = gir.exp %x
    gir.return [%1, %2, %3]
)",
            3);
  CHECK_COUNT(f, "sched.kernel", 2);
  CHECK_COUNT(f, "host.launch", 4);
}

TEST_CASE("a kernel that stores its result twice takes no epilogue") {
  Lowered f("%x: tensor<N, f32>", R"(
    %0: tensor<N, f32> = gir.kernel_call [%x] {kernel = @twice}
    %1: tensor<N, f32> = gir.exp %0
    gir.return [%1]
)");
  CHECK_COUNT(f, "sched.kernel", 2);
}

TEST_CASE("results have memory of their own") {
  Lowered f("%x: tensor<N x 2, f32>", R"(
    %0: tensor<2*N, f32> = gir.reshape %x
    %1: tensor<N x 2, f32> = gir.exp %x
    %2: tensor<3, f32> = gir.constant {values = [1.0, 2.0, 3.0]}
    gir.return [%x, %0, %1, %1, %2]
)",
            5);
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_COUNT(f, "host.copy", 4);
}

TEST_CASE("tensors of rank 0 and without elements are lowered") {
  Lowered f("%x: tensor<f32>, %y: tensor<0 x N, f32>, %z: tensor<N x 0, f32>", R"(
    %0: tensor<f32> = gir.exp %x
    %1: tensor<0 x N, f32> = gir.exp %y
    %2: tensor<N, f32> = gir.reduce %z {axes = [1], kind = "sum"}
    gir.return [%0, %1, %2]
)",
            3);
  CHECK_COUNT(f, "sched.kernel", 2);
  CHECK_COUNT(f, "host.fill", 1);
}

TEST_CASE("coordinates are computed where they are used") {
  Lowered f("%x: tensor<S x S, f32>", R"(
    %0: tensor<S x S, i32> = gir.iota {axis = 0}
    %1: tensor<S x S, i32> = gir.iota {axis = 1}
    %2: tensor<S x S, bool> = gir.ge %0, %1
    %3: tensor<S x S, f32> = gir.full {value = -inf}
    %4: tensor<S x S, f32> = gir.select %2, %x, %3
    gir.return [%4]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_COUNT(f, "sched.iota", 2);
  CHECK_COUNT(f, "sched.load", 1);
}

TEST_CASE("a dim that no operand has is brought by one more") {
  Lowered f("%x: tensor<N, f32>, %y: tensor<B x 3, f32>", R"(
    %0: tensor<i64> = gir.dim {value = <B>}
    %1: tensor<f32> = gir.cast %0
    %2: tensor<N, f32> = gir.broadcast %1
    %3: tensor<N, f32> = gir.mul %x, %2
    gir.return [%3]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_HAS(f, "%1: tensor<B x 0, u8> = host.alias %0");  // no argument counts as read for the sake of its dims
  CHECK_HAS(f, "host.launch [%x, %1]");
}

TEST_CASE("a reshape of a transposed tensor copies it first") {
  Lowered f("%x: tensor<B x S x H x D, f32>", R"(
    %0: tensor<B x H x S x D, f32> = gir.transpose %x {perm = [0, 2, 1, 3]}
    %1: tensor<(B*H) x (D*S), f32> = gir.reshape %0
    %2: tensor<(B*H) x (D*S), f32> = gir.exp %1
    gir.return [%2]
)");
  CHECK_COUNT(f, "sched.kernel", 2);
}

TEST_CASE("an embedding takes ids of any rank") {
  Lowered f("%ids: tensor<B x S, i32>, %t: tensor<V x 64, bf16>", R"(
    %0: tensor<B x S x 64, bf16> = gir.embedding %ids, %t
    %1: tensor<B x S x 64, f32> = gir.cast %0
    gir.return [%1]
)");
  CHECK_COUNT(f, "sched.kernel", 1);
  CHECK_HAS(f, "epilogue = [\"cast\"]");
}

TEST_CASE("policies that kernels do not know are refused") {
  Lowered refused("%x: tensor<N, f32>", "%0: tensor<N, bf16 stochastic_round> = gir.cast %x\ngir.return [%0]\n");
  CHECK_HAS(refused, "policy '@stochastic_round' of 'gir.cast' is not implemented [unsupported-policy]");
  // Only bounds that the operand can pass are looked at.
  Lowered narrowed("%x: tensor<N, i32>", "%0: tensor<N, i8 saturate> = gir.cast %x\ngir.return [%0]\n");
  CHECK_COUNT(narrowed, "sched.min", 1);
  CHECK_COUNT(narrowed, "sched.max", 1);
  Lowered without_sign("%x: tensor<N, i8>", "%0: tensor<N, u32 saturate> = gir.cast %x\ngir.return [%0]\n");
  CHECK_COUNT(without_sign, "sched.min", 0);
  CHECK_COUNT(without_sign, "sched.max", 1);
  Lowered widened("%x: tensor<N, bf16>", R"(
    %0: tensor<N, f32 saturate> = gir.cast %x
    %1: tensor<N, f32> = gir.neg %0
    gir.return [%1]
)");
  CHECK_COUNT(widened, "sched.min", 1);
  Lowered moved("%x: tensor<N, bf16 stochastic_round>", R"(
    %0: tensor<N x 1, bf16 stochastic_round> = gir.reshape %x
    gir.return [%0]
)");
  CHECK(moved.text.find("unsupported-policy") == std::string::npos);
}

TEST_CASE("what cannot be lowered is said") {
  TextFixture fixture;
  Lowered random("%s: tensor<u64>", R"(
    %0: tensor<8, f32> = gir.philox_uniform %s {stream = 1}
    gir.return [%0]
)");
  CHECK_HAS(random, "'gir.philox_uniform' cannot be lowered to a kernel [unsupported-graph-op]");
  Lowered wrong("%x: tensor<N, f32>", R"(
    %0: tensor<N, bf16> = gir.kernel_call [%x] {kernel = @twice}
    gir.return [%0]
)");
  CHECK_HAS(
      wrong,
      "kernel 'twice' gives tensor<N, f32> where the graph has tensor<N, bf16> [kernel-gives]");
}

TEST_CASE("without kernels or without the entry nothing is lowered") {
  TextFixture fixture;
  FileId file = fixture.sources.add("t.tir", R"(module @f level(graph) version(1) {
gir.func @f(%x: tensor<M x N, f32>) {args = [{kind = "input", name = "x"}], results = [{name = "y"}], role = "entry"} {
  %0: tensor<M x N, f32> = gir.softmax %x
  gir.return [%0]
}
}
)");
  auto modules = parse_modules(fixture.context, file, fixture.diagnostics);
  REQUIRE(modules);
  PassContext missing{fixture.diagnostics, nullptr, nullptr, "g", {}};
  CHECK(graph_to_schedule(*(*modules)[0], missing).failed());
  PassContext context{fixture.diagnostics, nullptr, nullptr, "", {}};
  CHECK(graph_to_schedule(*(*modules)[0], context).failed());
  std::string report = render_all(fixture.diagnostics, {});
  CHECK(report.find("there is no function '@g' to lower [unknown-entry]") != std::string::npos);
  CHECK(report.find("'gir.softmax' needs kernel 'softmax'") != std::string::npos);
}

TEST_CASE("dedupe_kernels keeps one of equal kernels") {
  TextFixture fixture;
  std::string kernel =
      R"((%x: tensor<N, f32>, %y: tensor<N, f32>) {axes = [{block = 8, extent = <N>, grid = true, name = "n"}], outputs = 1, schedule = {}} {
  sched.tile {axes = ["n"]} do(%i: i64) {
    %0: tile<8, f32> = sched.load %x, [%i]
    %1: tile<8, f32> = sched.exp %0
    sched.store %1, %y, [%i]
    sched.yield []
  }
  sched.return
}
)";
  FileId file =
      fixture.sources.add("t.tir", "module @f level(schedule) version(1) {\nsched.kernel @a" +
                                       kernel + "sched.kernel @b" + kernel + R"(
host.func @f(%x: tensor<N, f32>) {args = [{kind = "input", name = "x"}], results = [{name = "y"}]} {
  %0: tensor<N, f32> = host.launch [%x], [] {dims = {N = <N>}, kernel = @a}
  %1: tensor<N, f32> = host.launch [%0], [] {dims = {N = <N>}, kernel = @b}
  host.return [%1]
}
}
)");
  auto modules = parse_modules(fixture.context, file, fixture.diagnostics);
  INFO(render_all(fixture.diagnostics, {}));
  REQUIRE(modules);
  PassContext context{fixture.diagnostics};
  REQUIRE(dedupe_kernels(*(*modules)[0], context));
  CHECK((*modules)[0]->find("b") == nullptr);
  CHECK(verify(*(*modules)[0], fixture.diagnostics));
}
