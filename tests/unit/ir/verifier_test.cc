// Errors in IR text: each is one diagnostic that names the op and the rule.

#include <catch2/catch.hpp>

#include "unit/ir/text_fixture.h"

using namespace tessera;

namespace {

/// A tile kernel with that body, and what parsing it reports.
std::string report(const std::string& body) {
  return TextFixture().round_trip(
      "module @k level(tile) version(1) {\n"
      "tile.kernel @k(%x: tensor<8, f32>) {outputs = 0, grid = [1], schedule = {}} {\n" +
      body + "tile.return\n}\n}\n");
}

void check_mentions(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("a kernel whose layouts are assigned has threads") {
  std::string text =
      "module @k level(tile) version(1) {properties = [\"layouts-assigned\"], target = \"cuda:sm_90a\"} {\n"
      "  tile.kernel @k() {outputs = 0, grid = [1], schedule = {}} {\n"
      "    tile.return\n  }\n}\n";
  check_mentions(TextFixture().round_trip(text), "'threads' is missing");
}

TEST_CASE("syntax errors are reported with their place") {
  check_mentions(report("%a: f32 = tile.constant {value = }\n"),
                 "test.tir:3:34: error: expected an attribute value [ir-syntax]");
  check_mentions(report("%a: f33 = tile.constant {value = 1}\n"), "'f33' is not a type");
  check_mentions(report("%a: tile<6 x -16, f32> = tile.full {value = 1}\n"), "'tile<6 x -16, f32>' is not a type");
  check_mentions(report("%a: reg<f32 x 1025> = tile.full {value = 1}\n"), "'reg<f32 x 1025>' is not a type");
  check_mentions(report("%a: f32 = tile.konstant {value = 1}\n"), "'tile.konstant' is not an op");
  check_mentions(report("%a: f32 = tile.neg %b\n"), "value %b is not defined before this use");
  check_mentions(report("%a: f32 = tile.constant {value = 1}\n%a: f32 = tile.neg %a\n"), "value %a is defined twice");
  check_mentions(report("%a: f32 = tile.constant {value = 1, value = 2}\n"), "attribute 'value' is given twice");
}

TEST_CASE("rules of the tables are verified") {
  check_mentions(report("%a: i64 = tile.program_id\n"),
                 "'tile.program_id' breaks its rules: attribute 'axis' is missing [ir-verify]");
  check_mentions(report("%a: f32 = tile.program_id {axis = 0}\n"), "result 'result' must be an i64 index, not f32");
  check_mentions(report("%a: f32 = tile.constant {value = 1, colour = 2}\n"), "it has no attribute 'colour'");
  check_mentions(report("%a: f32 = tile.constant {value = \"1\"}\n"),
                 "attribute 'value' must be a number, not \"1\"");
  check_mentions(report("gir.return []\n"),
                 "'gir.return' breaks its rules: it is an op of level graph in a module of level tile");
  check_mentions(report("host.return []\n"),
                 "'host.return' breaks its rules: it is an op of level host inside of 'tile.kernel'");
  check_mentions(report("%a: i64 = tile.constant {value = 1}\n%b: f32 = tile.sqrt %a\n"), "it does not take i64");
  check_mentions(report("%a: i64 = tile.constant {value = 1}\n%b: f32 = tile.neg %a\n"),
                 "the result must be i64, not f32");
}

TEST_CASE("a module of another version is refused") {
  std::string text = TextFixture().round_trip("module @k level(tile) version(9) {\n}\n");
  check_mentions(text, "this compiler reads version 1");
}

TEST_CASE("nesting is limited") {
  std::string deep(5000, '[');
  check_mentions(report("%a: f32 = tile.constant {value = " + deep + "}\n"), "attributes are nested too deeply");
}
