// What a kernel computes does not depend on how it is cut into fragments: whole tiles and fragments
// run on the same inputs, and the results agree (bit for bit where no reduction is reordered).

#include <fmt/format.h>

#include "unit/passes/tile_fixture.h"

using namespace tessera;

namespace {

std::string axis(const std::string& name, const std::string& extent, const std::string& block,
                 bool grid = true) {
  return fmt::format("{{block = {}, extent = {}, grid = {}, name = \"{}\"}}", block, extent, grid,
                     name);
}

/// y = epilogue(a x b) with blocks of m x n x k; operands of `dtype`.
std::string gemm(int m, int n, int k, const std::string& dtype = "f32", bool epilogue = false,
                 const std::string& schedule = "") {
  std::string text = fmt::format(
      "  sched.kernel @mm.0(%a: tensor<M x K, {}>, %b: tensor<K x N, {}>, %bias: tensor<N, f32>, "
      "%y: tensor<M x N, f32>) ",
      dtype, dtype);
  text += fmt::format("{{axes = [{}, {}, {}], outputs = 1, schedule = {{{}}}}} {{\n",
                      axis("m", "<M>", std::to_string(m)), axis("n", "<N>", std::to_string(n)),
                      axis("k", "<K>", std::to_string(k), false), schedule);
  text += fmt::format(R"(    sched.tile {{axes = ["m", "n"]}} do(%i: i64, %j: i64) {{
      %z: tile<{0} x {1}, f32> = sched.full {{value = 0.0}}
      %acc: tile<{0} x {1}, f32> = sched.pipeline [%z] {{axis = "k", count = <ceildiv(K, {2})>}} do(%k: i64, %c: tile<{0} x {1}, f32>) {{
        %x: tile<{0} x {2}, {3}> = sched.load %a, [%i, %k]
        %v: tile<{2} x {1}, {3}> = sched.load %b, [%k, %j]
        %d: tile<{0} x {1}, f32> = sched.dot %x, %v, %c
        sched.yield [%d]
      }}
)",
                      m, n, k, dtype);
  if (epilogue) {
    text += fmt::format(R"(      %b1: tile<{1}, f32> = sched.load %bias, [%j]
      %b2: tile<1 x {1}, f32> = sched.reshape %b1
      %b3: tile<{0} x {1}, f32> = sched.broadcast %b2
      %s: tile<{0} x {1}, f32> = sched.add %acc, %b3
      %g: tile<{0} x {1}, f32> = sched.gelu %s
      sched.store %g, %y, [%i, %j]
)",
                        m, n);
  } else {
    text += "      sched.store %acc, %y, [%i, %j]\n";
  }
  return text + "      sched.yield []\n    }\n    sched.return\n  }\n";
}

std::vector<DimValues> all_sizes(const std::vector<int64_t>& values) {
  std::vector<DimValues> sizes;
  for (int64_t m : values) {
    for (int64_t n : values) {
      for (int64_t k : values) sizes.push_back({{"K", k}, {"M", m}, {"N", n}});
    }
  }
  return sizes;
}

}  // namespace

TEST_CASE("a product is the same in fragments, at all edges") {
  // The order of k is kept, so that even a product agrees bit for bit.
  check_split(gemm(64, 96, 32), all_sizes({0, 1, 7, 41}), 0);
  check_split(gemm(64, 96, 32),
              {{{"K", 127}, {"M", 129}, {"N", 129}}, {{"K", 129}, {"M", 127}, {"N", 7}}}, 0);
  check_split(gemm(48, 80, 24), all_sizes({1, 41}), 0, "cpu:x86-64-v3");
  check_split(gemm(48, 80, 24), {{{"K", 127}, {"M", 50}, {"N", 129}}}, 0, "cpu:x86-64-v3");
}
