// Errors: one message each, at the right place, and the rest of the file is parsed.

#include <catch2/catch.hpp>

#include "unit/frontend_syntax/helpers.h"

using namespace tessera::test;

TEST_CASE("broken tokens") {
  CHECK(tags("x = \"a\ny\n") == "unterminated-string@1:5");
  CHECK(tags("x = '''a\ny\n") == "unterminated-string@1:5");
  CHECK(tags("x = 0x\n") == "malformed-number@1:5");
  CHECK(tags("x = 12ab + 1\n") == "malformed-number@1:5");
  CHECK(tags("x = 1__0\n") == "malformed-number@1:5");
  CHECK(tags("x = a $ b\n") == "unknown-character@1:7");
  CHECK(tags("x = \xC3\xA9t\xC3\xA9\n") == "unknown-character@1:5 unknown-character@1:8");
  CHECK(tags("x = a ??? b\n") == "unknown-character@1:7");
  CHECK(tags("x = \"\\q\"\n") == "unknown-escape@1:6");
  CHECK(tags("x = \"\\xff\"\n") == "unknown-escape@1:6");
  CHECK(tags("x = \"\\ud800\"\n") == "unknown-escape@1:6");
  CHECK(tags("x = a \\ b\n") == "unknown-character@1:7");
}

TEST_CASE("broken bytes") {
  CHECK(tags("x = \"\xFF\"\n") == "invalid-utf8@1:6");
  CHECK(tags("x = \xC0\x80\n") == "invalid-utf8@1:5");
  CHECK(tags("# \xED\xA0\x80\n") == "invalid-utf8@1:3");
  CHECK(tags("# \xF4\x90\x80\x80\n") == "invalid-utf8@1:3");
  CHECK(tags("# \xE2\x82\n") == "invalid-utf8@1:3");
  CHECK(tags(std::string("x = \0 1\n", 8)) == "nul-byte@1:5");
  CHECK(tags("# \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\n") == "");
}

TEST_CASE("an expression is missing") {
  CHECK(tags("x =\n") == "expected-expression@1:4");
  CHECK(tags("x = 1 +\n") == "expected-expression@1:8");
  CHECK(tags("x = (1 + )\n") == "expected-expression@1:10");
  CHECK(tags("f(a, , b)\n") == "expected-expression@1:6");
  CHECK(tags("x[]\n") == "expected-expression@1:3");
  CHECK(tags("x = if\n") == "expected-expression@1:5");
}

TEST_CASE("something is missing between") {
  CHECK(tags("x = a b\n") == "unexpected-token@1:7");
  CHECK(tags("f(a b)\n") == "unexpected-token@1:5");
  CHECK(tags("x = a if b\n") == "expected-token@1:11");
  CHECK(tags("return x = 1\n") == "unexpected-token@1:10");
  CHECK(tags("for i range(3):\n  x\n") == "expected-token@1:7");
  CHECK(tags("for i = 3:\n  x\n") == "expected-token@1:7");
  CHECK(tags("x.\n") == "expected-token@1:3");
  CHECK(tags("a;;b\n") == "unexpected-token@1:3");
  CHECK(parse("f(a b)\n").messages.find("help: an operator or a ',' may be missing") !=
        std::string::npos);
}

TEST_CASE("a block's colon is missing and the block is parsed all the same") {
  Parsed parsed = parse("if a\n  b\nc\n");
  CHECK(parsed.tags == "expected-token@1:5");
  CHECK(
      parsed.messages.starts_with("main.tsr:1:5: error: expected ':' before the end of the line"));
  CHECK(parsed.tree == "(if\n  (arm a\n    (expr b)))\n(expr c)\n");
  CHECK(tags("def f()\n  b\n") == "expected-token@1:8");
  CHECK(tags("else\n  b\n") == "branch-without-if@1:1");
  CHECK(tags("if a\nb\n") == "expected-token@1:5");
}

TEST_CASE("an assignment is not a condition") {
  Parsed parsed = parse("if a = 3:\n  b\nwhile c = d:\n  e\n");
  CHECK(parsed.tags == "assignment-in-condition@1:6 assignment-in-condition@3:9");
  CHECK(parsed.messages.find("help: write '==' to compare") != std::string::npos);
  CHECK(parsed.tree.find("(expr b)") != std::string::npos);
  CHECK(tags("f(a + b = c)\n") == "bad-keyword-argument@1:3");
}

TEST_CASE("keywords are no names") {
  CHECK(tags("def lambda(): pass\n") == "keyword-as-name@1:5");
  CHECK(tags("def f():\n  if a lambda: x\n  b\n") == "expected-token@2:8");
  CHECK(tags("def f():\n  if a lambda: x\n    b\n") == "expected-token@2:8");
  CHECK(tags("x.in\n") == "keyword-as-name@1:3");
  CHECK(tags("const if = 3\n") == "expected-expression@1:10");
  CHECK(tags("import for\n") == "keyword-as-name@1:8");
}

TEST_CASE("words and signs of other languages are recognised") {
  auto help = [](const std::string& text) {
    Parsed parsed = parse(text);
    size_t at = parsed.messages.find("help: ");
    return at == std::string::npos ? parsed.messages : parsed.messages.substr(at + 6);
  };
  CHECK(help("x = a && b\n") == "write 'and'\n    1 | x = a and b\n      |       ~~~\n");
  CHECK(help("x = a || b\n") == "write 'or'\n    1 | x = a or b\n      |       ~~\n");
  CHECK(help("x = !b\n") == "write 'not'\n    1 | x = not b\n      |     ~~~~\n");
  CHECK(help("class A:\n  x = 1\n") ==
        "write 'module' for parameters with methods\n    1 | module A:\n      | ~~~~~~\n");
  CHECK(help("let a = 1\n") == "a name is declared by assigning to it\n    1 | a = 1\n");
}

TEST_CASE("targets") {
  CHECK(tags("f(x) = 1\n") == "bad-target@1:1");
  CHECK(tags("a + b = 1\n") == "bad-target@1:1");
  CHECK(tags("(a, 1) = x\n") == "bad-target@1:5");
  CHECK(tags("a, b: T = x\n") == "bad-target@1:1");
  CHECK(tags("a, b += x\n") == "bad-target@1:1");
  CHECK(tags("for f() in x: pass\n") == "bad-target@1:5");
  CHECK(tags("'a' = 1\n") == "bad-target@1:1");
}

TEST_CASE("arguments, parameters and entries in the wrong order") {
  CHECK(tags("f(a=1, b)\n") == "positional-after-keyword@1:8");
  CHECK(tags("def f(*): pass\n") == "bad-keyword-marker@1:7");
  CHECK(tags("def f(*, a, *, b): pass\n") == "bad-keyword-marker@1:13");
  CHECK(tags("def f(a=1, b): pass\n") == "missing-default@1:12");
  CHECK(tags("def f(a=1, *, b): pass\n") == "");
  CHECK(tags("x = {1: 2, 3}\n") == "mixed-entries@1:12");
  CHECK(tags("x = 1 + not a\n") == "not-needs-brackets@1:9");
}

TEST_CASE("statements that cannot begin so") {
  CHECK(tags("* x\n") == "unexpected-at-start@1:1");
  CHECK(tags("= 1\n") == "unexpected-at-start@1:1");
  CHECK(tags("in x:\n  y\n") == "unexpected-at-start@1:1");
}

TEST_CASE("decorators belong to definitions") {
  CHECK(tags("@jit\nx = 1\n") == "expected-token@2:1");
  Parsed parsed = parse("@jit def f(): pass\nimport a\n");
  CHECK(parsed.tags == "unexpected-token@1:6");
  CHECK(parsed.tree == "(def f () _\n  (@ jit)\n  (pass))\n(import a)\n");
  CHECK(tags("@jit\n") == "expected-token@1:5");
  CHECK(tags("def f(x):\n    @jit\n\ndef g(x):\n    return x\n") == "expected-token@2:9");
  CHECK(tags("def f(x):\n    if x:\n        @jit\n    return x +\n") ==
        "expected-token@3:13 expected-expression@4:15");
  CHECK(tags("def f(x):\n    @\nx = 1\n") == "expected-token@2:6");
  CHECK(tags("@1\ndef f(): pass\n") == "expected-token@1:2");
}

TEST_CASE("one error is one message and what follows is parsed") {
  Parsed parsed = parse(
      "def f(a, b c):\n  x = 1 1\n  y = g(]\n  return x\n"
      "def ok(): pass\n"
      "if (a b):\n  c\nelif d e:\n  f\nelse g:\n  h\n");
  CHECK(parsed.tags ==
        "unexpected-token@1:12 unexpected-token@2:9 mismatched-bracket@3:9 unexpected-token@6:7 "
        "expected-token@8:8 expected-token@10:6");
  CHECK(parsed.tree.find("(return x)") != std::string::npos);
  CHECK(parsed.tree.find("(def ok () _\n  (pass))") != std::string::npos);
  CHECK(parsed.tree.find("(expr h)") != std::string::npos);
}

TEST_CASE("one error of other languages, editors and keyboards is one message, which mends it") {
  CHECK(mended("if a:\n  b\nelse if c:\n  d\nelse:\n  e\n") == "if a:\n  b\nelif c:\n  d\nelse:\n  e\n");
  CHECK(tags("def g(*args):\n  return args[0]\n") == "bad-keyword-marker@1:7");
  CHECK(tags("def g(x, **kwargs):\n  return x\n") == "bad-keyword-marker@1:10");
  CHECK(tags("def f(in: T):\n  return in\n") == "keyword-as-name@1:7");
  CHECK(tags("def f(x, lambda):\n  y = lambda * x\n  return lambda + 1.0\n") == "keyword-as-name@1:10");
  CHECK(mended("def f(x Tensor[B, f32]):\n  return x\n") == "def f(x: Tensor[B, f32]):\n  return x\n");
  CHECK(mended("y := 3\n") == "y = 3\n");
  CHECK(mended("def f(x: T) => T:\n  return x\n") == "def f(x: T) -> T:\n  return x\n");
  CHECK(mended("def f(x: T) where S => 4:\n  return x\n") == "def f(x: T) where S >= 4:\n  return x\n");
  CHECK(parse("from a import *\n").messages.find("one by one") != std::string::npos);
  CHECK(mended("x = a \u00D7 b\n") == "x = a * b\n");
  CHECK(mended("x = a \u2212 b\n") == "x = a - b\n");
  CHECK(tags("in = x\n") == "keyword-as-name@1:1");
  CHECK(mended("def f():\n\u00A0\u00A0x = y\n\u00A0 return\u00A0x\n") == "def f():\n  x = y\n  return x\n");
  CHECK(parse("\u00A0x\n").messages.find("'U+00A0'") != std::string::npos);
  CHECK(mended("x = \u201Ca \u00E9 b\u201D\ny = 1\n") == "x = \"a \u00E9 b\"\ny = 1\n");
  CHECK(mended("x = \u2018a\u2019\n") == "x = 'a'\n");
  CHECK(tags("%if 1 < 3X\nx\n%endif\n") == "malformed-number@1:9");
  CHECK(tags("x = 1\ry = 2\rz = 3\r") == "unknown-character@1:6");
}
