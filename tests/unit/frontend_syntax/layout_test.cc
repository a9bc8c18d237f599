#include <catch2/catch.hpp>

#include "unit/frontend_syntax/helpers.h"

using namespace tessera::test;

TEST_CASE("blocks nest by indentation, comments and empty lines do not count") {
  CHECK(tree("if a:\n\n  if b:\n# left\n        # right\n     c\n\n  d\ne\n") ==
        "(if\n  (arm a\n    (if\n      (arm b\n        (expr c)))\n    (expr d)))\n(expr e)\n");
}

TEST_CASE("several blocks end at once") {
  CHECK(tree("if a:\n\tif b:\n\t\tc\nd\n") ==
        "(if\n  (arm a\n    (if\n      (arm b\n        (expr c)))))\n(expr d)\n");
}

TEST_CASE("tabs and spaces do not mix") {
  CHECK(tags("if a:\n \tb\n") == "mixed-indentation@2:3");
  CHECK(tags("if a:\n  b\nif c:\n\td\n") == "");
  CHECK(tags("if a:\n  if b:\n\t\t\tc\n  d\n") == "mixed-indentation@3:4");
}

TEST_CASE("unexpected indentation is one message for the whole block") {
  CHECK(tags("a\n  b\n  c\nd\n") == "unexpected-indent@2:3");
  CHECK(tree("  a\n").find("unexpected-indent") != std::string::npos);
  CHECK(tags("if a: b\n  c\n") == "unexpected-indent@2:3");
  CHECK(tags("if a:\n    b\n  c\nd\n") == "inconsistent-dedent@3:3");
}

TEST_CASE("a missing block is named with the line that wants it") {
  CHECK(tags("def f():\nx\n") == "expected-block@2:1");
  CHECK(tags("def f():\n") == "expected-block@2:1");
  CHECK(tags("if a:\n  while b:\n  c\nelse:\nd\n") == "expected-block@3:3 expected-block@5:1");
  tessera::test::Parsed parsed = parse("def f():\nx = 1\n");
  CHECK(parsed.tree == "(def f () _\n  (error-stmt))\n(assign x 1)\n");
  CHECK(parsed.messages.find("after 'def'") != std::string::npos);
  CHECK(parsed.messages.find("help: write 'pass'") != std::string::npos);
}

TEST_CASE("branches need their if") {
  CHECK(tags("else:\n  a\n") == "branch-without-if@1:1");
  CHECK(tags("if a:\n  b\nc\nelif d:\n  e\n") == "branch-without-if@4:1");
  CHECK(tags("if a:\n  b\nelse:\n  c\nelse:\n  d\n") == "branch-without-if@5:1");
  CHECK(tags("for a in b:\n  c\nelse:\n  d\n") == "branch-without-if@3:1");
}

TEST_CASE("policies below each other are no decorators") {
  CHECK(tags("def f(\n    x: T\n        @a\n        @b,\n):\n    pass\n") == "");
  CHECK(tags("y = f(x\n@a\ndef g(): pass\n") == "unclosed-bracket@1:8");
}

TEST_CASE("brackets") {
  CHECK(tags("x = )\n") == "unmatched-closing@1:5");
  CHECK(tags("x = (1]\ny\n") == "mismatched-bracket@1:7");
  CHECK(tags("x = [1, (2\n") == "unclosed-bracket@1:11");
  CHECK(tags("x = f(1\ndef g():\n  y\n") == "unclosed-bracket@1:8");
  CHECK(tags("x = f(1, 2\ny = 3\n") == "unclosed-bracket@1:11");
  CHECK(tags("if a:\n  x = f(1, [2\n  )\n  y = 3\n") == "mismatched-bracket@3:3");
  CHECK(parse("x = f([1)\ny\n").tree == "(error-stmt)\n(expr y)\n");
  CHECK(tags("x = f(1\n  y)\n") == "unexpected-token@2:3");
  CHECK(tags("x = f('a'\n'b',\nc\n)\n") == "");
  CHECK(tags("def f(\n  x: Tensor[4, f32]\n    @accum(f32)\n    @saturate,\n):\n  return x\n") == "");
  CHECK(tags("x = f(1\n@jit\n@export\ndef g():\n  y\n") == "unclosed-bracket@1:8");
  Parsed parsed = parse("def f(a:\n  return (b\ndef g(): pass\n");
  CHECK(parsed.tags == "unclosed-bracket@1:8 unclosed-bracket@2:12");
  CHECK(parsed.tree.find("(def g () _\n  (pass))") != std::string::npos);
}

TEST_CASE("a line that has fallen out of its block is taken as part of it") {
  CHECK(tags("def f():\n    a\n    b\nc\n    d\n") == "misplaced-statement@4:1");
  CHECK(tags("def f():\n    a\nfor i in x:\n        b\n    c\n") == "misplaced-statement@3:1");
  CHECK(tags("def f():\n    return a\nb\n    c\n") == "unexpected-indent@4:5");
  CHECK(tags("def f():\n    a\nb\nc\n") == "");
  std::string whole = "(def f () _\n  (expr a)\n  (expr b)\n  (expr c))";
  CHECK(parse("def f():\n    a\nb\n    c\n").tree.find(whole) != std::string::npos);
}

TEST_CASE("most lines of a block override its first line") {
  CHECK(tags("def f():\n        a\n    b\n    c\n") == "misplaced-statement@2:9");
  CHECK(tags("if x:\n    y\ndef f():\n      a\n    b\n") == "misplaced-statement@4:7");
}

TEST_CASE("a block's first line that is not indented is taken as part of it") {
  Parsed parsed = parse("def f():\na\n    b\nc\n");
  CHECK(parsed.tags == "expected-block@2:1");
  CHECK(parsed.messages.find("help: indent it like the lines below it") != std::string::npos);
  CHECK(parsed.tree.find("(def f () _\n  (expr a)\n  (expr b))\n(expr c)") != std::string::npos);
  CHECK(tags("module M:\n    def f(self):\n    a\n        b\n    def g(self):\n        c\n") == "expected-block@3:5");
  CHECK(tags("def f():\na\nb\n") == "expected-block@2:1");
  CHECK(tags("def f():\ndef g():\n    b\n") == "expected-block@2:1");
}

TEST_CASE("a definition between two blocks is one of the outer's") {
  CHECK(tags("def f():\n    a\n  def g():\n    b\n") == "inconsistent-dedent@3:3");
  CHECK(tags("for a in b:\n    c\n  = d\n") == "inconsistent-dedent@3:3");
}

TEST_CASE("a bracket is missing where the layout of the next line says so") {
  CHECK(tags("f(a, b[c,\n  d[e])\n") == "unclosed-bracket@1:9");
  CHECK(tags("f(a, b[c,\n       d[e])\n").find("mismatched-bracket") == 0);
  CHECK(tags("x = fa, b,\n    c)\n") == "unmatched-closing@2:6");
}

TEST_CASE("a bracket that the head of a block leaves open is closed before what cannot stand in it") {
  std::string body = "    return x\n", head = "def f(x: Tensor[B, 8, f32])";
  CHECK(mended("def f(x: Tensor[B, 8, f32]:\n" + body) == head + ":\n" + body);
  CHECK(mended(head + " -> Tensor[B, 8, f32:\n" + body) == head + " -> Tensor[B, 8, f32]:\n" + body);
  CHECK(mended(head + " where (S % 4 == 0:\n" + body) == head + " where (S % 4 == 0):\n" + body);
  CHECK(mended("if (B == 4:\n    y\n") == "if (B == 4):\n    y\n");
  CHECK(mended(head + " -> !{rng:\n" + body) == head + " -> !{rng}:\n" + body);
  CHECK(mended(head + " -> (T, T:\n" + body) == head + " -> (T, T):\n" + body);
  CHECK(mended("def f(x: T[B] -> T[B]:\n" + body) == "def f(x: T[B]) -> T[B]:\n" + body);
  CHECK(mended("def f(x: T where B > 1:\n" + body) == "def f(x: T) where B > 1:\n" + body);
  CHECK(mended("def f(x: Tensor[B, 8:\n" + body) == "def f(x: Tensor[B, 8]):\n" + body);
  CHECK(mended("def f(x: T: return x\n") == "def f(x: T): return x\n");
  CHECK(mended("param w: Param[8, f32 = ones()\n") == "param w: Param[8, f32] = ones()\n");
  CHECK(mended("y = x if (B == 4 else x\n") == "y = x if (B == 4) else x\n");
  CHECK(mended("y = g(x if (B == 4 else x)\n") == "y = g(x if (B == 4) else x)\n");
  CHECK(mended("y = (x, [(a if b else c\n") == "y = (x, [(a if b else c)])\n");
  CHECK(mended("def f(\n    x: T,\n    y: T:\n    z = x\n") == "def f(\n    x: T,\n    y: T):\n    z = x\n");
  CHECK(mended("for i in range(3:\n    x = x + 1.0\n") == "for i in range(3):\n    x = x + 1.0\n");
  CHECK(mended("module L(I: dim:\n    w: Param[I]\n") == "module L(I: dim):\n    w: Param[I]\n");
  CHECK(tags("def f(x:\n    T, y: T):\n    pass\nif {a:\n    b}:\n    c\n") == "");
}

TEST_CASE("blocks of other languages") {
  CHECK(tags("def f(a) {\n  b\n}\n") == "expected-token@1:10");
  CHECK(tags("if a {\n  b\n} else {\n  c\n}\n").find("expected-token@1:6") == 0);
  CHECK(tags("try:\n  a\nexcept:\n  b\n") == "unexpected-at-start@1:1");
  CHECK(tags("class A(nn.Module):\n  def f(self): pass\n") == "unexpected-at-start@1:1");
  CHECK(tags("def f(y: Regon[write] Tensor[P, f32]): pass\n") == "not-a-type@1:10");
}
