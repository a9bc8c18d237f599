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
      %acc: tile<{0} x {1}, f32> = sched.pipeline [%z], [] {{axis = "k", count = <ceildiv(K, {2})>}} do(%k: i64, %c: tile<{0} x {1}, f32>) {{
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

TEST_CASE("a product with bias and gelu, of bf16, with every choice of packing") {
  std::vector<DimValues> sizes = {{{"K", 33}, {"M", 41}, {"N", 97}},
                                  {{"K", 16}, {"M", 1}, {"N", 7}}};
  for (const char* packing : {"none", "a", "b", "both"}) {
    std::string schedule = fmt::format("packing = \"{}\", unroll = 8", packing);
    for (const char* machine : {"cpu:x86-64-v4", "cpu:x86-64-v3"}) {
      check_split(gemm(64, 96, 32, "bf16", true, schedule), sizes, 0, machine);
    }
  }
  check_split(gemm(30, 56, 20, "f16", true, "fragment = [5, 32]"), sizes, 0);
}

TEST_CASE("small blocks of rows need no panels for the right operand") {
  for (int rows : {1, 2, 5, 13}) {
    check_split(gemm(rows, 200, 64), {{{"K", 70}, {"M", 9}, {"N", 333}}}, 0);
  }
  TileTest test(schedule_module(gemm(1, 256, 64)));
  test.to_tiles();
  REQUIRE(test.to_fragments());
  CHECK(test.count("tile.alloc") == 0);
}

TEST_CASE("the innermost loop of a product is loads, broadcasts and one fma") {
  std::string text = gemm(64, 96, 32);
  for (auto [from, to] : {std::pair{"M x K", "128 x 512"},
                          {"K x N", "512 x 192"},
                          {"M x N", "128 x 192"},
                          {"<N, f32>", "<192, f32>"},
                          {"<M>", "128"},
                          {"<N>", "192"},
                          {"<K>", "512"},
                          {"<ceildiv(K, 32)>", "16"}}) {
    text = replace_all(text, from, to);
  }
  TileTest test(schedule_module(text));
  test.to_tiles();
  REQUIRE(test.to_fragments());
  INFO(test.text());
  // All extents divide: nothing has limits, and there are no tails.
  walk(test.kernel(), [&](Op* op) {
    if (op->name() == "tile.load") CHECK(op->slot_size(tile::in::Load::limits) == 0);
    if (op->name() == "tile.store") CHECK(op->slot_size(tile::in::Store::limits) == 0);
  });
  CHECK(test.count("tile.alloc") == 2);
  CHECK(test.count("tile.fma") == 1);
  CHECK(test.count("tile.store") == 3);
  CHECK(test.count("tile.merge") == 0);
  Op* fma = nullptr;
  walk(test.kernel(), [&](Op* op) {
    if (op->name() == "tile.fma") fma = op;
  });
  CHECK(fma->result()->type()->text == "tile<8 x 48, f32>");
  std::map<std::string, int> inner;
  for (Op* op : *fma->block()) ++inner[std::string(op->name())];
  CHECK(inner == std::map<std::string, int>{{"tile.add", 1},
                                            {"tile.broadcast", 2},
                                            {"tile.fma", 1},
                                            {"tile.load", 2},
                                            {"tile.yield", 1}});
  CHECK_FALSE(fma->parent()->has(tile::attr::For::unroll));
}

TEST_CASE("the register block fits the machine") {
  auto block = [](const std::string& text, const char* machine) {
    TileTest test(schedule_module(text), machine);
    test.to_tiles();
    REQUIRE(test.to_fragments());
    std::string type;
    walk(test.kernel(), [&](Op* op) {
      if (op->name() == "tile.fma") type = op->result()->type()->text;
    });
    return type;
  };
  CHECK(block(gemm(64, 96, 32), "cpu:x86-64-v4") == "tile<8 x 48, f32>");
  CHECK(block(gemm(64, 96, 32), "cpu:x86-64-v3") == "tile<6 x 16, f32>");
  CHECK(block(gemm(4, 96, 32), "cpu:x86-64-v4") == "tile<4 x 96, f32>");
  CHECK(block(gemm(1, 256, 32), "cpu:x86-64-v3") == "tile<1 x 64, f32>");
  CHECK(block(gemm(64, 96, 32, "f32", false, "fragment = [12, 32]"), "cpu:x86-64-v4") ==
        "tile<12 x 32, f32>");
}

namespace {

/// A kernel over b, m, n, k with `body` inside of the grid.
std::string batched(const std::string& parameters, const std::string& body) {
  return fmt::format(
             "  sched.kernel @k.0({}) {{axes = [{}, {}, {}, {}], outputs = 1, schedule = {{}}}} "
             "{{\n",
             parameters, axis("b", "<B>", "1"), axis("m", "<M>", "24"), axis("n", "<N>", "64"),
             axis("k", "<K>", "16", false)) +
         "    sched.tile {axes = [\"b\", \"m\", \"n\"]} do(%b: i64, %i: i64, %j: i64) {\n" + body +
         "      sched.yield []\n    }\n    sched.return\n  }\n";
}

const std::vector<DimValues> batched_sizes = {{{"B", 2}, {"K", 19}, {"M", 30}, {"N", 70}},
                                              {{"B", 1}, {"K", 1}, {"M", 1}, {"N", 1}},
                                              {{"B", 2}, {"K", 48}, {"M", 24}, {"N", 64}}};

}  // namespace

TEST_CASE("batched products of transposed operands, two at once") {
  std::string body = R"(      %z: tile<24 x 64, f32> = sched.full {value = 0.0}
      %bt: view<B x K x N, f32, strides = [K*N, 1, K], offset = 0, space = global> = sched.view %w
      %s: tile<24 x 64, f32>, %g: tile<24 x 64, f32> = sched.pipeline [%z, %z], [] {axis = "k", count = <ceildiv(K, 16)>} do(%k: i64, %c0: tile<24 x 64, f32>, %c1: tile<24 x 64, f32>) {
        %x0: tile<1 x 16 x 24, f32> = sched.load %x, [%b, %k, %i]
        %x1: tile<16 x 24, f32> = sched.reshape %x0
        %x2: tile<24 x 16, f32> = sched.transpose %x1 {perm = [1, 0]}
        %v0: tile<1 x 16 x 64, f32> = sched.load %bt, [%b, %k, %j]
        %v1: tile<16 x 64, f32> = sched.reshape %v0
        %d0: tile<24 x 64, f32> = sched.dot %x2, %v1, %c0
        %x3: tile<24 x 16, f32> = sched.neg %x2
        %d1: tile<24 x 64, f32> = sched.dot %x3, %v1, %c1
        sched.yield [%d0, %d1]
      }
      %a: tile<24 x 64, f32> = sched.silu %s
      %h: tile<24 x 64, f32> = sched.mul %a, %g
      %o: tile<1 x 24 x 64, f32> = sched.reshape %h
      sched.store %o, %y, [%b, %i, %j]
)";
  std::string text = batched(
      "%x: tensor<B x K x M, f32>, %w: tensor<B x N x K, f32>, %y: tensor<B x M x N, f32>", body);
  for (const char* machine : {"cpu:x86-64-v4", "cpu:x86-64-v3"})
    check_split(text, batched_sizes, 0, machine);
}

TEST_CASE("products of integers and of doubles") {
  auto product = [](const std::string& from, const std::string& to) {
    return batched(fmt::format("%x: tensor<M x K, {0}>, %w: tensor<K x N, {0}>, %y: tensor<B x M x N, {1}>", from, to),
                   fmt::format(R"(      %z: tile<24 x 64, {1}> = sched.full {{value = 0}}
      %s: tile<24 x 64, {1}> = sched.pipeline [%z], [] {{axis = "k", count = <ceildiv(K, 16)>}} do(%k: i64, %c0: tile<24 x 64, {1}>) {{
        %x0: tile<24 x 16, {0}> = sched.load %x, [%i, %k]
        %v0: tile<16 x 64, {0}> = sched.load %w, [%k, %j]
        %d0: tile<24 x 64, {1}> = sched.dot %x0, %v0, %c0
        sched.yield [%d0]
      }}
      %o: tile<1 x 24 x 64, {1}> = sched.reshape %s
      sched.store %o, %y, [%b, %i, %j]
)",
                               from, to));
  };
  check_split(product("i8", "i32"), batched_sizes, 0);
  check_split(product("f64", "f64"), batched_sizes, 0);
  check_split(product("i32", "i32"), batched_sizes, 0, "cpu:x86-64-v3");
}

TEST_CASE("a row softmax of a product: columns that are coupled go through scratch memory") {
  std::string body = R"(      %z: tile<24 x N, f32> = sched.full {value = 0.0}
      %x0: tile<24 x K, f32> = sched.load %x, [%i, %zero]
      %v0: tile<K x N, f32> = sched.load %w, [%zero, %zero]
      %d: tile<24 x N, f32> = sched.dot %x0, %v0, %z
      %m: tile<24, f32> = sched.reduce %d {axis = 1, kind = "max"}
      %m1: tile<24 x 1, f32> = sched.reshape %m
      %m2: tile<24 x N, f32> = sched.broadcast %m1
      %t: tile<24 x N, f32> = sched.sub %d, %m2
      %e: tile<24 x N, f32> = sched.exp %t
      %s: tile<24, f32> = sched.reduce %e {axis = 1, kind = "sum"}
      %s1: tile<24 x 1, f32> = sched.reshape %s
      %s2: tile<24 x N, f32> = sched.broadcast %s1
      %o: tile<24 x N, f32> = sched.div %e, %s2
      sched.store %o, %y, [%i, %zero]
)";
  std::string text =
      fmt::format(
          "  sched.kernel @k.0(%x: tensor<M x K, f32>, %w: tensor<K x N, f32>, %y: tensor<M x N, "
          "f32>) {{axes = [{}], "
          "outputs = 1, schedule = {{}}}} {{\n    sched.tile {{axes = [\"m\"]}} do(%i: i64) {{\n"
          "      %zero: i64 = sched.constant {{value = 0}}\n",
          axis("m", "<M>", "24")) +
      body + "      sched.yield []\n    }\n    sched.return\n  }\n";
  for (const char* machine : {"cpu:x86-64-v4", "cpu:x86-64-v3"}) {
    check_split(text, {{{"K", 19}, {"M", 30}, {"N", 70}}, {{"K", 16}, {"M", 3}, {"N", 5}}}, 1e-6,
                machine);
  }
}
