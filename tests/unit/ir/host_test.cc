// The host program: its form is read back as printed, and each op's rules are checked.

#include <catch2/catch.hpp>

#include "unit/ir/text_fixture.h"

using namespace tessera;

namespace {

constexpr const char* entry_attributes =
    R"({args = [{kind = "input", name = "x"}, {kind = "param", name = "b"}], results = [{name = "y"}]})";

/// A module with a kernel of one free dim and an entry with that body.
std::string module_text(const std::string& body, const std::string& attributes = entry_attributes) {
  return R"(module @f level(schedule) version(1) {
  sched.kernel @f.0(%a: tensor<M x 4, f32>, %y: tensor<M x 4, f32>) {axes = [{block = 1, extent = <M>, grid = true, name = "m"}, {block = 4, extent = 4, grid = false, name = "n"}], outputs = 1, schedule = {}} {
    sched.tile {axes = ["m"]} do(%m: i64) {
      %0: i64 = sched.dim {value = 0}
      %1: tile<1 x 4, f32> = sched.load %a, [%m, %0]
      sched.store %1, %y, [%m, %0]
      sched.yield []
    }
    sched.return
  }
  host.func @f(%x: tensor<B x S x 4, f32>, %b: tensor<4, f32>) )" +
         attributes + " {\n" + body + "  }\n}\n";
}

void check_report(const std::string& text, const std::string& part) {
  std::string out = TextFixture().round_trip(text);
  INFO(out);
  CHECK(out.find(part) != std::string::npos);
}

void check_body_report(const std::string& body, const std::string& part) {
  check_report(module_text(body), part);
}

}  // namespace

TEST_CASE("a host program is read back as printed") {
  std::string once = TextFixture().round_trip(module_text(R"(
    %0: tensor<(B*S) x 4, f32> = host.alias %x
    %1: tensor<(B*S) x 4, f32> = host.launch [%0], [] {dims = {M = <B*S>}, kernel = @f.0}
    %2: tensor<(B*S) x 4, f32> = host.copy %1, []
    %3: tensor<(B*S) x 4, f32> = host.fill {value = 0.5}
    %4: tensor<2, i32> = host.constant {values = [1, 2]}
    host.return [%2]
)"));
  INFO(once);
  CHECK(once.find("host.launch [%0], [] {dims = {M = <B*S>}, kernel = @f.0}") != std::string::npos);
  CHECK(TextFixture().round_trip(once) == once);
}

TEST_CASE("a launch lists variants, and falls back on a kernel that always may run") {
  auto launch = [](const std::string& kernel, const std::string& variants, const std::string& guards = "") {
    std::string text = module_text(
        "%0: tensor<3 x 4, f32> = host.fill {value = 0.5}\n"
        "%1: tensor<(B*S) x 4, f32> = host.alias %x\n"
        "%2: tensor<(B*S) x 4, f32> = host.launch [%1], [] {dims = {M = <B*S>}, kernel = @" +
            kernel + ", variants = " + variants + "}\nhost.return [%2]\n",
        R"({args = [{kind = "input", name = "x"}, {kind = "input", name = "b"}], )" + guards +
            R"(results = [{name = "y"}]})");
    // The same kernel again, for an even number of rows.
    size_t begin = text.find("  sched.kernel"), end = text.find("  host.func");
    std::string variant = text.substr(begin, end - begin);
    variant.replace(variant.find("@f.0"), 4, "@f.even");
    variant.replace(variant.find("{axes"), 1, R"({assume = [{left = <M % 2>, relation = "==", right = 0}], )");
    return text.insert(begin, variant);
  };
  std::string once = TextFixture().round_trip(launch("f.0", "[@f.even]"));
  INFO(once);
  CHECK(once.find("kernel = @f.0, variants = [@f.even]}") != std::string::npos);
  CHECK(TextFixture().round_trip(once) == once);
  check_report(launch("f.0", "[@f.odd]"), "there is no kernel @f.odd");
  check_report(launch("f.0", "[1]"), "each of 'variants' must be a symbol, not 1");
  check_report(launch("f.even", "[]"), "need not hold, so kernel @f.even can only be a variant");
  std::string even = R"(guards = [{left = <S % 4>, relation = "==", right = 0}], )";
  std::string certain = TextFixture().round_trip(launch("f.even", "[]", even));
  INFO(certain);
  CHECK(certain.find("kernel = @f.even") != std::string::npos);
  CHECK(certain.find("error") == std::string::npos);
}

TEST_CASE("a launch agrees with its kernel") {
  check_body_report("    %0: i64 = sched.dim {value = 0}\n    host.return [%x]\n",
                    "it is an op of level schedule inside of 'host.func'");
  check_body_report(
      "%0: tensor<3 x 4, f32> = host.launch [], [] {dims = {}, kernel = @g}\nhost.return [%0]\n",
      "there is no kernel @g");
  check_body_report(
      "%0: tensor<3 x 4, f32> = host.launch [], [] {dims = {M = 3}, kernel = @f.0}\nhost.return [%0]\n",
      "takes 1 operands and 1 results, not 0 and 1");
  check_body_report(
      "%a: tensor<(B*S) x 4, f32> = host.alias %x\n"
      "%0: tensor<(B*S) x 4, f32> = host.launch [%a], [] {dims = {}, kernel = @f.0}\nhost.return "
      "[%0]\n",
      "the free dim 'M' of kernel @f.0 is not bound");
  check_body_report(
      "%a: tensor<(B*S) x 4, f32> = host.alias %x\n"
      "%0: tensor<(B*S) x 4, f32> = host.launch [%a], [] {dims = {M = <B*S>, N = 1}, kernel = "
      "@f.0}\nhost.return [%0]\n",
      "has no free dim 'N'");
  check_body_report(
      "%a: tensor<(B*S) x 4, f32> = host.alias %x\n"
      "%0: tensor<(B*S) x 4, f32> = host.launch [%a], [] {dims = {M = <B + S>}, kernel = "
      "@f.0}\nhost.return [%0]\n",
      "value 0 is tensor<B*S x 4, f32>, but parameter 0 of kernel @f.0 is tensor<M x 4, f32>");
}

TEST_CASE("places are of the results and in memory that is taken over") {
  for (std::string places : {"[]", "[5, 0]"}) {
    check_body_report(
        "%a: tensor<(B*S) x 4, f32> = host.alias %x\n"
        "%0: tensor<(B*S) x 4, f32> = host.launch [%a], [] {dims = {M = <B*S>}, kernel = @f.0, places = " +
            places + "}\nhost.return [%0]\n",
        "'places' gives a number for each of the results");
  }
  check_body_report(
      "%a: tensor<(B*S) x 4, f32> = host.alias %x\n"
      "%0: tensor<(B*S) x 4, f32> = host.launch [%a], [] {dims = {M = <B*S>}, kernel = @f.0, places = [5]}\n"
      "host.return [%0]\n",
      "place 5 is none of 0 buffers");
}

TEST_CASE("host values keep their sizes") {
  check_body_report("%0: tensor<B x 4, f32> = host.alias %x\nhost.return [%0]\n",
                    "different numbers of elements");
  check_body_report("%0: tensor<4, bf16> = host.alias %b\nhost.return [%0]\n",
                    "must be of dtype f32, not bf16");
  check_body_report("%0: tensor<3, f32> = host.copy %b, []\nhost.return [%0]\n",
                    "must be tensor<4, f32>");
  check_body_report("%0: tensor<3, f32> = host.constant {values = [1.0]}\nhost.return [%0]\n",
                    "has 3 elements, but 1 values");
  check_body_report("%0: tensor<B, f32> = host.constant {values = [1.0]}\nhost.return [%0]\n",
                    "must be constants");
  check_body_report("%0: tensor<1, f32> = host.constant {values = [\"a\"]}\nhost.return [%0]\n",
                    "each of 'values' must be a number or a bool, not \"a\"");
  check_body_report("%0: tensor<1, f32> = host.fill\nhost.return [%0]\n",
                    "attribute 'value' is missing");
}

TEST_CASE("a print has an item for each pair of buffers") {
  auto print = [](const std::string& items, const std::string& shown = "B x 1 x 4, bool") {
    return "%0: tensor<B x 1 x 4, f32> = host.fill {value = 0}\n%1: tensor<" + shown +
           "> = host.fill {value = 0}\nhost.print [%0], [%1] {grid = [<B>], items = " + items + "}\nhost.return [%b]\n";
  };
  const std::string item = R"({extents = [<S>], label = "v", loop = 0, source = "f.tsr:1:2", trip_counts = []})";
  std::string once = TextFixture().round_trip(module_text(print("[" + item + "]")));
  INFO(once);
  CHECK(once.find("host.print [%0], [%1] {grid = [<B>], items = [" + item + "]}") != std::string::npos);
  CHECK(TextFixture().round_trip(once) == once);
  check_body_report(print("[]"), "it has 0 items, and 1 and 1 buffers");
  check_body_report(print("[" + item + "]", "B x 1, bool"),
                    "which is not a bool of the dims of tensor<B x 1 x 4, f32>");
  check_body_report(print("[" + item + "]", "B x 1 x 4, u8"), "which is not a bool of the dims of");
  check_body_report(print("[1]"), "each of 'items' must be a dict, not 1");
  for (const char* bad :
       {R"([{extents = [], label = "v", loop = 0, source = "", trip_counts = []}])",
        R"([{extents = [4], label = "v", loop = 1, source = "", trip_counts = []}])",
        R"([{extents = [4], label = 1, loop = 0, source = "", trip_counts = []}])",
        R"([{extents = [4], label = "v", loop = 0, source = "", trip_counts = ["K"]}])"}) {
    check_body_report(print(bad), "item 0 is malformed");
  }
}

TEST_CASE("an entry describes its arguments and results") {
  std::string body = "host.return [%b]\n";
  check_report(module_text(body, R"({args = [], results = [{name = "y"}]})"),
               "'args' describes 0 values, not 2");
  check_report(
      module_text(
          body,
          R"({args = [{kind = "input", name = "x"}, {kind = "input", name = "x"}], results = [{name = "y"}]})"),
      "two entries named 'x'");
  check_report(
      module_text(
          body,
          R"({args = [{kind = "input", name = "x"}, {name = "b"}], results = [{name = "y"}]})"),
      "'kind' is missing");
  check_report(
      module_text(
          body,
          R"({args = [{kind = "input", name = "x"}, {kind = "weight", name = "b"}], results = [{name = "y"}]})"),
      "argument 1 must be of kind");
  for (auto [numerics, problem] : {std::pair("{stable = true}", "'function' is missing"),
                                   std::pair("{bounded = [], function = \"f\"}", "two numbers in order")}) {
    check_report(
        module_text(body, fmt::format("{{args = [{{kind = \"input\", name = \"x\"}}, {{kind = \"param\", name = "
                                      "\"b\"}}], numerics = [{}], results = [{{name = \"y\"}}]}}",
                                      numerics)),
        problem);
  }
  check_report(module_text("host.return []\n"), "'results' describes 1 values, not 0");
  check_report(
      module_text(
          body,
          R"({args = [{kind = "input", name = "x"}, {kind = "input", name = "b"}], guards = [{left = <B>, relation = "=~", right = 1}], results = [{name = "y"}]})"),
      "each of 'guards' must be a relation");
}
