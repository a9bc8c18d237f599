// The pattern rewriter: what it visits again, what it drops, what it keeps.

#include "ir/core/rewrite.h"

#include "ir/graph/build.h"
#include "unit/ir/graph_fixture.h"

using namespace tessera;
using namespace tessera::graph;

namespace {

bool is_neg(Op* op) { return op->info().elementwise == ElementwiseKind::Neg; }

/// -(-x) is x.
bool double_neg(Op* op, Rewriter& rewriter) {
  Op* inner = op->operand_count() == 1 ? op->operand(0)->def() : nullptr;
  if (!is_neg(op) || !inner || !is_neg(inner)) return false;
  rewriter.replace(op, inner->operand(0));
  return true;
}

/// A floor becomes two negations, and those of a value that one op uses a ceil.
bool floor_to_negs(Op* op, Rewriter& rewriter) {
  if (op->info().elementwise != ElementwiseKind::Floor) return false;
  rewriter.replace(op, neg(rewriter, neg(rewriter, op->operand(0))));
  return true;
}

/// |x| of what nothing else uses is dropped.
bool lonely_abs(Op* op, Rewriter& rewriter) {
  if (op->info().elementwise != ElementwiseKind::Abs || !op->operand(0)->has_one_use()) return false;
  rewriter.replace(op, op->operand(0));
  return true;
}

constexpr Pattern patterns[] = {
    {"double_neg", double_neg}, {"floor_to_negs", floor_to_negs}, {"lonely_abs", lonely_abs}};

std::string rewritten(const std::string& body) {
  GraphTest test;
  Op* function = test.function({"%x: tensor<4, f32>"}, body);
  rewrite(function, patterns);
  REQUIRE(verify(*function->module(), test.diagnostics));
  std::string text = print(function, {.locations = false});
  size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.rfind('}') - begin);
}

}  // namespace

TEST_CASE("a chain is rewritten to its end") {
  CHECK(rewritten("%a: tensor<4, f32> = gir.neg %x\n%b: tensor<4, f32> = gir.neg %a\n"
                  "%c: tensor<4, f32> = gir.neg %b\n%d: tensor<4, f32> = gir.neg %c\n"
                  "gir.return [%d]") == "  gir.return [%x]\n");
}

TEST_CASE("what a pattern builds is looked at, too") {
  CHECK(rewritten("%a: tensor<4, f32> = gir.floor %x\n%b: tensor<4, f32> = gir.floor %a\n"
                  "gir.return [%b]") == "  gir.return [%x]\n");
}

TEST_CASE("a pattern that wants a single use sees when the others are gone") {
  CHECK(rewritten("%a: tensor<4, f32> = gir.exp %x\n%b: tensor<4, f32> = gir.abs %a\n"
                  "%c: tensor<4, f32> = gir.add %a, %b\n%d: tensor<4, f32> = gir.mul %c, %c\n"
                  "gir.return [%b]") ==
        "  %a: tensor<4, f32> = gir.exp %x\n  gir.return [%a]\n");
}

TEST_CASE("what is inside of an op goes with it, and what it read may go, too") {
  CHECK(rewritten("%a: tensor<4, f32> = gir.exp %x\n"
                  "%r: tensor<4, f32> = gir.for [%x] {count = 2, counter = \"i\"} do(%c: tensor<4, f32>) {"
                  " %s: tensor<4, f32> = gir.for [%c] {count = 2, counter = \"j\"} do(%d: tensor<4, f32>) {"
                  " %b: tensor<4, f32> = gir.add %a, %d %e: tensor<4, f32> = gir.neg %b"
                  " %n: tensor<4, f32> = gir.neg %e gir.yield [%n] }"
                  " %m: tensor<4, f32> = gir.neg %s gir.yield [%m] }\n"
                  "gir.return [%x]") == "  gir.return [%x]\n");
}

TEST_CASE("it says whether anything changed") {
  GraphTest test;
  Op* same = test.function({"%x: tensor<4, f32>"}, "%a: tensor<4, f32> = gir.neg %x\ngir.return [%a]");
  CHECK_FALSE(rewrite(same, patterns));
}
