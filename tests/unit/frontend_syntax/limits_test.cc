// Limits: what is allowed works, one more is one message, and it comes fast.

#include <catch2/catch.hpp>

#include "unit/frontend_syntax/helpers.h"

using namespace tessera::test;

namespace {

std::string nested_blocks(size_t depth) {
  std::string text;
  for (size_t i = 0; i < depth; ++i) text += std::string(i, ' ') + "if a:\n";
  return text + std::string(depth, ' ') + "b\nc\n";
}

std::string elifs(size_t count) {
  return "if a: b\n" + repeat("elif c: d\n", count) + "else: e\n";
}

}  // namespace

TEST_CASE("bracket depth") {
  CHECK(tags("x = " + repeat("(", 200) + "1" + repeat(")", 200) + "\n") == "");
  CHECK(tags("x = " + repeat("[", 201) + repeat("]", 201) + "\ny\n") ==
        "unsupported-bracket-depth@1:205");
  CHECK(tags("x = " + repeat("(", 10'000) + "\n") == "unsupported-bracket-depth@1:205");
  CHECK(tags("x = " + repeat("f(a)[", 10'000) + "\n") == "unsupported-bracket-depth@1:1006");
}

TEST_CASE("indentation depth") {
  CHECK(tags(nested_blocks(100)) == "");
  CHECK(tags(nested_blocks(101)) == "unsupported-indentation-depth@102:102");
  CHECK(tags(nested_blocks(300)) == "unsupported-indentation-depth@102:102");
}

TEST_CASE("chains that nest to the right") {
  CHECK(tags("x = " + repeat("- ", 1000) + "1\n") == "");
  CHECK(tags("x = " + repeat("-", 1001) + "1\ny\n") == "unsupported-chain@1:1005");
  CHECK(tags("x = " + repeat("not ", 1001) + "1\n") == "unsupported-chain@1:4005");
  CHECK(tags("x = " + repeat("a ** ", 1000) + "a\n") == "");
  CHECK(tags("x = " + repeat("a ** ", 1001) + "a\n") == "unsupported-chain@1:5007");
  CHECK(tags("x = " + repeat("a if b else ", 1000) + "a\n") == "");
  CHECK(tags("x = " + repeat("a if b else ", 1001) + "a\n") == "unsupported-chain@1:12012");
  CHECK(tags("x = " + repeat("lambda: ", 1000) + "a\n") == "");
  CHECK(tags("x = " + repeat("lambda a, b: ", 1001) + "a\n") == "unsupported-chain@1:13005");
  CHECK(tags("x = a" + repeat(".b", 1000) + "\n") == "");
  CHECK(tags("x = a" + repeat("(1)", 1001) + "\n") == "unsupported-chain@1:3006");
}

TEST_CASE("chains count through brackets") {
  std::string text;
  for (int i = 0; i < 150; ++i) text += "------- (";
  CHECK(tags("x = " + text + "1" + repeat(")", 150) + "\n") == "unsupported-chain@1:1289");
}

TEST_CASE("elements side by side are no chain") {
  CHECK(tags("x = [" + repeat("-a ** b.c(d), ", 3000) + "]\n") == "");
  CHECK(tags("x = " + repeat("a ** 2 + -b.c[0] * ", 3000) + "1\n") == "");
  CHECK(tags("x = [" + repeat("a if b else c, lambda q: q, ", 1500) + "]\n") == "");
}

TEST_CASE("elif branches") {
  CHECK(tags(elifs(1000)) == "");
  CHECK(tags(elifs(1001)) == "unsupported-chain@1002:1");
}

TEST_CASE("left-deep chains have no limit") {
  Parsed parsed = parse("x = " + repeat("a + ", 100'000) + "a\n");
  CHECK(parsed.messages == "");
  CHECK(parsed.tree.starts_with("(assign x (+ (+ (+ "));
  CHECK(parsed.tree.ends_with(" a) a) a))\n"));
  CHECK(parsed.tree.size() == 14 + 100'000 * 6 - 1);
}

TEST_CASE("two million prefix operators are one message") {
  CHECK(tags("x = " + repeat("-", 2'000'000) + "1\n") == "unsupported-chain@1:1005");
}

TEST_CASE("errors beyond those shown are counted") {
  Parsed parsed = parse(repeat("a b\n", 200'000));
  CHECK(parsed.messages.find("199980 more errors not shown") != std::string::npos);
}
