#include "frontend/dims.h"

#include <algorithm>
#include <map>

namespace tessera::frontend {

Dim as_dimension(DimTable& dims, const Datum& datum) {
  if (datum.is(DatumKind::Int)) return dims.constant(datum.as_int());
  if (datum.is(DatumKind::Dim)) return datum.as_dim();
  return nullptr;
}

Dim combine(DimTable& dims, ast::BinaryOp op, Dim a, Dim b, bool& by_zero) {
  by_zero = false;
  switch (op) {
    case ast::BinaryOp::Add:
      return dims.add(a, b);
    case ast::BinaryOp::Sub:
      return dims.sub(a, b);
    case ast::BinaryOp::Mul:
      return dims.mul(a, b);
    case ast::BinaryOp::FloorDiv:
    case ast::BinaryOp::Mod:
      by_zero = b->is_constant(0);
      if (by_zero) return nullptr;
      return op == ast::BinaryOp::Mod ? dims.mod(a, b) : dims.floordiv(a, b);
    default:
      return nullptr;
  }
}

namespace {

/// Truth of "a value in `range`, compared with 0".
std::optional<bool> decide_sign(ast::CompareOp op, const DimInterval& range) {
  bool below = range.high && *range.high < 0;
  bool above = range.low && *range.low > 0;
  bool at_most = range.high && *range.high <= 0;
  bool at_least = range.low && *range.low >= 0;
  auto either = [](bool yes, bool no) -> std::optional<bool> {
    if (yes) return true;
    if (no) return false;
    return std::nullopt;
  };
  switch (op) {
    case ast::CompareOp::Equal:
      return either(at_most && at_least, below || above);
    case ast::CompareOp::NotEqual:
      return either(below || above, at_most && at_least);
    case ast::CompareOp::Less:
      return either(below, at_least);
    case ast::CompareOp::LessEqual:
      return either(at_most, above);
    case ast::CompareOp::Greater:
      return either(above, at_most);
    case ast::CompareOp::GreaterEqual:
      return either(at_least, below);
    default:
      return std::nullopt;
  }
}

/// "a <op> b" as "difference >= 0" for the orderings; null for other relations.
Dim non_negative_form(DimTable& dims, const DimFact& fact) {
  Dim one = dims.constant(1);
  switch (fact.op) {
    case ast::CompareOp::Less:
      return dims.sub(dims.sub(fact.right, fact.left), one);
    case ast::CompareOp::LessEqual:
      return dims.sub(fact.right, fact.left);
    case ast::CompareOp::Greater:
      return dims.sub(dims.sub(fact.left, fact.right), one);
    case ast::CompareOp::GreaterEqual:
      return dims.sub(fact.left, fact.right);
    default:
      return nullptr;
  }
}

/// The relation that holds exactly when `op` does not.
std::optional<ast::CompareOp> negated(ast::CompareOp op) {
  switch (op) {
    case ast::CompareOp::Less:
      return ast::CompareOp::GreaterEqual;
    case ast::CompareOp::LessEqual:
      return ast::CompareOp::Greater;
    case ast::CompareOp::Greater:
      return ast::CompareOp::LessEqual;
    case ast::CompareOp::GreaterEqual:
      return ast::CompareOp::Less;
    default:
      return std::nullopt;
  }
}

/// Lower bounds of single symbols that the facts state: S >= 16.
std::map<std::string, int64_t, std::less<>> symbol_bounds(DimTable& dims,
                                                          std::span<const DimFact> facts) {
  std::map<std::string, int64_t, std::less<>> bounds;
  for (const DimFact& fact : facts) {
    Dim form = non_negative_form(dims, fact);
    if (form == nullptr || form->overflow) continue;
    for_each_symbol(form, [&](std::string_view name) {
      std::optional<int64_t> bound = dims.sub(dims.symbol(name), form)->constant();
      if (!bound || *bound <= 0) return;
      int64_t& known = bounds[std::string(name)];
      known = std::max(known, *bound);
    });
  }
  return bounds;
}

/// True if `difference` >= 0 follows from the facts. Each fact states that some f >= 0, so
/// difference - f >= 0 suffices; where S >= 16 is known, S is written as S + 16, which again is an
/// expression over symbols that are at least 0.
bool follows(DimTable& dims, Dim difference, std::span<const DimFact> facts) {
  auto is_non_negative = [](Dim dim) {
    DimInterval range = interval(dim);
    return range.low && *range.low >= 0;
  };
  std::map<std::string, int64_t, std::less<>> bounds = symbol_bounds(dims, facts);
  auto raised = [&](Dim dim) {
    return dims.substitute(dim, [&](std::string_view name) -> Dim {
      auto it = bounds.find(name);
      if (it == bounds.end()) return nullptr;
      return dims.add(dims.symbol(name), dims.constant(it->second));
    });
  };
  if (is_non_negative(difference) || is_non_negative(raised(difference))) return true;
  for (const DimFact& fact : facts) {
    Dim form = non_negative_form(dims, fact);
    if (form && is_non_negative(raised(dims.sub(difference, form)))) return true;
  }
  return false;
}

}  // namespace

std::optional<bool> decide(DimTable& dims, ast::CompareOp op, Dim a, Dim b,
                           std::span<const DimFact> facts) {
  if (a->overflow || b->overflow) return std::nullopt;
  std::vector<DimMultiple> known = multiples(facts);
  a = apply_multiples(dims, a, known);
  b = apply_multiples(dims, b, known);
  Dim difference = dims.sub(a, b);
  if (std::optional<bool> known = decide_sign(op, interval(difference))) return known;
  for (const DimFact& fact : facts) {
    if (fact.op != op) continue;
    if (fact.left == a && fact.right == b) return true;
  }
  if (Dim form = non_negative_form(dims, {op, a, b}); form && follows(dims, form, facts)) {
    return true;
  }
  if (std::optional<ast::CompareOp> opposite = negated(op)) {
    Dim form = non_negative_form(dims, {*opposite, a, b});
    if (form && follows(dims, form, facts)) return false;
  }
  return std::nullopt;
}

Dim reduced_quotient(DimTable& dims, Dim a, Dim b) {
  if (b->terms.size() == 1) {
    std::vector<const DimAtom*> common = b->terms[0].factors;
    for (const DimAtom* atom : common) {
      if (atom->kind != DimAtomKind::Symbol) continue;
      Dim factor = dims.symbol(atom->text);
      Dim rest = exact_quotient(dims, a, factor);
      if (!rest) continue;
      a = rest;
      b = exact_quotient(dims, b, factor);
    }
  }
  return dims.floordiv(a, b);
}

std::vector<DimMultiple> multiples(std::span<const DimFact> facts) {
  std::vector<DimMultiple> known;
  for (const DimFact& fact : facts) {
    if (fact.op != ast::CompareOp::Equal) continue;
    if (auto multiple = as_multiple(fact.left, fact.right)) known.push_back(*multiple);
  }
  return known;
}

bool has_size(DimTable& table, std::span<const Dim> dims) {
  Dim bytes = table.constant(8);  // of an element of the widest dtype
  for (Dim dim : dims) {
    // Strides are products, too, and know nothing of an extent of 0 further out.
    if (!dim->is_constant(0)) bytes = table.mul(bytes, dim);
  }
  return !bytes->overflow;
}

}  // namespace tessera::frontend
