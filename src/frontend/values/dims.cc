#include "frontend/values/dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/dim/dim_terms.h"
#include "support/check.h"

namespace tessera::frontend {

Dim as_dimension(DimTable& dims, const Datum& datum) {
  if (datum.is(DatumKind::Int)) return dims.constant(datum.as_int());
  if (datum.is(DatumKind::Dim)) return datum.as_dim();
  return nullptr;
}

namespace {

/// The whole number that all terms of two dims are multiples of: c*a // (c*b) is a // b, and c*a % (c*b) is c*(a % b).
int64_t common_factor(Dim a, Dim b) {
  uint64_t factor = 0;
  for (Dim dim : {a, b}) {
    for (const DimTerm& term : dim->terms) {
      factor = std::gcd(factor, term.coefficient < 0 ? -uint64_t(term.coefficient) : uint64_t(term.coefficient));
    }
  }
  return factor <= uint64_t(INT64_MAX) ? std::max<int64_t>(1, int64_t(factor)) : 1;
}

Dim divided(DimTable& dims, bool is_mod, Dim a, Dim b) {
  int64_t factor = b->constant() || a->overflow || b->overflow ? 1 : common_factor(a, b);
  if (factor != 1) {
    a = exact_quotient(dims, a, dims.constant(factor));
    b = exact_quotient(dims, b, dims.constant(factor));
  }
  return is_mod ? dims.mul(dims.constant(factor), dims.mod(a, b)) : dims.floordiv(a, b);
}

}  // namespace

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
      return divided(dims, op == ast::BinaryOp::Mod, a, b);
    default:
      return nullptr;
  }
}

Relation opposite(Relation relation) {
  switch (relation) {
    case Relation::Equal: return Relation::NotEqual;
    case Relation::NotEqual: return Relation::Equal;
    case Relation::Less: return Relation::GreaterEqual;
    case Relation::LessEqual: return Relation::Greater;
    case Relation::Greater: return Relation::LessEqual;
    case Relation::GreaterEqual: return Relation::Less;
  }
  TSR_UNREACHABLE("a relation");
}

std::optional<Relation> as_relation(ast::CompareOp op) {
  switch (op) {
    case ast::CompareOp::Equal:
      return Relation::Equal;
    case ast::CompareOp::NotEqual:
      return Relation::NotEqual;
    case ast::CompareOp::Less:
      return Relation::Less;
    case ast::CompareOp::LessEqual:
      return Relation::LessEqual;
    case ast::CompareOp::Greater:
      return Relation::Greater;
    case ast::CompareOp::GreaterEqual:
      return Relation::GreaterEqual;
    default:
      return std::nullopt;
  }
}

std::optional<bool> decide(DimTable& dims, ast::CompareOp op, Dim a, Dim b,
                           std::span<const DimFact> facts) {
  std::optional<Relation> relation = as_relation(op);
  if (!relation) return std::nullopt;
  return tessera::decide(dims, {*relation, a, b}, facts);
}

namespace {

/// Whether the checker takes the relation as true under the facts: equal sizes have to be written the same, too.
bool accepts(DimTable& dims, const DimFact& asked, std::span<const DimFact> facts) {
  if (asked.relation != Relation::Equal) return decide(dims, asked, facts) == true;
  return one_form(dims, asked.left, facts) == one_form(dims, asked.right, facts);
}

/// Whether a clause `asked` makes its two sides one size, since one of them is a symbol.
bool unifies(const DimFact& asked) {
  auto replaces = [](Dim symbol, Dim by) { return !symbol->symbol().empty() && !mentions(by, symbol->symbol()); };
  return asked.relation == Relation::Equal && (replaces(asked.left, asked.right) || replaces(asked.right, asked.left));
}

/// A clause as it is written: D % 8 == 0.
std::string clause_text(const DimFact& fact) {
  auto operand = [](Dim dim) { return dim->terms.size() > 1 ? fmt::format("({})", dim->text) : dim->text; };
  if (fact.relation == Relation::Equal) {
    if (auto multiple = as_multiple(fact.left, fact.right)) {
      return fmt::format("{} % {} == 0", operand(multiple->of), operand(multiple->by));
    }
  }
  return fact.text();
}

/// For each a//b in a size, that nothing is left over.
void collect_divisions(DimTable& dims, Dim size, std::vector<DimFact>& multiples) {
  constexpr size_t most = 8;
  for (const DimTerm& term : size->terms) {
    for (const DimAtom* atom : term.factors) {
      if (atom->kind == DimAtomKind::Symbol || multiples.size() >= most) continue;
      Dim rest = atom->kind == DimAtomKind::FloorDiv ? dims.mod(atom->a, atom->b) : nullptr;
      if (rest && !rest->constant()) multiples.push_back({Relation::Equal, rest, dims.constant(0)});
      collect_divisions(dims, atom->a, multiples);
      collect_divisions(dims, atom->b, multiples);
    }
  }
}

}  // namespace

bool are_equal_at_zero_only(DimTable& dims, Dim a, Dim b) {
  Dim difference = dims.sub(a, b);
  if (a->is_constant(0) || b->is_constant(0)) return false;
  return difference->terms.size() == 1 && std::ranges::all_of(difference->terms[0].factors, [](const DimAtom* atom) {
    return atom->kind == DimAtomKind::Symbol;
  });
}

void collect_divisors(DimTable& dims, Dim size, std::vector<DimFact>& facts) {
  constexpr size_t most = 32;
  for (const DimTerm& term : size->terms) {
    for (const DimAtom* atom : term.factors) {
      if (atom->kind == DimAtomKind::Symbol || facts.size() >= most) continue;
      bool divides = atom->kind == DimAtomKind::FloorDiv || atom->kind == DimAtomKind::Mod;
      if (divides && !atom->b->constant()) facts.push_back({Relation::GreaterEqual, atom->b, dims.constant(1)});
      collect_divisors(dims, atom->a, facts);
      collect_divisors(dims, atom->b, facts);
    }
  }
}

std::string clause_for(DimTable& dims, const DimFact& asked, std::span<const DimFact> facts) {
  constexpr int64_t largest = int64_t(1) << 16;
  if (asked.left->overflow || asked.right->overflow) return "";
  auto helps = [&](std::span<const DimFact> more) {
    std::vector<DimFact> known(facts.begin(), facts.end());
    known.insert(known.end(), more.begin(), more.end());
    return accepts(dims, asked, known);
  };
  DimModuli moduli = moduli_of(asked.left, largest);
  for (const auto& [symbol, modulus] : moduli_of(asked.right, largest)) {
    int64_t& whole = moduli.try_emplace(symbol, 1).first->second;
    whole = std::min(std::lcm(whole, modulus), largest + 1);
  }
  // The dividend may be a multiple of the divisor, or else each of its sizes one of some number.
  std::vector<DimFact> multiples;
  std::string all;
  for (Dim side : {asked.left, asked.right}) collect_divisions(dims, side, multiples);
  for (const DimFact& multiple : multiples) {
    if (helps({&multiple, 1})) return clause_text(multiple);
  }
  multiples.clear();
  for (const auto& [symbol, modulus] : moduli) {
    if (modulus > largest) continue;
    multiples.push_back({Relation::Equal, dims.mod(dims.symbol(symbol), dims.constant(modulus)), dims.constant(0)});
    if (helps({&multiples.back(), 1})) return clause_text(multiples.back());
    all += (all.empty() ? "" : " and ") + clause_text(multiples.back());
  }
  if (multiples.size() > 1 && helps(multiples)) return all;
  // That S//2 is S is nothing to ask for.
  auto is_part = [](Dim symbol, Dim of) {
    return !symbol->symbol().empty() && mentions(of, symbol->symbol()) && of->terms.size() == 1 &&
           of->terms[0].factors.size() == 1 && of->terms[0].factors[0]->kind == DimAtomKind::FloorDiv;
  };
  if (is_part(asked.left, asked.right) || is_part(asked.right, asked.left)) return "";
  if (asked.relation == Relation::Equal && are_equal_at_zero_only(dims, asked.left, asked.right)) return "";
  return unifies(asked) || helps({&asked, 1}) ? clause_text(asked) : "";
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

bool has_size(DimTable& table, std::span<const Dim> dims) {
  Dim bits = table.constant(64);  // of an element of the widest dtype
  for (Dim dim : dims) {
    // Strides are products, too, and do not depend on an extent of 0 further out.
    if (!dim->is_constant(0)) bits = table.mul(bits, dim);
  }
  return !bits->overflow;
}

}  // namespace tessera::frontend
