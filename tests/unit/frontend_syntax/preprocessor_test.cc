#include <catch2/catch.hpp>

#include "unit/frontend_syntax/helpers.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// Whether the condition holds with N=3, S="abc" and P defined; "error" when it is reported.
std::string holds(const std::string& condition) {
  World world;
  world.defines = {{"N", "3"}, {"S", "abc"}, {"P", "1"}};
  Parsed parsed = parse("%if " + condition + "\nyes\n%else\nno\n%endif\n", world);
  if (!parsed.tags.empty()) return parsed.tags;
  return parsed.tree == "(expr yes)\n" ? "yes" : "no";
}

}  // namespace

TEST_CASE("conditions over -D names") {
  CHECK(holds("N == 3") == "yes");
  CHECK(holds("N < 3 or N >= 4") == "no");
  CHECK(holds("S == \"abc\" and S != 'x'") == "yes");
  CHECK(holds("P") == "yes");
  CHECK(holds("not P") == "no");
  CHECK(holds("not not (N > 2 and N <= 3)") == "yes");
  CHECK(holds("defined(N) and not defined(M)") == "yes");
  CHECK(holds("defined(M) and M > 2") == "no");
  CHECK(holds("defined(N) or M > 2") == "yes");
  CHECK(holds("True and not False") == "yes");
  CHECK(holds("N == 0x3") == "yes");
}

TEST_CASE("conditions that say nothing") {
  CHECK(holds("M") == "undefined-condition-name@1:5");
  CHECK(holds("N ==") == "bad-condition@1:9");
  CHECK(holds("N 4") == "bad-condition@1:7");
  CHECK(holds("(N") == "unclosed-bracket@1:7");
  CHECK(holds("S") == "condition-is-string@1:6");
  CHECK(holds("S == 3") == "condition-types-differ@1:7");
  CHECK(holds("S < 'b'") == "condition-orders-strings@1:7");
  CHECK(holds("") == "bad-condition@1:5");
  CHECK(holds("defined N") == "bad-condition@1:13");
  CHECK(holds("99999999999999999999 > N") == "integer-too-large@1:5");
}

TEST_CASE("one branch is taken, nested ones included") {
  World world;
  world.defines = {{"A", "2"}};
  CHECK(tree("%if A == 1\na\n%elif A == 2\nb\n%if A == 9\nc\n%else\nd\n%endif\n%elif A == 2\ne\n"
             "%else\nf\n%endif\n",
             world) == "(expr b)\n(expr d)\n");
  CHECK(tree("%if A == 1\n%if nonsense(\n)\n%endif\n%endif\nx\n", world) == "(expr x)\n");
}

TEST_CASE("directives make no layout and may stand inside blocks") {
  World world;
  world.defines = {{"FAST", "1"}};
  CHECK(tree("def f():\n%if FAST\n    a\n%else\n    b\n%endif\n    c\n", world) ==
        "(def f () _\n  (expr a)\n  (expr c))\n");
  CHECK(tree("def f():\n    a\n        %if FAST\n    b\n  %endif\n", world) ==
        "(def f () _\n  (expr a)\n  (expr b))\n");
}

TEST_CASE("a percent sign elsewhere is the operator") {
  CHECK(tree("x = (a\n  % define)\n") == "(assign x (% a define))\n");
  CHECK(tree("x = a \\\n  % b\n") == "(assign x (% a b))\n");
}

TEST_CASE("macros") {
  CHECK(tree("%define N (M + 1)\n%define M 2\nx = N * M\n") == "(assign x (* (+ 2 1) 2))\n");
  CHECK(tree("%define A A + B\n%define B A\nx = A\n") == "(assign x (+ A A))\n");
  CHECK(tree("%define D 1\nx.D = D\n") == "(assign (. x D) 1)\n");
  CHECK(tree("%define NOTHING\nx = NOTHING 1\n") == "(assign x 1)\n");
  CHECK(tree("%define L [1,\n  2]\nx = L\n") == "(assign x (list 1 2))\n");
  CHECK(tree("%define A 1\n%define A  1  # same\nx = A\n") == "(assign x 1)\n");
}

TEST_CASE("an error in a macro is shown where the macro is used") {
  Parsed parsed = parse("%define P 1 +\nx = P\n");
  CHECK(parsed.tags == "expected-expression@2:6");
  CHECK(parsed.messages.find("- the macro is defined here") !=
        std::string::npos);
}

TEST_CASE("errors in directives") {
  CHECK(tags("%define\n") == "expected-in-directive@1:1");
  CHECK(tags("%define F(x) x\n") == "macro-has-parameters@1:9");
  CHECK(tags("%define A (1\n") == "unclosed-bracket@1:13");
  CHECK(tags("%define A 1)\n") == "unmatched-closing@1:12");
  CHECK(tags("%define A 1\n%define A 2\n") == "macro-redefined@2:9");
  CHECK(tags("%inclued 'a'\n") == "unknown-directive@1:1");
  CHECK(tags("% include 'a'\n") == "unknown-directive@1:1");
  CHECK(tags("%include a\n") == "expected-in-directive@1:1");
  CHECK(tags("%include 'a' 'b'\n") == "unexpected-after-directive@1:14");
  CHECK(tags("%error\n") == "expected-in-directive@1:1");
  CHECK(tags("%else\n") == "directive-without-if@1:1");
  CHECK(tags("%elif True\n") == "directive-without-if@1:1");
  CHECK(tags("%endif\n") == "directive-without-if@1:1");
  CHECK(tags("%if True\n%else\n%else\n%endif\n") == "directive-after-else@3:1");
  CHECK(tags("%if True\n%else\n%elif True\n%endif\n") == "directive-after-else@3:1");
  CHECK(tags("%if True\nx\n") == "unterminated-condition@1:1");
  CHECK(tags("%if True\n%endif x\n") == "unexpected-after-directive@2:8");
  Parsed parsed = parse("%error \"use sm_90a\"\n");
  CHECK(parsed.messages.starts_with("main.tsr:1:1: error: use sm_90a [error-directive]\n"));
}

TEST_CASE("includes are found beside the file, then along the path") {
  World world;
  world.files = {
      {"a.tsr", "x = 1\n"}, {"lib/b.tsr", "%include \"c.tsr\"\n%define Y 2"}, {"lib/c.tsr", "z\n"}};
  world.include_paths = {"lib"};
  CHECK(tree("%include \"a.tsr\"\n%include 'b.tsr'\ny = Y\n", world) ==
        "(assign x 1)\n(expr z)\n(assign y 2)\n");
  CHECK(tree("%include \"a.tsr\"\n%include \"./a.tsr\"\n", world) ==
        "(assign x 1)\n(assign x 1)\n");
  Parsed missing = parse("%include \"d.tsr\"\n", world);
  CHECK(missing.tags == "include-not-found@1:1");
  CHECK(missing.messages.find("tried 'lib/d.tsr': no such file") != std::string::npos);
}

TEST_CASE("files that include each other are reported with the chain") {
  World world;
  world.files = {{"a.tsr", "%include \"b.tsr\"\n"}, {"b.tsr", "\n%include \"main.tsr\"\n"}};
  Parsed parsed = parse("%include \"a.tsr\"\n", world);
  CHECK(parsed.tags == "include-cycle@2:10");
  CHECK(parsed.messages.find("main.tsr:1:10: note: 'a.tsr' is included here") != std::string::npos);
  CHECK(parsed.messages.find("a.tsr:1:10: note: 'b.tsr' is included here") != std::string::npos);
}

TEST_CASE("brackets and conditions end with their file") {
  World world;
  world.files = {{"open.tsr", "x = (1\n"}, {"if.tsr", "%if True\n"}};
  CHECK(tags("%include \"open.tsr\"\ny\n", world) == "unclosed-bracket@1:7");
  CHECK(tags("%include \"if.tsr\"\ny\n%endif\n", world) ==
        "directive-without-if@3:1 unterminated-condition@1:1");
}

TEST_CASE("expansion and inclusion are bounded") {
  std::string bomb = "%define A0 x\n";
  for (int i = 1; i < 40; ++i) bomb += fmt::format("%define A{0} A{1} + A{1}\n", i, i - 1);
  CHECK(tags(bomb + "y = A39\nz = A39\n") == "unsupported-macro-expansion@41:5");
  World world;
  for (int i = 0; i < 60; ++i) {
    world.files[fmt::format("{}.tsr", i)] = fmt::format("%include \"{}.tsr\"\n", i + 1);
  }
  CHECK(tags("%include \"0.tsr\"\n", world) == "unsupported-include-depth@1:1");
}

TEST_CASE("inclusion that doubles with every file gives up with one message") {
  World world;
  for (int i = 0; i < 30; ++i) {
    std::string line = fmt::format("%include \"{}.tsr\"\n", i + 1);
    world.files[fmt::format("{}.tsr", i)] = line + line;
  }
  world.files["30.tsr"] = "";
  CHECK(tags("%include \"0.tsr\"\nx\n", world) == "unsupported-include-count@2:1");
  world.files = {{"long.tsr", "x = [" + repeat("a,", 500'000) + "]\n"}};
  Parsed parsed = parse(repeat("%include \"long.tsr\"\n", 10), world);
  CHECK(parsed.tags == "unsupported-token-count@1:388571");
  CHECK(parsed.tree == "");
}
