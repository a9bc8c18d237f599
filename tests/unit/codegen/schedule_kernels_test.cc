// Kernels from the schedule level through all passes, compiled, against the Tile interpreter on the same fragments.

#include <fmt/format.h>

#include "unit/codegen/compiled_kernel.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// y = a x b with blocks of m x n x k; operands of `dtype`.
std::string gemm(int m, int n, int k, const std::string& dtype, const std::string& schedule = "") {
  return fmt::format(
      R"(  sched.kernel @mm.0(%a: tensor<M x K, {3}>, %b: tensor<K x N, {3}>, %y: tensor<M x N, f32>) {{axes = [{{block = {0}, extent = <M>, grid = true, name = "m"}}, {{block = {1}, extent = <N>, grid = true, name = "n"}}, {{block = {2}, extent = <K>, grid = false, name = "k"}}], outputs = 1, schedule = {{{4}}}}} {{
    sched.tile {{axes = ["m", "n"]}} do(%i: i64, %j: i64) {{
      %z: tile<{0} x {1}, f32> = sched.full {{value = 0.0}}
      %acc: tile<{0} x {1}, f32> = sched.pipeline [%z], [] {{axis = "k", count = <ceildiv(K, {2})>}} do(%k: i64, %c: tile<{0} x {1}, f32>) {{
        %x: tile<{0} x {2}, {3}> = sched.load %a, [%i, %k]
        %v: tile<{2} x {1}, {3}> = sched.load %b, [%k, %j]
        %d: tile<{0} x {1}, f32> = sched.dot %x, %v, %c
        sched.yield [%d]
      }}
      sched.store %acc, %y, [%i, %j]
      sched.yield []
    }}
    sched.return
  }}
)",
      m, n, k, dtype, schedule);
}

/// Instructions of one stretch of assembly between labels.
struct Stretch {
  int products = 0;
  int broadcasts = 0;
  int moves = 0;  ///< between vector registers
  int stack = 0;  ///< operands on the stack
};

/// The stretches that hold products.
std::vector<Stretch> product_stretches(const std::string& assembly) {
  std::vector<Stretch> found(1);
  for (size_t at = 0; at < assembly.size();) {
    size_t end = std::min(assembly.find('\n', at), assembly.size());
    std::string_view line(assembly.data() + at, end - at);
    at = end + 1;
    auto has = [&](std::string_view text) { return line.find(text) != std::string_view::npos; };
    if (has(":")) found.emplace_back();
    found.back().products += has("vfmadd");
    found.back().broadcasts += has("vbroadcastss");
    found.back().moves += (has("vmovap") || has("vmovdqa")) && !has("(");
    found.back().stack += has("(%rsp)");
  }
  std::erase_if(found, [](const Stretch& stretch) { return stretch.products == 0; });
  return found;
}

/// Each loop over k is one product a row and register, one broadcast a row, and nothing else in vector registers.
void check_inner_loops(const char* machine, int rows, int registers) {
  std::string columns = std::to_string(registers * int(find_machine(machine)->lanes(4)));
  TileTest test(schedule_module(gemm(112, 256, 256, "f32",
                                     fmt::format("fragment = [{}, {}], packing = \"both\"", rows, columns))),
                machine);
  test.to_tiles();
  REQUIRE(test.to_fragments());
  LoweredModule lowered(test.text(), *find_machine(machine));
  REQUIRE(lowered.messages() == "");
  std::vector<Stretch> stretches = product_stretches(lowered.assembly());
  CHECK(stretches.size() >= 4);
  for (const Stretch& stretch : stretches) {
    INFO(machine);
    CHECK(stretch.products == rows * registers);
    CHECK(stretch.broadcasts == rows);
    CHECK(stretch.moves == 0);
    CHECK(stretch.stack == 0);
  }
}

}  // namespace

TEST_CASE("the inner loop of a product keeps its accumulators in registers") {
  check_inner_loops("cpu:x86-64-v4", 14, 2);
  check_inner_loops("cpu:x86-64-v3", 6, 2);
}

TEST_CASE("products are those of the interpreter, bit for bit, at all edges") {
  std::vector<DimValues> sizes;
  for (int64_t m : {1, 7, 41}) {
    for (int64_t n : {1, 33, 100}) {
      for (int64_t k : {0, 1, 41}) sizes.push_back({{"K", k}, {"M", m}, {"N", n}});
    }
  }
  sizes.push_back({{"K", 130}, {"M", 65}, {"N", 129}});
  for (const char* dtype : {"f32", "bf16", "f16"}) check_schedule_kernel(gemm(64, 96, 32, dtype), sizes);
}

TEST_CASE("a factor that is stored transposed gives the same bits") {
  std::string text = gemm(64, 96, 32, "f32", "packing = \"both\"");
  auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("%b: tensor<K x N, f32>", "%b: tensor<N x K, f32>");
  replace("    sched.tile",
          "    %w: view<K x N, f32, strides = [1, K], offset = 0, space = global> = sched.view %b\n    sched.tile");
  replace("sched.load %b", "sched.load %w");
  check_schedule_kernel(text, {{{"K", 50}, {"M", 65}, {"N", 129}}, {{"K", 16}, {"M", 7}, {"N", 1}}});
}

TEST_CASE("a row softmax is that of the interpreter") {
  check_schedule_kernel(
      R"(  sched.kernel @k(%x: tensor<M x N, f32>, %y: tensor<M x N, f32>) {axes = [{block = 4, extent = <M>, grid = true, name = "m"}, {block = <N>, extent = <N>, grid = true, name = "n"}], outputs = 1, schedule = {}} {
    sched.tile {axes = ["m", "n"]} do(%i: i64, %j: i64) {
      %a: tile<4 x N, f32> = sched.load %x, [%i, %j]
      %m: tile<4, f32> = sched.reduce %a {axis = 1, kind = "max"}
      %n: tile<4 x 1, f32> = sched.reshape %m
      %o: tile<4 x N, f32> = sched.broadcast %n
      %d: tile<4 x N, f32> = sched.sub %a, %o
      %e: tile<4 x N, f32> = sched.exp %d
      %s: tile<4, f32> = sched.reduce %e {axis = 1, kind = "sum"}
      %t: tile<4 x 1, f32> = sched.reshape %s
      %u: tile<4 x N, f32> = sched.broadcast %t
      %r: tile<4 x N, f32> = sched.div %e, %u
      sched.store %r, %y, [%i, %j]
      sched.yield []
    }
    sched.return
  }
)",
      {{{"M", 5}, {"N", 1}}, {{"M", 8}, {"N", 50}}, {{"M", 3}, {"N", 300}}}, 1e-6);
}
