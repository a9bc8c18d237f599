#include <catch2/catch.hpp>

#include "unit/frontend_syntax/helpers.h"

using namespace tessera;
using namespace tessera::test;

TEST_CASE("imports") {
  CHECK(tree("import a.b as c, d\n") == "(import a.b (as c) d)\n");
  CHECK(tree("from tessera.nn import rmsnorm_safe, gelu as g\n") ==
        "(from-import tessera.nn rmsnorm_safe gelu (as g))\n");
  CHECK(tree("from a import (\n  # first\n  b,  # comment\n  c,\n)\n") == "(from-import a b c)\n");
}

TEST_CASE("const, dim and param") {
  CHECK(tree("const F = 3072\nconst G: int = F * 2\n") ==
        "(const F _ 3072)\n(const G int (* F 2))\n");
  CHECK(tree("dim B\ndim S, D\n") == "(dim B)\n(dim S D)\n");
  CHECK(tree("param W\nparam A, B: Param[D, bf16] = normal(0.02)\n") ==
        "(param W (: _) _)\n(param A B (: ([] Param D bf16)) (call normal 0.02))\n");
}

TEST_CASE("functions") {
  CHECK(tree("def f(a, b: T, c: T = 1, *, d, e=2) -> R: ...\n") ==
        "(def f ((param a) (param b T) (param c T 1) (keyword d) (keyword e _ 2)) R\n"
        "  (expr ...))\n");
  CHECK(tree("def f(a: Region[read, write] Tensor[M]) -> !{}:\n  pass\n") ==
        "(def f ((param a (region read write ([] Tensor M)))) _ (effects)\n  (pass))\n");
  CHECK(tree("def f() -> T !{rng, state(c)} where A == B, B % 2 == 0: pass\n") ==
        "(def f () T (effects rng (call state c)) (where (compare A == B) "
        "(compare (% B 2) == 0))\n  (pass))\n");
  CHECK(tree("def where(where) where where == 1: where\n") ==
        "(def where ((param where)) _ (where (compare where == 1))\n  (expr where))\n");
}

TEST_CASE("decorators stand on one line or several") {
  CHECK(tree("@jit @a.b(1, k=2)\n\n# comment\n@c()\ndef f(): ...\n") ==
        "(def f () _\n  (@ jit)\n  (@ a.b (args 1 (= k 2)))\n  (@ c (args))\n  (expr ...))\n");
  CHECK(tree("def f():\n  @pure\n  def g(): pass\n") ==
        "(def f () _\n  (def g () _\n    (@ pure)\n    (pass)))\n");
}

TEST_CASE("modules") {
  CHECK(tree("module Block(D: dim, T: dtype = bf16) where D > 0:\n"
             "  w: Param[D, 3*D, T] = normal(0.02)\n"
             "  blocks: [Block(D)] * L\n"
             "  def __call__(self): ...\n") ==
        "(module Block ((param D dim) (param T dtype bf16)) (where (compare D > 0))\n"
        "  (assign w (: ([] Param D (* 3 D) T)) (call normal 0.02))\n"
        "  (assign blocks (: (* (list (call Block D)) L)) _)\n"
        "  (def __call__ ((param self)) _\n    (expr ...)))\n");
  CHECK(tree("module Empty:\n  pass\n") == "(module Empty ()\n  (pass))\n");
}

TEST_CASE("nodes know their place") {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add("a.tsr", "x = 1\n@jit\ndef f(a):\n    return  a.b + c(1)\n");
  ast::SourceUnit unit = parse_source(file, sources, {}, diagnostics);
  REQUIRE(unit.declarations.size() == 2);
  const ast::Def* def = ast::as<ast::Def>(unit.declarations[1].stmt);
  REQUIRE(def != nullptr);
  CHECK(def->loc.line == 2);
  CHECK(def->loc.column == 1);
  CHECK(def->name.loc == Loc{file, 3, 5, 1});
  CHECK_FALSE(def->is_declaration());
  const ast::Return* result = ast::as<ast::Return>(def->body[0]);
  REQUIRE(result != nullptr);
  CHECK(result->loc == Loc{file, 4, 5, 18});
  const ast::Binary* sum = ast::as<ast::Binary>(result->value);
  REQUIRE(sum != nullptr);
  CHECK(sum->loc == Loc{file, 4, 13, 10});
  CHECK(sum->op_loc == Loc{file, 4, 17, 1});
  CHECK(sum->right->loc == Loc{file, 4, 19, 4});
}

TEST_CASE("a declaration's hash depends on its tokens and not on its place") {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId a = sources.add("a.tsr", "x = 1\ndef f(): pass\n");
  FileId b = sources.add("b.tsr", "# more\nx = 2\n\ndef f():   pass  # same\n");
  ast::SourceUnit first = parse_source(a, sources, {}, diagnostics);
  ast::SourceUnit second = parse_source(b, sources, {}, diagnostics);
  CHECK(first.declarations[0].token_hash != second.declarations[0].token_hash);
  CHECK(first.declarations[1].token_hash == second.declarations[1].token_hash);
  CHECK_FALSE(first.declarations[1].has_error);
}

TEST_CASE("imports of a unit") {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add("a.tsr", "import a\nx = 1\nfrom b import c\n");
  ast::SourceUnit unit = parse_source(file, sources, {}, diagnostics);
  REQUIRE(unit.imports().size() == 2);
  CHECK(unit.imports()[1]->kind == ast::NodeKind::FromImport);
}
