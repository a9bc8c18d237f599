#include "codegen/plan/format_terms.h"

#include <algorithm>

#include "support/check.h"

namespace tessera::codegen {

namespace {

using format::Expr;
using format::ExprOp;

Expr atom_expr(const DimAtom& atom, const std::vector<std::string>& names) {
  auto both = [&](ExprOp op) {
    return format::binary_expr(op, format_dim(atom.a, names), format_dim(atom.b, names));
  };
  switch (atom.kind) {
    case DimAtomKind::Symbol: {
      auto it = std::find(names.begin(), names.end(), atom.text);
      TSR_CHECK(it != names.end(), "a dim of the plan is not known: " + atom.text);
      return format::dim_expr(uint32_t(it - names.begin()));
    }
    case DimAtomKind::FloorDiv:
      return both(ExprOp::FloorDiv);
    case DimAtomKind::Mod:
      return both(ExprOp::Mod);
    case DimAtomKind::Min:
      return both(ExprOp::Min);
    case DimAtomKind::Max:
      return both(ExprOp::Max);
  }
  TSR_UNREACHABLE("unknown kind of dim");
}

/// The term without its sign; `magnitude` is the absolute value of its coefficient.
Expr term_expr(const DimTerm& term, int64_t magnitude, const std::vector<std::string>& names) {
  if (term.factors.empty()) return format::const_expr(magnitude);
  Expr product = atom_expr(*term.factors[0], names);
  for (size_t i = 1; i < term.factors.size(); ++i) {
    product = format::binary_expr(ExprOp::Mul, product, atom_expr(*term.factors[i], names));
  }
  if (magnitude == 1) return product;
  return format::binary_expr(ExprOp::Mul, format::const_expr(magnitude), product);
}

}  // namespace

format::Dtype format_dtype(DType dtype) {
  auto found = format::find_dtype(to_string(dtype));
  TSR_CHECK(found, "a dtype that the runtime does not know");
  return *found;
}

Expr format_dim(Dim dim, const std::vector<std::string>& names) {
  TSR_CHECK(!dim->overflow, "a dim that overflows reached the plan");
  if (dim->terms.empty()) return format::const_expr(0);
  Expr sum;
  for (const DimTerm& term : dim->terms) {
    bool negative = term.coefficient < 0 && term.coefficient != INT64_MIN;
    Expr next = term_expr(term, negative ? -term.coefficient : term.coefficient, names);
    if (sum.empty()) {
      sum = negative ? format::binary_expr(ExprOp::Sub, format::const_expr(0), next) : next;
    } else {
      sum = format::binary_expr(negative ? ExprOp::Sub : ExprOp::Add, sum, next);
    }
  }
  return sum;
}

std::string dim_text(Dim dim, const std::vector<std::string>& names) {
  return format::expr_text(format_dim(dim, names), names);
}

std::vector<std::string> format_policies(const Policies& policies) {
  std::vector<std::string> texts;
  if (policies.accum) texts.push_back("accum(" + std::string(to_string(*policies.accum)) + ")");
  if (policies.stochastic_round) texts.push_back("stochastic_round");
  if (policies.saturate) texts.push_back("saturate");
  if (policies.loss_scale)
    texts.push_back("loss_scale(" + std::to_string(*policies.loss_scale) + ")");
  return texts;
}

}  // namespace tessera::codegen
