// Each tile op on fragments, compiled, against the Tile interpreter.

#include <fmt/format.h>

#include "unit/codegen/compiled_kernel.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// A kernel of one program: parameters, then statements one to a line.
std::string one_program(const std::string& parameters, const std::string& body, int outputs = 1) {
  std::string text = fmt::format("  tile.kernel @k({}) {{grid = [1], outputs = {}, schedule = {{}}, scratch = 0}} {{\n",
                                 parameters, outputs);
  text += "    %zero: i64 = tile.constant {value = 0}\n";
  return text + body + "    tile.return\n  }\n";
}

/// y = statement(x): loads all of x, stores all of %r.
void check_unary(const std::string& x, const std::string& statement, const std::string& y, double bound = 0) {
  auto zeros = [](const std::string& type) {
    size_t rank = type.find(',') == std::string::npos ? 0 : 1;
    for (size_t at = type.find(" x "); at != std::string::npos; at = type.find(" x ", at + 1)) ++rank;
    std::string text;
    for (size_t i = 0; i < rank; ++i) text += i ? ", %zero" : "%zero";
    return text;
  };
  INFO(statement);
  check_tile_kernel(one_program(fmt::format("%x: tensor<{}>, %y: tensor<{}>", x, y),
                                fmt::format("    %a: tile<{}> = tile.load %x, [{}], []\n    %r: tile<{}> = {}\n"
                                            "    tile.store %r, %y, [{}], []\n",
                                            x, zeros(x), y, statement, zeros(y))),
                    {{}}, bound);
}

}  // namespace

TEST_CASE("fragments of any extents are loaded and stored") {
  for (const char* type : {"1, f32", "3, f32", "16, f32", "37, f32", "4 x 1, f32", "3 x 5 x 33, f32", "2 x 20, bf16",
                           "2 x 70, i8", "9, f64", "5 x 17, bool", "7 x 2, i64"}) {
    std::string neg = std::string(type).find("bool") == std::string::npos ? "tile.neg %a" : "tile.not %a";
    check_unary(type, neg, type);
  }
}

TEST_CASE("broadcasts, reshapes and transposes move elements") {
  check_unary("1 x 20, f32", "tile.broadcast %a", "3 x 20, f32");
  check_unary("3 x 1, f32", "tile.broadcast %a", "3 x 20, f32");
  check_unary("1 x 3 x 1, i16", "tile.broadcast %a", "2 x 3 x 37, i16");
  check_unary("20, f32", "tile.reshape %a", "20 x 1, f32");
  check_unary("20 x 1, f32", "tile.reshape %a", "1 x 20, f32");
  check_unary("3 x 1 x 20, f64", "tile.reshape %a", "3 x 20 x 1, f64");
  for (const char* extents : {"16 x 16", "3 x 5", "16 x 6", "14 x 32", "33 x 20", "1 x 9"}) {
    std::string from = extents;
    size_t at = from.find(" x ");
    std::string to = from.substr(at + 3) + " x " + from.substr(0, at);
    for (const char* dtype : {"f32", "bf16"}) {
      check_unary(from + ", " + dtype, "tile.transpose %a {perm = [1, 0]}", to + ", " + dtype);
    }
  }
  check_unary("2 x 3 x 17, f32", "tile.transpose %a {perm = [2, 0, 1]}", "17 x 2 x 3, f32");
  check_unary("2 x 3 x 17, f32", "tile.transpose %a {perm = [1, 0, 2]}", "3 x 2 x 17, f32");
}

TEST_CASE("reductions follow the tree of their specification") {
  for (const char* dtype : {"f32", "bf16", "f64", "i32", "u8"}) {
    for (const char* kind : {"sum", "max"}) {
      for (int n : {1, 5, 20, 50}) {
        check_unary(fmt::format("3 x {}, {}", n, dtype),
                    fmt::format("tile.reduce %a, [] {{axis = 1, keep = true, kind = \"{}\"}}", kind),
                    fmt::format("3 x 1, {}", dtype));
      }
      check_unary(fmt::format("7 x 20, {}", dtype), fmt::format("tile.reduce %a, [] {{axis = 0, kind = \"{}\"}}", kind),
                  fmt::format("20, {}", dtype));
      check_unary(fmt::format("5 x 3 x 20, {}", dtype),
                  fmt::format("tile.reduce %a, [] {{axis = 2, kind = \"{}\"}}", kind), fmt::format("5 x 3, {}", dtype));
    }
    for (const char* kind : {"min", "prod"}) {
      check_unary(fmt::format("2 x 100, {}", dtype),
                  fmt::format("tile.reduce %a, [] {{axis = 1, kind = \"{}\"}}", kind), fmt::format("2, {}", dtype));
    }
  }
}

TEST_CASE("scans join groups in the order of their specification") {
  auto check = [](const std::string& extents, int axis, const std::string& total, const std::string& flags,
                  const std::string& dtype) {
    std::string type = extents + ", " + dtype, sum = total + ", " + dtype;
    auto zeros = [](const std::string& of) { return of.find(" x ") == std::string::npos ? "%zero" : "%zero, %zero"; };
    INFO(extents << " " << dtype << flags);
    check_tile_kernel(
        one_program(fmt::format("%x: tensor<{0}>, %b: tensor<{1}>, %y: tensor<{0}>, %t: tensor<{1}>", type, sum),
                    fmt::format("    %a: tile<{0}> = tile.load %x, [{2}], []\n"
                                "    %p: tile<{1}> = tile.load %b, [{2}], []\n"
                                "    %r: tile<{0}>, %s: tile<{1}> = tile.scan %a, [{3}], [] {{axis = {4}, {5}}}\n"
                                "    tile.store %r, %y, [{2}], []\n    tile.store %s, %t, [{2}], []\n",
                                type, sum, zeros(type), flags.find("#") == std::string::npos ? "" : "%p", axis,
                                flags.substr(0, flags.find("#"))),
                    2),
        {{}}, 0);
  };
  for (const char* dtype : {"f32", "f64", "i32"}) {
    for (int n : {1, 2, 5, 16, 20, 37, 64, 65}) {
      for (const char* flags :
           {"kind = \"sum\"", "kind = \"sum\", reverse = true#", "exclusive = true, kind = \"sum\"#",
            "exclusive = true, kind = \"max\", reverse = true"}) {
        check(fmt::format("{}", n), 0, "1", flags, dtype);
      }
    }
  }
  check("3 x 40", 1, "3 x 1", "kind = \"prod\"#", "f32");
  check("3 x 40", 0, "1 x 40", "kind = \"sum\"#", "f32");
  check("37 x 5", 0, "1 x 5", "exclusive = true, kind = \"sum\", reverse = true", "f32");
  check("4 x 24", 1, "4 x 1", "kind = \"sum\"", "bf16");
}

TEST_CASE("limits hold for loads, stores, reductions, merges and products") {
  std::vector<DimValues> sizes;
  for (int64_t n : {0, 1, 7, 16, 19, 20}) {
    for (int64_t m : {0, 1, 3, 4}) sizes.push_back({{"M", m}, {"N", n}});
  }
  check_tile_kernel(
      one_program("%x: tensor<M x N, f32>, %y: tensor<M x N, f32>, %s: tensor<4, f32>, %t: tensor<20, f32>, "
                  "%z: tensor<4 x 20, f32>, %w: tensor<4 x 1, f32>",
                  R"(    %m: i64 = tile.dim {value = <M>}
    %n: i64 = tile.dim {value = <N>}
    %a: tile<4 x 20, f32> = tile.load %x, [%zero, %zero], [%m, %n] {fill = 2.5}
    %b: tile<4 x 20, f32> = tile.mul %a, %a
    %c: tile<4 x 20, f32> = tile.merge %a, %b, [%m, %n]
    tile.store %c, %y, [%zero, %zero], [%m, %n]
    %r: tile<4, f32> = tile.reduce %b, [%n] {axis = 1, kind = "sum"}
    tile.store %r, %s, [%zero], []
    %q: tile<20, f32> = tile.reduce %b, [%m] {axis = 0, kind = "max"}
    tile.store %q, %t, [%zero], []
    %u: tile<4 x 20, f32>, %v: tile<4 x 1, f32> = tile.scan %b, [], [%n] {axis = 1, kind = "sum", reverse = true}
    tile.store %u, %z, [%zero, %zero], []
    tile.store %v, %w, [%zero, %zero], []
)",
                  5),
      sizes);
  check_tile_kernel(
      one_program("%x: tensor<4 x 5, f32>, %v: tensor<5 x 20, f32>, %d: tensor<M x N, f32>, %y: tensor<4 x 20, f32>",
                  R"(    %m: i64 = tile.dim {value = <M>}
    %a: tile<4 x 5, f32> = tile.load %x, [%zero, %zero], []
    %b: tile<5 x 20, f32> = tile.load %v, [%zero, %zero], []
    %c: tile<4 x 20, f32> = tile.full {value = 1}
    %r: tile<4 x 20, f32> = tile.dot %a, %b, %c, [%m]
    tile.store %r, %y, [%zero, %zero], []
)"),
      sizes);
}

TEST_CASE("strided, broadcast and transposed views are read and written") {
  check_tile_kernel(
      one_program("%x: tensor<N x 40, f32>, %h: tensor<40 x N, i16>, %y: tensor<40 x N, f32>, %z: tensor<20 x 40, i16>",
                  R"(    %m: i64 = tile.constant {value = 17}
    %n: i64 = tile.dim {value = <N>}
    %t: view<40 x N, f32, strides = [1, 40], offset = 0, space = global> = tile.view %x
    %a: tile<40 x 20, f32> = tile.load %t, [%zero, %zero], [%m, %n]
    tile.store %a, %y, [%zero, %zero], [%m, %n]
    %u: view<20 x 40, i16, strides = [2, 0], offset = 1, space = global> = tile.view %h
    %b: tile<20 x 40, i16> = tile.load %u, [%zero, %zero], []
    %w: view<20 x 10, i16, strides = [40, 3], offset = 2, space = global> = tile.view %z
    %v: view<20 x 10, i16, strides = [N, 2], offset = 0, space = global> = tile.view %h
    %c: tile<20 x 10, i16> = tile.load %v, [%zero, %zero], []
    %e: tile<20 x 10, i16> = tile.add %c, %c
    tile.store %b, %z, [%zero, %zero], []
    tile.store %e, %w, [%zero, %zero], []
)",
                  2),
      {{{"N", 19}}, {{"N", 25}}, {{"N", 40}}});
}

TEST_CASE("rows are gathered by number") {
  for (const char* dtype : {"f32", "bf16", "i32"}) {
    check_tile_kernel(
        one_program(fmt::format("%x: tensor<V x 24, {0}>, %ids: tensor<6, i64>, %y: tensor<6 x 20, {0}>", dtype),
                    fmt::format(R"(    %v: i64 = tile.constant {{value = 4}}
    %n: i64 = tile.constant {{value = 18}}
    %i: tile<6, i64> = tile.load %ids, [%zero], []
    %r: tile<6 x 20, {0}> = tile.gather %x, %i, %v, [%v, %n]
    tile.store %r, %y, [%zero, %zero], []
)", dtype)),
        {{{"V", 3}}, {{"V", 5}}, {{"V", 1}}});
  }
}

TEST_CASE("loops carry values, unrolled or not, and conditions choose") {
  for (int unroll : {1, 2, 3}) {
    check_tile_kernel(one_program("%x: tensor<12 x 20, f32>, %y: tensor<20, f32>, %z: tensor<1, i64>",
                                  fmt::format(R"(    %n: i64 = tile.constant {{value = 12}}
    %one: i64 = tile.constant {{value = 1}}
    %two: i64 = tile.constant {{value = 2}}
    %init: tile<20, f32> = tile.full {{value = 0.25}}
    %r: tile<20, f32>, %last: i64 = tile.for %zero, %n, %two, [%init, %zero] {{unroll = {}}} do(%i: i64, %acc: tile<20, f32>, %at: i64) {{
      %a: tile<1 x 20, f32> = tile.load %x, [%i, %zero], []
      %b: tile<20, f32> = tile.reshape %a
      %four: i64 = tile.constant {{value = 4}}
      %rest: i64 = tile.mod %i, %four
      %even: bool = tile.eq %rest, %zero
      %c: tile<20, f32> = tile.if %even do {{
        %s: tile<20, f32> = tile.add %acc, %b
        tile.yield [%s]
      }} do {{
        %d: tile<20, f32> = tile.mul %acc, %b
        tile.yield [%d]
      }}
      tile.yield [%c, %i]
    }}
    tile.store %r, %y, [%zero], []
    %l: tile<1, i64> = tile.splat %last
    tile.store %l, %z, [%zero], []
)",
                                              unroll),
                                  2),
                      {{}});
  }
}

TEST_CASE("coordinates and sizes are computed") {
  check_tile_kernel(one_program("%x: tensor<A x B, f32>, %y: tensor<3 x 20, i32>, %z: tensor<4, i64>",
                                R"(    %s: i64 = tile.dim {value = <A*B - 7>}
    %i: tile<3 x 20, i32> = tile.iota [%s] {axis = 1}
    %j: tile<3 x 20, i32> = tile.iota [] {axis = 0}
    %k: tile<3 x 20, i32> = tile.add %i, %j
    tile.store %k, %y, [%zero, %zero], []
    %q: i64 = tile.dim {value = <((A - 5)//3) + ((A - B)%4) + min(A, B) + max(2*A, B)>}
    %t: tile<4, i64> = tile.splat %q
    tile.store %t, %z, [%zero], []
)", 2),
                    {{{"A", 1}, {"B", 9}}, {{"A", 6}, {"B", 2}}, {{"A", 0}, {"B", 3}}});
}
