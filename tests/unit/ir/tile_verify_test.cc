// Every tile op is read back as printed in correct forms, and refused with its reason in wrong
// ones.

#include <set>

#include "unit/ir/tile_cases.h"
#include "unit/ir/tile_fixture.h"

using namespace tessera;

namespace {

using Case = TileCase;

const std::string scratch4 = "view<4, f32, strides = [1], offset = 0, space = scratch>";
const std::string zero = "%z: i64 = tile.constant {value = 0}";

std::vector<Case> correct() {
  return {
      {"%x: tensor<8 x N, f32>", {zero, "%r: tile<4, f32> = tile.load %x, [%z, %z], []"}, ""},
      {"%x: tensor<8 x N, f32>", {zero, "%r: tile<2 x 4, f32> = tile.load %x, [%z, %z], [%z, %z] {fill = -inf}"}, ""},
      {"%x: tensor<N, f32>", {zero, "%r: tile<4, f32> = tile.full {value = 1}", "tile.store %r, %x, [%z], [%z]"}, ""},
      {"%x: tensor<2 x N, f32>",
       {"%v: view<N x 2, f32, strides = [1, N], offset = 0, space = global> = tile.view %x"},
       ""},
      {"%x: tensor<N, f32>", {"%a: " + scratch4 + " = tile.alloc {offset = <64*((N + 63)//64)>}"}, ""},
      {"%x: tensor<V x D, f32>",
       {zero, "%i: tile<4, i64> = tile.iota [] {axis = 0}", "%r: tile<4 x 8, f32> = tile.gather %x, %i, %z, [%z, %z]"},
       ""},
      {"%x: tensor<V x D, f32>",
       {zero, "%i: tile<4 x 1, i32> = tile.iota [%z] {axis = 0}", "%r: tile<4 x 8, f32> = tile.gather %x, %i, %z, []"},
       ""},
      {"%x: tensor<V x D, f32>",
       {"%i: tile<4, i64> = tile.iota [] {axis = 0}", "%r: tile<4, f32> = tile.take %x, [%i, %i]"},
       ""},
      {"%x: tensor<V, f32>",
       {zero, "%i: tile<4, i32> = tile.iota [] {axis = 0}", "%v: tile<4, f32> = tile.full {value = 1}",
        "tile.scatter %v, %x, [%i], [%z] {add = true}"},
       ""},
      {"", {zero, "%s: tile<2 x 2, i64> = tile.splat %z"}, ""},
      {"", {"%a: tile<1 x 1, f32> = tile.full {value = 1}", "%s: f32 = tile.extract %a"}, ""},
      {"%x: tensor<N, f32>", {"%d: i64 = tile.dim {value = <N + 1>}"}, ""},
      {"", {"%p: i64 = tile.program_id {axis = 1}"}, ""},
      {"", {"%a: tile<4 x 1, f32> = tile.full {value = 1}", "%b: tile<4 x 8, f32> = tile.broadcast %a"}, ""},
      {"%x: tensor<D, f32>",
       {"%a: tile<4 x 1 x D, f32> = tile.full {value = 1}", "%b: tile<1 x 4 x D, f32> = tile.reshape %a"},
       ""},
      {"",
       {"%a: tile<4 x 8, f32> = tile.full {value = 1}", "%b: tile<8 x 4, f32> = tile.transpose %a {perm = [1, 0]}"},
       ""},
      {"",
       {zero, "%a: tile<4 x 8, f32> = tile.full {value = 1}", "%w: tile<4 x 8, f32> = tile.within %a, [%z, %z]",
        R"(%b: tile<4, f32> = tile.reduce %w, [%z] {axis = 1, kind = "sum"})"},
       ""},
      {"",
       {"%a: tile<4 x 8, f32> = tile.full {value = 1}",
        R"(%b: tile<4 x 1, f32> = tile.reduce %a, [] {axis = 1, keep = true, kind = "max"})"},
       ""},
      {"",
       {zero, "%a: tile<4 x 8, f32> = tile.full {value = 1}", "%p: tile<4 x 1, f32> = tile.full {value = 1}",
        R"(%b: tile<4 x 8, f32>, %c: tile<4 x 1, f32> = tile.scan %a, [%p], [%z] {axis = 1, kind = "max", reverse = true})"},
       ""},
      {"",
       {zero, "%a: tile<4 x 8, f32> = tile.full {value = 1}",
        "%b: tile<4 x 8, f32> = tile.sort %a, [%z] {axis = 1, descending = true}"},
       ""},
      {"", {zero, "%a: tile<8, f32> = tile.full {value = 1}", "%b: tile<8, f32> = tile.merge %a, %a, [%z]"}, ""},
      {"",
       {zero, "%a: tile<2 x 4, bf16> = tile.full {value = 1}", "%b: tile<4 x 3, bf16> = tile.full {value = 1}",
        "%c: tile<2 x 3, f32> = tile.full {value = 1}", "%d: tile<2 x 3, f32> = tile.dot %a, %b, %c, [%z]"},
       ""},
      {"",
       {"%a: tile<2 x 4, bf16> = tile.full {value = 1}", "%v: tile<4 x 3, bf16> = tile.full {value = 1}",
        "%b: tile<2 x 6, bf16> = tile.pair_rows %v", "%c: tile<2 x 3, f32> = tile.full {value = 1}",
        "%d: tile<2 x 3, f32> = tile.dot_pairs %a, %b, %c"},
       ""},
      {"",
       {zero, "%a: bool = tile.lt %z, %z", "%r: i64 = tile.if %a do {", "  tile.yield [%z]", "} do {",
        "  tile.yield [%z]", "}"},
       ""},
  };
}

std::vector<Case> wrong() {
  return {
      {"%x: tensor<N, f32>", {"%d: i64 = tile.dim {value = <N*W>}"}, "symbol 'W' occurs in no parameter's type"},
      {"%x: tensor<8, f32>",
       {zero, "%r: tile<1 x 4, f32> = tile.load %x, [%z], []"},
       "a tile of rank 2 on memory of rank 1"},
      {"%x: tensor<8, f32>",
       {zero, "%r: tile<4, f32> = tile.load %x, [%z, %z], []"},
       "2 offsets for memory of rank 1"},
      {"%x: tensor<8, f32>",
       {zero, "%r: tile<4, f32> = tile.load %x, [%z], [%z, %z]"},
       "2 limits for 1 axes"},
      {"",
       {zero, "%a: tile<4 x 8, f32> = tile.full {value = 1}", "%w: tile<4 x 8, f32> = tile.within %a, [%z]"},
       "there are 1 limits for rank 2"},
      {"%x: tensor<8, f32>",
       {zero, "%r: tile<4, f16> = tile.load %x, [%z], []"},
       "a tile of f16 on memory of f32"},
      {"%x: tensor<8, f32>",
       {zero, "%r: tile<4, f16> = tile.full {value = 0}", "tile.store %r, %x, [%z], []"},
       "a tile of f16 on memory of f32"},
      {"%x: tensor<8, f32>",
       {"%v: view<8, f16, strides = [1], offset = 0, space = global> = tile.view %x"},
       "a view of f16 on memory of f32"},
      {"%x: tensor<8, f32>",
       {"%v: view<8, f32, strides = [1], offset = 0, space = scratch> = tile.view %x"},
       "a view in space scratch on memory in space global"},
      {"%x: tensor<8, f32>",
       {"%v: view<8, f32, strides = [1], offset = 0, space = global> = tile.view %x",
        "%w: view<8, f32, strides = [1], offset = 0, space = global> = tile.view %v"},
       "not of another view"},
      {"%x: tensor<8, f32>", {"%v: tensor<8, f32> = tile.view %x"}, "must be a view"},
      {"",
       {"%a: view<4, f32, strides = [1], offset = 0, space = global> = tile.alloc"},
       "in scratch space"},
      {"",
       {"%a: view<4, f32, strides = [2], offset = 0, space = scratch> = tile.alloc"},
       "must be contiguous"},
      {"%x: tensor<V x D x 1, f32>",
       {zero, "%i: tile<4, i64> = tile.iota [] {axis = 0}",
        "%r: tile<4 x 8, f32> = tile.gather %x, %i, %z, []"},
       "rank 3, not 2"},
      {"%x: tensor<V x D, f32>",
       {zero, "%i: tile<4, f32> = tile.full {value = 0}",
        "%r: tile<4 x 8, f32> = tile.gather %x, %i, %z, []"},
       "integer dtype"},
      {"%x: tensor<V x D, f32>",
       {zero, "%i: tile<4 x 2, i64> = tile.iota [] {axis = 0}",
        "%r: tile<4 x 8, f32> = tile.gather %x, %i, %z, []"},
       "rows must be [R] or [R, 1]"},
      {"%x: tensor<V x D, f32>",
       {zero, "%i: tile<4, i64> = tile.iota [] {axis = 0}",
        "%r: tile<5 x 8, f32> = tile.gather %x, %i, %z, []"},
       "4 row numbers"},
      {"%x: tensor<V x D, f32>",
       {"%i: tile<4, i64> = tile.iota [] {axis = 0}", "%r: tile<4, f32> = tile.take %x, [%i]"},
       "1 coordinates for memory of rank 2"},
      {"%x: tensor<V, f32>",
       {"%i: tile<4, f32> = tile.full {value = 1}", "%r: tile<4, f32> = tile.take %x, [%i]"},
       "coordinates must be of an integer dtype"},
      {"%x: tensor<V, f32>",
       {"%i: tile<3, i64> = tile.iota [] {axis = 0}", "%r: tile<4, f32> = tile.take %x, [%i]"},
       "for elements tile<4, f32>"},
      {"%x: tensor<V, bool>",
       {"%i: tile<4, i64> = tile.iota [] {axis = 0}", "%v: tile<4, bool> = tile.full {value = 1}",
        "tile.scatter %v, %x, [%i], [] {add = true}"},
       "it does not add bool"},
      {"", {zero, "%s: tile<2, f32> = tile.splat %z"}, "dtype f32, not i64"},
      {"", {"%s: tile<2, f32> = tile.iota [] {axis = 0}"}, "integer dtype"},
      {"", {"%s: tile<2, i32> = tile.iota [] {axis = 1}"}, "axis 1 is outside rank 1"},
      {"", {"%a: tile<2, f32> = tile.full {value = 1}", "%s: tile<2, f32> = tile.sort %a, [] {axis = 1}"},
       "axis 1 is outside a tile of rank 1"},
      {"", {"%a: tile<2, f32> = tile.full {value = 1}", "%s: tile<3, f32> = tile.sort %a, [] {axis = 0}"}, "dims [3]"},
      {"",
       {"%a: tile<2, f32> = tile.full {value = 1}", "%s: f32 = tile.extract %a"},
       "more than one element"},
      {"", {"%p: i64 = tile.program_id {axis = 2}"}, "axis 2 is outside rank 2"},
      {"",
       {"%a: tile<4 x 2, f32> = tile.full {value = 1}", "%b: tile<4 x 8, f32> = tile.broadcast %a"},
       "axis 1 of extent 2 cannot become 8"},
      {"",
       {"%a: tile<4, f32> = tile.full {value = 1}", "%b: tile<4 x 4, f32> = tile.broadcast %a"},
       "ranks differ"},
      {"",
       {"%a: tile<4 x 2, f32> = tile.full {value = 1}", "%b: tile<2 x 4, f32> = tile.reshape %a"},
       "only insert and remove extents of 1"},
      {"",
       {"%a: tile<4 x 8, f32> = tile.full {value = 1}",
        "%b: tile<8 x 4, f32> = tile.transpose %a {perm = [1, 1]}"},
       "'perm' must list each axis"},
      {"",
       {"%a: tile<4 x 8, f32> = tile.full {value = 1}",
        "%b: tile<4 x 8, f32> = tile.transpose %a {perm = [1, 0]}"},
       "the result has dims [4, 8], not [8, 4]"},
      {"",
       {"%a: tile<4, f32> = tile.full {value = 1}",
        R"(%b: tile<f32> = tile.reduce %a, [] {axis = 0, kind = "mean"})"},
       "not 'mean'"},
      {"",
       {"%a: tile<4, f32> = tile.full {value = 1}",
        R"(%b: tile<4, f32>, %c: tile<f32> = tile.scan %a, [], [] {axis = 0, kind = "sum"})"},
       "the total is tile<f32>, not [1] of f32"},
      {"",
       {"%a: tile<4, f32> = tile.full {value = 1}",
        R"(%b: tile<4, f32>, %c: tile<1, f32> = tile.scan %a, [%a], [] {axis = 0, kind = "sum"})"},
       "`before` is tile<4, f32>, not [1] of f32"},
      {"",
       {"%a: tile<4, bool> = tile.full {value = 1}",
        R"(%b: tile<4, bool>, %c: tile<1, bool> = tile.scan %a, [], [] {axis = 0, kind = "max"})"},
       "does not take bool"},
      {"",
       {"%a: tile<4, bool> = tile.full {value = 1}",
        R"(%b: tile<bool> = tile.reduce %a, [] {axis = 0, kind = "max"})"},
       "does not take bool"},
      {"",
       {"%a: tile<4, f32> = tile.full {value = 1}",
        R"(%b: tile<f32> = tile.reduce %a, [] {axis = 0, keep = true, kind = "sum"})"},
       "not [1]"},
      {"",
       {zero, "%a: tile<8, f32> = tile.full {value = 1}",
        "%b: tile<8, f32> = tile.merge %a, %a, []"},
       "no limits"},
      {"",
       {zero, "%a: tile<8, f32> = tile.full {value = 1}",
        "%c: tile<8, f64> = tile.full {value = 1}", "%b: tile<8, f32> = tile.merge %a, %c, [%z]"},
       "differ in type"},
      {"",
       {"%a: tile<2 x 4, f32> = tile.full {value = 1}",
        "%c: tile<2 x 4, f32> = tile.full {value = 1}",
        "%d: tile<2 x 4, f32> = tile.dot %a, %a, %c, []"},
       "have no dot"},
      {"",
       {"%a: tile<4 x 4, f32> = tile.full {value = 1}",
        "%c: tile<4 x 2, f32> = tile.full {value = 1}",
        "%d: tile<4 x 2, f32> = tile.dot %a, %a, %c, []"},
       "c has dims [4, 2]"},
      {"",
       {"%a: tile<4 x 4, f32> = tile.full {value = 1}",
        "%c: tile<4 x 4, i32> = tile.full {value = 1}",
        "%d: tile<4 x 4, i32> = tile.dot %a, %a, %c, []"},
       "not added in i32"},
      {"",
       {"%a: tile<3 x 4, f32> = tile.full {value = 1}", "%b: tile<1 x 8, f32> = tile.pair_rows %a"},
       "an even number of rows"},
      {"%x: tensor<N, f32>",
       {"%a: tile<N x 4, f32> = tile.full {value = 1}", "%b: tile<1 x 8, f32> = tile.pair_rows %a"},
       "are not constant extents"},
      {"",
       {"%a: tile<2 x 4, f32> = tile.full {value = 1}", "%b: tile<2 x 4, f32> = tile.pair_rows %a"},
       "the result has dims"},
      {"",
       {"%a: tile<2 x 4, bf16> = tile.full {value = 1}",
        "%b: tile<4 x 6, bf16> = tile.full {value = 1}",
        "%c: tile<2 x 3, f32> = tile.full {value = 1}",
        "%d: tile<2 x 3, f32> = tile.dot_pairs %a, %b, %c"},
       "in pairs have no dot of [2, 3]"},
      {"%x: tensor<N, f32>",
       {"%a: tile<2 x N, bf16> = tile.full {value = 1}",
        "%b: tile<4 x 6, bf16> = tile.full {value = 1}",
        "%c: tile<2 x 3, f32> = tile.full {value = 1}",
        "%d: tile<2 x 3, f32> = tile.dot_pairs %a, %b, %c"},
       "[2, N] are not two constant extents"},
      {"",
       {"%a: tile<2 x 4, f16> = tile.full {value = 1}",
        "%b: tile<2 x 6, f16> = tile.full {value = 1}",
        "%c: tile<2 x 3, f32> = tile.full {value = 1}",
        "%d: tile<2 x 3, f32> = tile.dot_pairs %a, %b, %c"},
       "products of bf16 in f32, not of f16 and f16 in f32"},
      {"",
       {zero, "%r: i64 = tile.for %z, %z, %z, [%z] do(%i: i64) {", "  tile.yield [%i]", "}"},
       "carries 1 values"},
      {"",
       {zero, "%r: i64 = tile.for %z, %z, %z, [%z] do(%i: i64, %c: i64) {", "  tile.yield []", "}"},
       "yields 0 values for 1 results"},
      {"",
       {zero, "tile.for %z, %z, %z, [] {unroll = 0} do(%i: i64) {", "  tile.yield []", "}"},
       "unrolled 0 times"},
      {"",
       {zero, "tile.if %z do {", "  tile.yield []", "} do {", "  tile.yield []", "}"},
       "must be bool"},
      {"%x: i64", {}, "parameter 0 is not a tensor"},
  };
}

std::vector<Case> joined(std::vector<Case> a, const std::vector<Case>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("correct tile ops are read back as printed") {
  for (const Case& c : joined(correct(), correct_thread_cases())) {
    std::string text = tile_kernel(c.parameters, c.body, 0, c.attributes);
    std::string once = TextFixture().round_trip(text);
    INFO(text << once);
    CHECK(once.find("error") == std::string::npos);
    CHECK(TextFixture().round_trip(once) == once);
  }
}

TEST_CASE("wrong tile ops are refused with the reason") {
  for (const Case& c : joined(wrong(), wrong_thread_cases())) {
    std::string text = tile_kernel(c.parameters, c.body, 0, c.attributes);
    std::string said = TextFixture().round_trip(text);
    INFO(text << said);
    CHECK(said.find("[ir-verify]") != std::string::npos);
    CHECK(said.find(c.reason) != std::string::npos);
  }
}

TEST_CASE("every tile op that is not elementwise has a correct form in a test") {
  std::string all;
  for (const Case& c : joined(correct(), correct_thread_cases())) {
    all += tile_kernel(c.parameters, c.body);
  }
  all += " tile.for ";  // text_test.cc
  TextFixture fixture;
  for (const OpInfo* op : fixture.context.all_ops()) {
    if (op->level != Level::Tile || op->elementwise != ElementwiseKind::None) continue;
    INFO(op->name);
    CHECK(all.find(op->name) != std::string::npos);
  }
}
