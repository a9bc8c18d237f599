// Annotations: which names declare, and how arguments match parameters.

#include <catch2/catch.hpp>

#include "frontend/evaluate/type_expr.h"
#include "unit/frontend/program.h"

using namespace tessera;
using namespace tessera::frontend;
using tessera::test::Program;

namespace {

/// "dims; dtypes" that the signature of `f` declares, or the tags of its errors.
std::string declared(const std::string& text) {
  Program program(text);
  const Signature& signature =
      program.session().signature(program.evaluator(), program.function("f"));
  std::string found;
  for (const DeclaredSymbol& dim : signature.dims) found += dim.name + ' ';
  found += ';';
  for (const DeclaredSymbol& dtype : signature.dtypes) found += ' ' + dtype.name;
  return program.tags().empty() ? found : program.tags();
}

std::string declared_by(const std::string& parameters, const std::string& prelude = "") {
  return declared(prelude + "def f(" + parameters + "):\n    pass\n");
}

/// Binds arguments with these dims, "B 4 2*H" each, to the parameters of `f`; gives the symbols'
/// values or the tags of the errors.
std::string bound(Program& program, const std::vector<std::vector<std::string>>& arguments) {
  const Signature& signature =
      program.session().signature(program.evaluator(), program.function("f"));
  Bindings bindings;
  std::vector<ArgumentType> types;
  for (size_t i = 0; i < arguments.size(); ++i) {
    ArgumentType type;
    for (const std::string& dim : arguments[i]) {
      type.dims.push_back(program.context().dims().parse(dim));
    }
    type.loc = Loc{program.function("f").loc.file, uint32_t(100 + i), 1, 1};
    type.what = fmt::format("'a{}'", i);
    types.push_back(type);
    bind_symbols(program.evaluator(), signature.parameters[i].type, type,
                 signature.parameters[i].name, bindings);
  }
  Scope* scope = program.session().new_scope(&program.scope());
  for (const auto& [name, symbol] : bindings.dims) scope->set(name, Datum::dim(symbol.dim), Loc{});
  if (program.tags().empty()) {
    for (size_t i = 0; i < types.size(); ++i) {
      check_expressions(program.evaluator(), signature.parameters[i].type, types[i],
                        signature.parameters[i].name, *scope);
    }
  }
  if (!program.tags().empty()) return program.tags();
  std::string text;
  for (const auto& [name, symbol] : bindings.dims) {
    text += (text.empty() ? "" : " ") + name + "=" + symbol.dim->text;
  }
  return text;
}

std::string bound(const std::string& parameters,
                  const std::vector<std::vector<std::string>>& arguments) {
  Program program("const F = 3\ndef f(" + parameters + "):\n    pass\n");
  return bound(program, arguments);
}

}  // namespace

TEST_CASE("A bare name in a dimension position declares a symbol") {
  CHECK(declared_by("x: Tensor[B, D, f32], y: Tensor[D, f32]") == "B D ;");
  CHECK(declared_by("x: Tensor[\"B\", \"D\", bf16]") == "B D ;");
  CHECK(declared_by("x: KTile[\"B*H\", \"S\", f32]") == "B H S ;");
  CHECK(declared_by("x: Tensor[B, 2*D, f32], n: int") == "n B ;");
  CHECK(declared_by("x: Tensor[B, F, f32]", "const F = 3\n") == "B ;");
  CHECK(declared_by("x: Tensor[B, F, f32]", "dim F\n") == "B ;");
  CHECK(declared_by("x: Tensor[B, g, f32]", "def g():\n    pass\n") == "B g ;");
  CHECK(declared_by("x: Tensor[B, g, f32]", "const g = 8 / 2\n") == "B ;");
}

TEST_CASE("A name in the dtype position that is not a dtype is a dtype parameter") {
  CHECK(declared_by("x: Tensor[B, T], y: Tensor[B, T @accum(f32)]") == "B ; T");
  CHECK(declared_by("x: Tensor[B, T], T: dtype") == "B ; T");
  CHECK(declared_by("x: Tensor[B, half]") == "B ;");
  CHECK(declared_by("x: Tensor[B, fp8(e4m3)]") == "B ;");
  CHECK(declared_by("x: Tensor[B, D]") == "unused-dtype-parameter@1:20");
  CHECK(declared_by("x: Tensor[B, D], y: Tensor[D, f32]") == "dtype-is-dimension@1:20");
  CHECK(declared("def f(x: Tensor[B, T]):\n    return cast(x, T)\n") == "B ; T");
}

TEST_CASE("Malformed annotations") {
  CHECK(declared_by("x: Tensor") == "malformed-type@1:10");
  CHECK(declared_by("x: Tensor[B, 3]") == "malformed-type@1:20");
  CHECK(declared_by("x: Tensor[\"B*H\", f32]") == "malformed-type@1:17");
  CHECK(declared_by("x: Tensor[\"2B\", f32]") == "malformed-type@1:17");
  CHECK(declared_by("x: Tensor[B, f32 @accumm(f32)]") == "unknown-policy@1:25");
  CHECK(declared_by("x: Tensor[B, f32 @accum(bf16)]") == "accum-narrower@1:25");
  CHECK(declared_by("x: Tensor[B, bf16 @accum(f32) @accum(bf16)]") == "accum-conflict@1:38");
  CHECK(declared_by("x: 3") == "not-a-type@1:10");
  CHECK(declared_by("x: Tensr[B, f32]") == "not-a-type@1:10");
  CHECK(declared_by("x: f32, x: f32") == "duplicate-parameter@1:15");
  CHECK(declared_by("x: nosuch") == "unknown-name@1:10");
}

TEST_CASE("Arguments bind symbols, and expressions are checked when all are bound") {
  CHECK(bound("x: Tensor[B, D, f32], w: Tensor[D, N, f32]", {{"S", "4"}, {"4", "2*H"}}) ==
        "B=S D=4 N=2*H");
  CHECK(bound("x: Tensor[B, 3*D, f32], y: Tensor[D, f32]", {{"8", "3*H"}, {"H"}}) == "B=8 D=H");
  CHECK(bound("x: Tensor[B, F, f32]", {{"8", "3"}}) == "B=8");
  CHECK(bound("x: KTile[\"B*H\", S, f32]", {{"2", "3", "4"}}) == "B=2 H=3 S=4");
}

TEST_CASE("Arguments that do not match") {
  CHECK(bound("x: Tensor[B, D, f32]", {{"4"}}) == "rank-mismatch@100:1");
  CHECK(bound("x: Tensor[D, f32], y: Tensor[D, f32]", {{"4"}, {"5"}}) == "shape-mismatch@101:1");
  CHECK(bound("x: Tensor[D, f32], y: Tensor[D, f32]", {{"P"}, {"Q"}}) == "unrelated-symbols@101:1");
  CHECK(bound("x: Tensor[B, F, f32]", {{"8", "4"}}) == "shape-mismatch@100:1");
  CHECK(bound("x: Tensor[B, 3*D, f32], y: Tensor[D, f32]", {{"8", "7"}, {"2"}}) ==
        "shape-mismatch@100:1");
  CHECK(bound("x: Tensor[3*E, f32]", {{"3"}}) == "unknown-name@2:19");
}

TEST_CASE("A mismatch names both places and a fix") {
  Program program("def f(x: Tensor[D, f32], y: Tensor[D, f32]):\n    pass\n");
  bound(program, {{"P"}, {"Q"}});
  std::string messages = program.messages();
  CHECK(messages.find("dimension 0 of 'a1' is Q") != std::string::npos);
  CHECK(messages.find("dimension 0 of 'a0'") != std::string::npos);
  CHECK(messages.find("`where Q == P`") != std::string::npos);
}
