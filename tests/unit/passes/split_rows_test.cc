// Kernels of rows, of elements and of tables in fragments: softmax, norms, cross-entropy,
// embeddings, reductions along any axis, views with any strides.

#include <fmt/format.h>

#include "unit/passes/tile_fixture.h"

using namespace tessera;

namespace {

/// A kernel over the axes b (block `rows`) and d (block `columns`), both on the grid unless `loop`
/// says that d is not.
std::string kernel(const std::string& parameters, const std::string& rows,
                   const std::string& columns, const std::string& body, int outputs = 1,
                   bool loop = false) {
  std::string grid = loop ? "[\"b\"]) do(%i: i64)" : "[\"b\", \"d\"]) do(%i: i64, %j: i64)";
  std::string text = fmt::format(
      "  sched.kernel @k.0({}) {{axes = [{{block = {}, extent = <B>, grid = true, name = \"b\"}}, "
      "{{block = {}, extent = <D>, grid = {}, name = \"d\"}}], outputs = {}, schedule = {{}}}} "
      "{{\n",
      parameters, rows, columns, loop ? "false" : "true", outputs);
  text += loop ? "    sched.tile {axes = [\"b\"]} do(%i: i64) {\n"
               : "    sched.tile {axes = [\"b\", \"d\"]} do(%i: i64, %j: i64) {\n";
  return text + body + "      sched.yield []\n    }\n    sched.return\n  }\n";
}

const std::vector<DimValues> row_sizes = {{{"B", 3}, {"D", 1}},   {{"B", 2}, {"D", 7}},
                                          {{"B", 1}, {"D", 64}},  {{"B", 5}, {"D", 65}},
                                          {{"B", 2}, {"D", 200}}, {{"B", 0}, {"D", 9}}};

const char* const xy = "%x: tensor<B x D, f32>, %y: tensor<B x D, f32>";

std::string softmax_body(const std::string& r, const std::string& c) {
  return fmt::format(R"(      %v: tile<{0} x {1}, f32> = sched.load %x, [%i, %j] {{fill = -inf}}
      %m: tile<{0}, f32> = sched.reduce %v {{axis = 1, kind = "max"}}
      %m1: tile<{0} x 1, f32> = sched.reshape %m
      %m2: tile<{0} x {1}, f32> = sched.broadcast %m1
      %t: tile<{0} x {1}, f32> = sched.sub %v, %m2
      %e: tile<{0} x {1}, f32> = sched.exp %t
      %s: tile<{0}, f32> = sched.reduce %e {{axis = 1, kind = "sum"}}
      %s1: tile<{0} x 1, f32> = sched.reshape %s
      %s2: tile<{0} x {1}, f32> = sched.broadcast %s1
      %o: tile<{0} x {1}, f32> = sched.div %e, %s2
      sched.store %o, %y, [%i, %j]
)",
                     r, c);
}

const char* const machines[] = {"cpu:x86-64-v4", "cpu:x86-64-v3"};

}  // namespace

TEST_CASE("softmax is the same in fragments, for whole rows and for padded ones") {
  for (const char* machine : machines) {
    check_split(kernel(xy, "1", "<D>", softmax_body("1", "D")), row_sizes, 1e-6, machine);
    check_split(kernel(xy, "3", "<D>", softmax_body("3", "D")), row_sizes, 1e-6, machine);
    // A constant row of 256 that is at least as long as the tensor's.
    check_split(kernel(xy, "2", "256", softmax_body("2", "256")), row_sizes, 1e-6, machine);
  }
}

TEST_CASE("softmax computes its exponentials once") {
  TileTest test(schedule_module(kernel(xy, "1", "<D>", softmax_body("1", "D"))));
  test.to_tiles();
  REQUIRE(test.to_fragments());
  INFO(test.text());
  // In the main loop and in the tail of the second stage; the third reads them back.
  CHECK(test.count("tile.exp") == 2);
  CHECK(test.count("tile.alloc") == 1);
  CHECK(test.count("tile.for") == 6);
}

TEST_CASE("a row that is one fragment stays in registers") {
  std::string text = kernel(xy, "1", "64", softmax_body("1", "64"));
  text = replace_all(replace_all(text, "B x D,", "B x 64,"), "extent = <D>", "extent = 64");
  TileTest test(schedule_module(text));
  test.to_tiles();
  REQUIRE(test.to_fragments());
  INFO(test.text());
  CHECK(test.count("tile.exp") == 1);
  CHECK(test.count("tile.load") == 1);
  CHECK(test.count("tile.for") == 0);
  CHECK(test.count("tile.alloc") == 0);
  check_split(text, {{{"B", 3}}}, 1e-6);
}

TEST_CASE("rmsnorm with a scale of bf16 is the same in fragments") {
  std::string body = R"(      %v: tile<2 x D, bf16> = sched.load %x, [%i, %j]
      %f: tile<2 x D, f32> = sched.cast %v
      %q: tile<2 x D, f32> = sched.mul %f, %f
      %s: tile<2, f32> = sched.reduce %q {axis = 1, kind = "sum"}
      %n: i64 = sched.dim {value = <D>}
      %nf: f32 = sched.cast %n
      %ns: tile<2, f32> = sched.splat %nf
      %mean: tile<2, f32> = sched.div %s, %ns
      %eps: f32 = sched.constant {value = 1e-06}
      %epss: tile<2, f32> = sched.splat %eps
      %a: tile<2, f32> = sched.add %mean, %epss
      %r: tile<2, f32> = sched.rsqrt %a
      %r1: tile<2 x 1, f32> = sched.reshape %r
      %r2: tile<2 x D, f32> = sched.broadcast %r1
      %g: tile<D, bf16> = sched.load %w, [%j]
      %g1: tile<1 x D, bf16> = sched.reshape %g
      %g2: tile<2 x D, bf16> = sched.broadcast %g1
      %gf: tile<2 x D, f32> = sched.cast %g2
      %h: tile<2 x D, f32> = sched.mul %f, %r2
      %o: tile<2 x D, f32> = sched.mul %h, %gf
      %ob: tile<2 x D, bf16> = sched.cast %o
      sched.store %ob, %y, [%i, %j]
)";
  std::string text = kernel("%x: tensor<B x D, bf16>, %w: tensor<D, bf16>, %y: tensor<B x D, bf16>",
                            "2", "<D>", body);
  for (const char* machine : machines) check_split(text, row_sizes, 0.01, machine);
}

TEST_CASE("cross-entropy picks the target without a gather") {
  std::string body = R"(      %v: tile<4 x D, f32> = sched.load %x, [%i, %j]
      %t: tile<4, i64> = sched.load %ids, [%i]
      %m: tile<4, f32> = sched.reduce %v {axis = 1, kind = "max"}
      %m1: tile<4 x 1, f32> = sched.reshape %m
      %m2: tile<4 x D, f32> = sched.broadcast %m1
      %d: tile<4 x D, f32> = sched.sub %v, %m2
      %e: tile<4 x D, f32> = sched.exp %d
      %s: tile<4, f32> = sched.reduce %e {axis = 1, kind = "sum"}
      %l: tile<4, f32> = sched.log %s
      %c: tile<4 x D, i64> = sched.iota {axis = 1}
      %t1: tile<4 x 1, i64> = sched.reshape %t
      %t2: tile<4 x D, i64> = sched.broadcast %t1
      %is: tile<4 x D, bool> = sched.eq %c, %t2
      %z: tile<4 x D, f32> = sched.full {value = 0.0}
      %p: tile<4 x D, f32> = sched.select %is, %d, %z
      %g: tile<4, f32> = sched.reduce %p {axis = 1, kind = "sum"}
      %o: tile<4, f32> = sched.sub %l, %g
      sched.store %o, %y, [%i]
)";
  std::string text =
      kernel("%x: tensor<B x D, f32>, %ids: tensor<B, i64>, %y: tensor<B, f32>", "4", "<D>", body);
  for (const char* machine : machines) check_split(text, row_sizes, 1e-6, machine);
}

TEST_CASE("an embedding reads rows by number; one outside of the table is NaN") {
  std::string body = R"(      %t: tile<8, i32> = sched.load %ids, [%i]
      %r: tile<8 x 48, f32> = sched.gather %x, %t, %j
      sched.store %r, %y, [%i, %j]
)";
  std::string text = kernel("%x: tensor<V x D, f32>, %ids: tensor<B, i32>, %y: tensor<B x D, f32>",
                            "8", "48", body);
  for (const char* machine : machines) {
    // Numbers are 0 to 4, the table has 3 rows.
    check_split(text, {{{"B", 11}, {"D", 100}, {"V", 3}}, {{"B", 1}, {"D", 7}, {"V", 9}}}, 0,
                machine);
  }
}

TEST_CASE("elementwise chains with broadcasts and transposed views agree bit for bit") {
  std::string body =
      R"(      %t: view<B x D, f32, strides = [1, B], offset = 0, space = global> = sched.view %xt
      %a: tile<40 x 72, f32> = sched.load %x, [%i, %j]
      %b: tile<40 x 72, f32> = sched.load %t, [%i, %j]
      %w: tile<72, f32> = sched.load %u, [%j]
      %w1: tile<1 x 72, f32> = sched.reshape %w
      %w2: tile<40 x 72, f32> = sched.broadcast %w1
      %at: tile<72 x 40, f32> = sched.transpose %a {perm = [1, 0]}
      %ag: tile<72 x 40, f32> = sched.tanh %at
      %ab: tile<40 x 72, f32> = sched.transpose %ag {perm = [1, 0]}
      %s: tile<40 x 72, f32> = sched.mul %ab, %b
      %q: tile<40 x 72, bool> = sched.lt %s, %w2
      %o: tile<40 x 72, f32> = sched.select %q, %s, %w2
      %h: tile<40 x 72, f16> = sched.cast %o
      sched.store %h, %y, [%i, %j]
      sched.store %q, %z, [%i, %j]
)";
  std::string text = kernel(
      "%x: tensor<B x D, f32>, %xt: tensor<D x B, f32>, %u: tensor<D, f32>, %y: tensor<B x D, "
      "f16>, "
      "%z: tensor<B x D, bool>",
      "40", "72", body, 2);
  std::vector<DimValues> sizes = row_sizes;
  sizes.push_back({{"B", 83}, {"D", 150}});
  for (const char* machine : machines) check_split(text, sizes, 0, machine);
}

TEST_CASE("reductions along rows, columns and both") {
  auto reduce = [](const std::string& dtype, const std::string& kind, int axis) {
    std::string left = axis == 1 ? "B" : "D", index = axis == 1 ? "%i" : "%j";
    std::string r = axis == 1 ? "5" : "B", c = axis == 1 ? "D" : "40",
                kept = axis == 1 ? "5" : "40";
    std::string body = fmt::format(R"(      %v: tile<{0} x {1}, {2}> = sched.load %x, [%i, %j]
      %m: tile<{3}, {2}> = sched.reduce %v {{axis = {4}, kind = "{5}"}}
      sched.store %m, %y, [{6}]
)",
                                   r, c, dtype, kept, axis, kind, index);
    return kernel(fmt::format("%x: tensor<B x D, {0}>, %y: tensor<{1}, {0}>", dtype, left),
                  axis == 1 ? "5" : "<B>", axis == 1 ? "<D>" : "40", body);
  };
  for (const char* machine : machines) {
    for (const char* kind : {"max", "min"}) {
      check_split(reduce("f32", kind, 1), row_sizes, 0, machine);
      check_split(reduce("bf16", kind, 0), row_sizes, 0, machine);
      check_split(reduce("u8", kind, 1), row_sizes, 0, machine);
    }
    for (int axis : {0, 1}) {
      check_split(reduce("f32", "sum", axis), row_sizes, 1e-5, machine);
      check_split(reduce("f64", "sum", axis), row_sizes, 1e-13, machine);
      check_split(reduce("i32", "prod", axis), row_sizes, 0, machine);
    }
  }
  std::string both = R"(      %v: tile<B x D, f32> = sched.load %x, [%i, %j]
      %m: tile<B, f32> = sched.reduce %v {axis = 1, kind = "sum"}
      %a: tile<B, f32> = sched.abs %m
      %n: tile<f32> = sched.reduce %a {axis = 0, kind = "max"}
      %n1: tile<1, f32> = sched.reshape %n
      %z: i64 = sched.constant {value = 0}
      sched.store %n1, %y, [%z]
)";
  check_split(kernel("%x: tensor<B x D, f32>, %y: tensor<1, f32>", "<B>", "<D>", both),
              {{{"B", 5}, {"D", 70}}, {{"B", 130}, {"D", 3}}}, 1e-5);
}

TEST_CASE("a loop over blocks of a row that carries its statistics") {
  // Merged into one reduction each.
  std::string plain = R"(      %low: tile<2, f32> = sched.full {value = -inf}
      %none: tile<2, f32> = sched.full {value = 0.0}
      %m: tile<2, f32>, %s: tile<2, f32> = sched.pipeline [%low, %none], [] {axis = "d", count = <ceildiv(D, 48)>} do(%k: i64, %m0: tile<2, f32>, %s0: tile<2, f32>) {
        %v: tile<2 x 48, f32> = sched.load %x, [%i, %k]
        %bm: tile<2, f32> = sched.reduce %v {axis = 1, kind = "max"}
        %m1: tile<2, f32> = sched.max %m0, %bm
        %bs: tile<2, f32> = sched.reduce %v {axis = 1, kind = "sum"}
        %s1: tile<2, f32> = sched.add %s0, %bs
        sched.yield [%m1, %s1]
      }
      %o: tile<2, f32> = sched.div %s, %m
      sched.store %o, %y, [%i]
)";
  const char* const parameters = "%x: tensor<B x D, f32>, %y: tensor<B, f32>";
  std::string merged = kernel(parameters, "2", "48", plain, 1, true);
  check_split(merged, row_sizes, 1e-4);
  TileTest test(schedule_module(merged));
  test.to_tiles();
  REQUIRE(test.run(merge_loops));
  CHECK(test.count("tile.for") == 0);
  // Coupled statistics (a running maximum and a sum rescaled to it): the loop stays.
  std::string online = R"(      %low: tile<2, f32> = sched.full {value = -inf}
      %none: tile<2, f32> = sched.full {value = 0.0}
      %m: tile<2, f32>, %s: tile<2, f32> = sched.pipeline [%low, %none], [] {axis = "d", count = <ceildiv(D, 48)>} do(%k: i64, %m0: tile<2, f32>, %s0: tile<2, f32>) {
        %v: tile<2 x 48, f32> = sched.load %x, [%i, %k]
        %bm: tile<2, f32> = sched.reduce %v {axis = 1, kind = "max"}
        %m1: tile<2, f32> = sched.max %m0, %bm
        %m2: tile<2 x 1, f32> = sched.reshape %m1
        %m3: tile<2 x 48, f32> = sched.broadcast %m2
        %d: tile<2 x 48, f32> = sched.sub %v, %m3
        %e: tile<2 x 48, f32> = sched.exp %d
        %bs: tile<2, f32> = sched.reduce %e {axis = 1, kind = "sum"}
        %f0: tile<2, f32> = sched.sub %m0, %m1
        %f: tile<2, f32> = sched.exp %f0
        %s2: tile<2, f32> = sched.mul %s0, %f
        %s1: tile<2, f32> = sched.add %s2, %bs
        sched.yield [%m1, %s1]
      }
      %l: tile<2, f32> = sched.log %s
      %o: tile<2, f32> = sched.add %l, %m
      sched.store %o, %y, [%i]
)";
  for (const char* machine : machines) {
    check_split(kernel(parameters, "2", "48", online, 1, true), row_sizes, 1e-5, machine);
  }
}

TEST_CASE("a loop that carries a tile of several fragments and looks at all of it") {
  std::string body = R"(      %z: tile<{0} x {1}, f32> = sched.full {{value = 0.0}}
      %c: tile<{0} x {1}, f32> = sched.pipeline [%z], [] {{count = 3}} do(%k: i64, %c0: tile<{0} x {1}, f32>) {{
        %v: tile<{0} x {1}, f32> = sched.load %x, [%i, %j]
        %r: tile<{0}, f32> = sched.reduce %c0 {{axis = 1, kind = "sum"}}
        %r1: tile<{0} x 1, f32> = sched.reshape %r
        %r2: tile<{0} x {1}, f32> = sched.broadcast %r1
        %s: tile<{0} x {1}, f32> = sched.add %v, %r2
        sched.yield [%s]
      }}
      sched.store %c, %y, [%i, %j]
)";
  for (const char* machine : machines) {
    check_split(kernel(xy, "2", "<D>", fmt::format(fmt::runtime(body), "2", "D")), row_sizes, 1e-4, machine);
    check_split(kernel(xy, "3", "256", fmt::format(fmt::runtime(body), "3", "256")), row_sizes, 1e-4, machine);
  }
}

TEST_CASE("a tile and itself with exchanged axes go through memory") {
  for (const char* machine : machines) {
    check_split(kernel(xy, "8", "8", R"(      %v: tile<8 x 8, f32> = sched.load %x, [%i, %j]
      %t: tile<8 x 8, f32> = sched.transpose %v {perm = [1, 0]}
      %s: tile<8 x 8, f32> = sched.add %v, %t
      sched.store %s, %y, [%i, %j]
)"), row_sizes, 0, machine);
  }
}

TEST_CASE("what cannot be split is refused with the op's place") {
  auto refused = [](const std::string& text, const std::string& reason) {
    TileTest test(schedule_module(text));
    test.to_tiles();
    CHECK_FALSE(test.to_fragments());
    CHECK_THAT(test.messages(), Catch::Contains("[unsupported-tile-split]") &&
                                    Catch::Contains(reason) && Catch::Contains("test.tir:"));
  };
  refused(kernel("%x: tensor<B x D, f32>, %y: tensor<B x D, f32>", "8", "8",
                 R"(      %v: tile<8 x 8, f32> = sched.load %y, [%i, %j]
      sched.store %v, %y, [%i, %j]
)"),
          "it reads memory that the kernel writes");
}

TEST_CASE("tiles that may start past an edge have limits, and those there are nothing") {
  // The table of columns is shorter than the grid, and every tile of it but the first reads one
  // further on.
  std::string body = R"(      %one: i64 = sched.constant {value = 1}
      %n: i64 = sched.add %j, %one
      %v: tile<1 x 64, f32> = sched.load %x, [%i, %n] {fill = 2.5}
      %u: tile<64, f32> = sched.load %w, [%j] {fill = 1.5}
      %u1: tile<1 x 64, f32> = sched.reshape %u
      %o: tile<1 x 64, f32> = sched.add %v, %u1
      sched.store %o, %y, [%i, %j]
)";
  std::string text =
      kernel("%x: tensor<B x D, f32>, %w: tensor<E, f32>, %y: tensor<B x D, f32>", "1", "64", body);
  for (const char* machine : machines) {
    check_split(text, {{{"B", 2}, {"D", 200}, {"E", 70}}, {{"B", 1}, {"D", 64}, {"E", 0}}}, 0,
                machine);
  }
  std::string shorter = kernel("%x: tensor<B x D, f32>, %w: tensor<E, f32>, %y: tensor<B x E, f32>",
                               "1", "64", R"(      %v: tile<1 x 64, f32> = sched.load %x, [%i, %j]
      sched.store %v, %y, [%i, %j]
)");
  for (const char* machine : machines) {
    check_split(shorter, {{{"B", 2}, {"D", 300}, {"E", 70}}, {{"B", 1}, {"D", 64}, {"E", 0}}}, 0,
                machine);
  }
}
