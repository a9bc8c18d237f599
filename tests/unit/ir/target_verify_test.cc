// Every target op is read back as printed in a correct form, and refused with its reason in wrong ones.

#include <catch2/catch.hpp>
#include <set>

#include "ir/target/ops.h"
#include "unit/ir/text_fixture.h"

using namespace tessera;

namespace {

/// A module whose function has values of the usual types at hand, then `statements`, one to a line.
std::string with_statements(const std::string& statements, const std::string& facts = "dims = [\"N\"]") {
  std::string body =
      "%x: reg<f32 x 8> = target.load %buffers\n%n: reg<i32 x 8> = target.iota\n%i: i32 = target.constant {value = 3}\n"
      "%f: f32 = target.load %buffers\n%m: reg<bool x 8> = target.mask %first\n"
      "%yes: bool = target.constant {value = 1}\n%pairs: reg<bf16 x 32> = target.load %buffers\n"
      "%sums: reg<f32 x 16> = target.load %buffers\n" + statements;
  std::string text = "module @m level(target) version(1) {\n  target.func @f(%buffers: ptr, %dims: ptr, %first: i64, "
                     "%last: i64, %scratch: ptr) {" + facts + ", grid = [1], outputs = 1, params = "
                     "[!tensor<N, f32>], schedule = {}, scratch = 0} {\n";
  for (size_t at = 0; at < body.size();) {
    size_t end = std::min(body.find('\n', at), body.size());
    text += "    " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return text + "    target.return\n  }\n}\n";
}

std::string printed(const std::string& text) { return TextFixture().round_trip(text); }

const std::vector<std::string>& accepted() {
  static const std::vector<std::string> statements = {
      "%r: reg<f32 x 8> = target.fma %x, %x, %x",
      "%r: reg<bool x 8> = target.lt %x, %x",
      "%r: reg<f32 x 8> = target.select %m, %x, %x",
      "%r: reg<f64 x 8> = target.cast %n",
      "%r: reg<f32 x 8> = target.constant {value = -0.0}",
      "%r: i64 = target.constant {value = -5}",
      "%r: reg<f32 x 3> = target.splat %f",
      "%r: reg<u8 x 64> = target.iota",
      "%r: reg<bool x 1> = target.mask %last",
      "%r: f32 = target.extract %x {lane = 7}",
      "%r: reg<i32 x 8> = target.insert %n, %i {lane = 0}",
      "%r: reg<f32 x 3> = target.shuffle %x, %x {lanes = [0, 15, 8]}",
      "%r: reg<u32 x 8> = target.bitcast %x",
      "%r: reg<f32 x 9> = target.concat [%x, %f]",
      "%r: ptr = target.offset %buffers, %first",
      "%r: ptr = target.offset %buffers, %i",
      "%r: reg<bool x 3> = target.mask %i",
      "%r: ptr = target.load %buffers {align = 8, invariant = true}",
      "%r: reg<f32 x 8> = target.load_masked %buffers, %m, %x",
      "%r: reg<f32 x 8> = target.gather %buffers, %n, %m, %x",
      "target.store %f, %scratch {align = 4}",
      "target.store_masked %x, %scratch, %m",
      "x86.prefetch %buffers {locality = 3}",
      "%r: reg<u16 x 16> = target.bitcast %x",
      "%r: reg<f32 x 16> = x86.dot_bf16 %pairs, %pairs, %sums",
      "x86.tile_config",
      "x86.tile_release",
      "x86.tile_zero {tile = 7}",
      "x86.tile_load %buffers, %first {tile = 4}",
      "x86.tile_store %scratch, %first {tile = 0}",
      "x86.tile_dot_bf16 {a = 4, b = 6, tile = 0}",
  };
  return statements;
}

struct Refused {
  std::string statement;
  std::string reason;
};

const std::vector<Refused>& refused() {
  static const std::vector<Refused> cases = {
      {"%r: reg<f32 x 8> = target.add %x, %n", "operands differ in dtype"},
      {"%r: reg<i32 x 8> = target.exp %n", "it does not take i32"},
      {"%r: i64 = target.constant {value = 0.5}", "must be an integer, not 0.5"},
      {"%r: bool = target.constant {value = 2}", "a constant of bool is 0 or 1, not 2"},
      {"%r: reg<f32 x 8> = target.splat %i", "the scalar must be f32, not i32"},
      {"%r: reg<f32 x 8> = target.iota", "the lanes must be integers, not f32"},
      {"%r: reg<i32 x 8> = target.mask %last", "the result must be a register of bool, not i32"},
      {"%r: f32 = target.extract %x {lane = 8}", "lane 8 is not one of 8"},
      {"%r: i32 = target.extract %x {lane = 0}", "the result must be f32, not i32"},
      {"%r: reg<f32 x 8> = target.insert %x, %i {lane = 0}", "the scalar must be f32, not i32"},
      {"%r: reg<f32 x 4> = target.insert %x, %f {lane = 0}", "the result must be reg<f32 x 8>"},
      {"%r: reg<f32 x 1> = target.shuffle %x, %x {lanes = [16]}", "lane 16 is not one of the 16 of both operands"},
      {"%r: reg<f32 x 2> = target.shuffle %x, %x {lanes = [0]}", "the result must be reg<f32 x 1>, not reg<f32 x 2>"},
      {"%r: reg<f32 x 1> = target.shuffle %x, %n {lanes = [0]}", "operand 1 must be reg<f32 x 8>, not reg<i32 x 8>"},
      {"%r: reg<f32 x 9> = target.concat [%x, %i]", "the parts must be f32, not i32"},
      {"%r: reg<f32 x 8> = target.concat [%x, %f]", "the parts have 9 lanes, not 8"},
      {"%r: ptr<shared> = target.offset %buffers, %first", "the result must be ptr, not ptr<shared>"},
      {"%r: ptr = target.offset %buffers, %f", "the offset must be i32 or i64, not f32"},
      {"%r: reg<bool x 8> = target.mask %f", "the count must be i32 or i64, not f32"},
      {"%r: reg<f64 x 8> = target.bitcast %x", "differ in size"},
      {"%r: reg<u8 x 8> = target.bitcast %m", "differ in size"},
      {"%r: tile<4, f32> = target.load %buffers", "not tile<4, f32>"},
      {"%r: reg<bool x 8> = target.load %buffers", "memory has no elements of bool"},
      {"%r: f32 = target.load %buffers {align = 3}", "'align' must be a power of two up to 4096, not 3"},
      {"%r: reg<f32 x 4> = target.load_masked %buffers, %m, %x", "the mask must be reg<bool x 4>, not reg<bool x 8>"},
      {"%r: reg<f32 x 8> = target.load_masked %buffers, %m, %n", "the fill must be reg<f32 x 8>, not reg<i32 x 8>"},
      {"%r: reg<f32 x 8> = target.load_masked %buffers, %m, %x {align = 3}", "'align' must be a power of two"},
      {"target.store_masked %x, %scratch, %m {align = 3}", "'align' must be a power of two"},
      {"%sum: bool = target.atomic_add %scratch, %yes", "it adds numbers of 4 or 8 bytes, not bool"},
      {"%r: reg<f32 x 8> = target.gather %buffers, %x, %m, %x", "the offsets must be 8 lanes of i32 or i64"},
      {"%r: reg<f32 x 8> = target.gather %buffers, %n, %n, %x", "the mask must be reg<bool x 8>"},
      {"target.store %yes, %scratch", "memory has no elements of bool"},
      {"target.store %f, %scratch {align = 0}", "'align' must be a power of two"},
      {"target.store_masked %x, %scratch, %x", "the mask must be reg<bool x 8>"},
      {"target.cond_branch %i, ^9, ^9", "the condition must be bool, not i32"},
      {"x86.prefetch %buffers {locality = 4}", "'locality' must be 0 to 3, not 4"},
      {"%r: reg<f32 x 8> = x86.dot_bf16 %x, %x, %x", "'a' must be reg<bf16 x 32>, not reg<f32 x 8>"},
      {"x86.tile_zero {tile = 8}", "'tile' must be one of the tiles 0 to 7, not 8"},
      {"x86.tile_load %buffers, %first {tile = -1}", "'tile' must be one of the tiles 0 to 7, not -1"},
      {"x86.tile_store %scratch, %first {tile = 9}", "'tile' must be one of the tiles 0 to 7, not 9"},
      {"x86.tile_dot_bf16 {a = 4, b = 8, tile = 0}", "'b' must be one of the tiles 0 to 7, not 8"},
      {"x86.tile_dot_bf16 {a = 4, b = 4, tile = 0}", "tiles 0, 4 and 4 are not three"},
  };
  return cases;
}

}  // namespace

TEST_CASE("target ops are read back as printed") {
  for (const std::string& statement : accepted()) {
    std::string text = printed(with_statements(statement));
    INFO(statement);
    CHECK(text.find(statement) != std::string::npos);
    CHECK(printed(text) == text);
  }
}

TEST_CASE("wrong target ops are refused with the reason") {
  for (const Refused& test : refused()) {
    std::string statement = test.statement;
    if (statement.find("^9") != std::string::npos) statement += "\n^9:";
    INFO(statement);
    std::string message = printed(with_statements(statement));
    INFO(message);
    CHECK(message.find(test.reason) != std::string::npos);
  }
}

TEST_CASE("every target op with a rule of its own is refused somewhere") {
  std::set<std::string> seen;
  for (const Refused& test : refused()) {
    size_t at = test.statement.find("target.");
    if (at == std::string::npos) at = test.statement.find("x86.");
    seen.insert(test.statement.substr(at, test.statement.find(' ', at) - at));
  }
  TextFixture fixture;
  for (const OpInfo* info : fixture.context.all_ops()) {
    if (info->level != Level::Target || !info->verify || info->elementwise != ElementwiseKind::None) continue;
    if (info->name == "target.func") continue;            // below
    if (info->name.starts_with("nv.")) continue;          // nv_verify_test.cc
    INFO(info->name);
    CHECK(seen.count(info->name) == 1);
  }
}

TEST_CASE("a target function with wrong facts is refused") {
  auto check = [](const std::string& text, const std::string& reason) {
    std::string message = printed(text);
    INFO(message);
    CHECK(message.find(reason) != std::string::npos);
  };
  check(with_statements("", "dims = [3]"), "each of 'dims' must be a string, not 3");
  auto checking = [](int parameter) {
    return with_statements("", "checks = [{access = \"load\", parameter = " + std::to_string(parameter) +
                                   ", source = \"\"}], dims = [\"N\"]");
  };
  check(checking(1), "'checks' names parameter 1 of 1");
  CHECK(printed(checking(0)).find("checks = [{access") != std::string::npos);
  std::string text = with_statements("");
  std::string fewer = text;
  fewer.replace(fewer.find("outputs = 1"), 11, "outputs = 2");
  check(fewer, "it has 1 parameters and cannot have 2 results");
  std::string other = text;
  other.replace(other.find("%scratch: ptr"), 13, "%scratch: i64");
  check(other, "its parameters must be (ptr, ptr, i64, i64, ptr)");
  std::string params = text;
  params.replace(params.find("!tensor<N, f32>"), 15, "1");
  check(params, "each of 'params' must be a type");
  check(with_statements("", "dims = [\"N\"], shared = 1024"), "'shared' needs 'threads'");
  check(with_statements("", "dims = [\"M\"]"), "dim 'M' occurs in none of 'params'");
  check(with_statements("", "dims = [\"N\", \"N\"]"), "'dims' names 'N' twice");
  check(with_statements("", "dims = []"), "size 'N' is none of its 'dims'");
  std::string grid = text;
  grid.replace(grid.find("grid = [1]"), 10, "grid = [<M>]");
  check(grid, "size 'M' is none of its 'dims'");
  grid.replace(grid.find("grid = [<M>]"), 12, "grid = [\"N\"]");
  check(grid, "each of 'grid' must be a size");
}
