#include <catch2/catch.hpp>

#include "unit/frontend_syntax/helpers.h"

using namespace tessera::test;

TEST_CASE("assignments") {
  CHECK(tree("a = b = f(x)\n") == "(assign a b (call f x))\n");
  CHECK(tree("a, (b, c), d[0], e.f = x\n") ==
        "(assign (tuple a (tuple b c) ([] d 0) (. e f)) x)\n");
  CHECK(tree("y: Tensor[B, D, bf16] = x\n") == "(assign y (: ([] Tensor B D bf16)) x)\n");
  CHECK(tree("y: f32\n") == "(assign y (: f32) _)\n");
  CHECK(tree("x = 1, 2\n") == "(assign x (tuple 1 2))\n");
}

TEST_CASE("augmented assignments") {
  CHECK(tree("a += 1; a -= 2; a *= 3; a /= 4; a //= 5; a %= 6\n") ==
        "(augment + a 1)\n(augment - a 2)\n(augment * a 3)\n(augment / a 4)\n"
        "(augment // a 5)\n(augment % a 6)\n");
  CHECK(tree("a @= b; a **= 2; a <<= 1; a >>= 1; a &= b; a ^= b; a |= b\n") ==
        "(augment @ a b)\n(augment ** a 2)\n(augment << a 1)\n(augment >> a 1)\n"
        "(augment & a b)\n(augment ^ a b)\n(augment | a b)\n");
}

TEST_CASE("branches") {
  CHECK(tree("if a:\n  b\nelif c:\n  d\nelif e: f\nelse:\n  g\n") ==
        "(if\n  (arm a\n    (expr b))\n  (arm c\n    (expr d))\n  (arm e\n    (expr f))\n"
        "  (else\n    (expr g)))\n");
  CHECK(tree("if a: b; c = d;\n") == "(if\n  (arm a\n    (expr b)\n    (assign c d)))\n");
}

TEST_CASE("loops") {
  CHECK(tree("for i in range(3): pass\n") == "(for i (call range 3)\n  (pass))\n");
  CHECK(tree("for a, b.c in d, e:\n  f\n") == "(for (tuple a (. b c)) (tuple d e)\n  (expr f))\n");
  CHECK(tree("while a < b:\n  a += 1\n") == "(while (compare a < b)\n  (augment + a 1))\n");
}

TEST_CASE("with and on") {
  CHECK(tree("with device(gpu[0]), prefetch(o, into=\"smem\") as p:\n  x\n") ==
        "(with (item (call device ([] gpu 0))) (item (call prefetch o (= into \"smem\")) p)\n"
        "  (expr x))\n");
  CHECK(tree("on mesh(devs)\nx\n") == "(on (call mesh devs))\n(expr x)\n");
  CHECK(tree("on mesh(devs): x\n") == "(on (call mesh devs)\n  (expr x))\n");
  CHECK(tree("def f():\n  on m; x\n  on n:\n    y\n") ==
        "(def f () _\n  (on m)\n  (expr x)\n  (on n\n    (expr y)))\n");
}

TEST_CASE("returns, passes and nested functions") {
  CHECK(tree("def f():\n  def g(a): return a\n  return\n") ==
        "(def f () _\n  (def g ((param a)) _\n    (return a))\n  (return))\n");
  CHECK(tree("def f(): return a, b\n") == "(def f () _\n  (return (tuple a b)))\n");
}

TEST_CASE("top-level statements on one line are declarations of their own") {
  CHECK(tree("a = 1; b = 2; c;\n") == "(assign a 1)\n(assign b 2)\n(expr c)\n");
}

TEST_CASE("a file may lack its last newline, or everything") {
  CHECK(tree("a") == "(expr a)\n");
  CHECK(tree("def f():\n  a") == "(def f () _\n  (expr a))\n");
  CHECK(tree("") == "");
  CHECK(tree("\n\n# nothing\n   \n") == "");
}

TEST_CASE("line ends, a byte order mark and continuations leave no trace") {
  CHECK(tree("\xEF\xBB\xBFif a:\r\n  b\r\nc\r\n") == "(if\n  (arm a\n    (expr b)))\n(expr c)\n");
  CHECK(tree("a = b + \\\n  c\n") == "(assign a (+ b c))\n");
  CHECK(tree("a = (b  # comment\n\n  + c)\n") == "(assign a (+ b c))\n");
}
