#include <catch2/catch.hpp>

#include "unit/frontend_syntax/helpers.h"

using namespace tessera::test;

TEST_CASE("binary operators bind as the table says") {
  CHECK(expression("a + b * c - d") == "(- (+ a (* b c)) d)");
  CHECK(expression("a @ b // c % d / e") == "(/ (% (// (@ a b) c) d) e)");
  CHECK(expression("a | b ^ c & d << e + f") == "(| a (^ b (& c (<< d (+ e f)))))");
  CHECK(expression("a >> b >> c") == "(>> (>> a b) c)");
  CHECK(expression("(a + b) * c") == "(* (+ a b) c)");
}

TEST_CASE("powers nest to the right and bind tighter than a prefix on their left") {
  CHECK(expression("a ** b ** c") == "(** a (** b c))");
  CHECK(expression("-a ** b") == "(- (** a b))");
  CHECK(expression("a ** -b ** c * d") == "(* (** a (- (** b c))) d)");
  CHECK(expression("- + ~a") == "(- (+ (~ a)))");
}

TEST_CASE("comparisons chain, logical operators are flat") {
  CHECK(expression("a < b <= c != d") == "(compare a < b <= c != d)");
  CHECK(expression("a in b not in c is d is not e") == "(compare a in b not-in c is d is-not e)");
  CHECK(expression("a or b or c and d and not e == f") ==
        "(or a b (and c d (not (compare e == f))))");
  CHECK(expression("not not a") == "(not (not a))");
}

TEST_CASE("conditionals and lambdas reach to the right") {
  CHECK(expression("a if b else c if d else e") == "(if-else b a (if-else d c e))");
  CHECK(expression("lambda: 1") == "(lambda () 1)");
  CHECK(expression("lambda x, y=2, *, z: x + y") ==
        "(lambda ((param x) (param y _ 2) (keyword z)) (+ x y))");
  CHECK(expression("a if b else lambda q: q") == "(if-else b a (lambda ((param q)) q))");
}

TEST_CASE("calls, attributes and subscripts follow an atom") {
  CHECK(expression("f(a, k=1, *)").find("expected-expression") != std::string::npos);
  CHECK(expression("f(a, k=1,)") == "(call f a (= k 1))");
  CHECK(expression("a.b.T(c)[d]") == "([] (call (. (. a b) T) c) d)");
  CHECK(expression("x[:, None]") == "([] x (slice _ _ _) None)");
  CHECK(expression("x[..., 1:2:3, ::4, a:]") ==
        "([] x ... (slice 1 2 3) (slice _ _ 4) (slice a _ _))");
  CHECK(expression("x[(a, b)]") == "([] x (tuple a b))");
  CHECK(expression("block(m=[64,128]) .warps([4,8]) .stages(3)") ==
        "(call (. (call (. (call block (= m (list 64 128))) warps) (list 4 8)) stages) 3)");
}

TEST_CASE("displays") {
  CHECK(expression("()") == "(tuple)");
  CHECK(expression("(a)") == "a");
  CHECK(expression("(a,)") == "(tuple a)");
  CHECK(expression("a, b") == "(tuple a b)");
  CHECK(expression("[]") == "(list)");
  CHECK(expression("[1, 2,]") == "(list 1 2)");
  CHECK(expression("{}") == "(dict)");
  CHECK(expression("{'a': 1, 'b': f(2)}") == "(dict (: \"a\" 1) (: \"b\" (call f 2)))");
  CHECK(expression("{1, 2}") == "(set 1 2)");
}

TEST_CASE("comprehensions") {
  CHECK(expression("[a for a in b]") == "(list-for a (for a b))");
  CHECK(expression("[a for a, b in c if d if e for f in g]") ==
        "(list-for a (for (tuple a b) c d e) (for f g))");
  CHECK(expression("{a: b for a in c}") == "(dict-for a b (for a c))");
  CHECK(expression("{a for a in c}") == "(set-for a (for a c))");
  CHECK(expression("f(a for a in b)") == "(call f (generator a (for a b)))");
}

TEST_CASE("types are expressions") {
  CHECK(expression("Tensor[B, D, bf16 @accum(f32)]") ==
        "([] Tensor B D (@ bf16 (call accum f32)))");
  CHECK(expression("KVCache[\"B\", dtype] @rolling_window @device(gpu)") ==
        "(@ (@ ([] KVCache \"B\" dtype) rolling_window) (call device gpu))");
  CHECK(expression("f32|bf16") == "(| f32 bf16)");
}

TEST_CASE("constants and numbers") {
  CHECK(expression("True, False, None, ...") == "(tuple True False None ...)");
  CHECK(expression("1_000, 0xFF_ff, 0b101, 0, 18446744073709551615") ==
        "(tuple 1000 65535 5 0 18446744073709551615)");
  CHECK(expression("1.5, .5, 2., 1e-3, 1_0.5E+2") == "(tuple 1.5 .5 2. 1e-3 1_0.5E+2)");
}

TEST_CASE("strings join and resolve their escapes") {
  CHECK(expression(R"("a" 'b' """c"d""")") == R"("abc\"d")");
  CHECK(expression(R"("\\\"\'\x41\u00e9\U0001F600")") == "\"\\\\\\\"'Aé😀\"");
  CHECK(expression("'a\\\nb'") == "\"ab\"");
  CHECK(expression("'''a\nb'''") == "\"a\\x0ab\"");
}

TEST_CASE("soft keywords are names wherever they cannot be keywords") {
  CHECK(expression("on + module * param - const @ where / dim") ==
        "(- (+ on (* module param)) (/ (@ const where) dim))");
  CHECK(tree("on = 1\nmodule(x)\nparam.x = dim[3]\nconst: int = 2\nRegion = x\n") ==
        "(assign on 1)\n(expr (call module x))\n(assign (. param x) ([] dim 3))\n"
        "(assign const (: int) 2)\n(assign Region x)\n");
  CHECK(expression("f(on=1, where=2)") == "(call f (= on 1) (= where 2))");
}

TEST_CASE("names of literals that come close to the edges of doubles") {
  CHECK(expression("1e308") == "1e308");
  CHECK(expression("1e-999") == "1e-999");
  CHECK(tags("x = 1e999\n") == "float-too-large@1:5");
  CHECK(tags("x = 18446744073709551616\n") == "integer-too-large@1:5");
}
