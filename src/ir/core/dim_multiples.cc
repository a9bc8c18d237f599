// Quotients without a remainder, by the normal form alone and by what a `where` clause says. A
// product such as 64*(S//64) is another polynomial than S; where S % 64 == 0 is known, it is written
// as S, so that equal sizes are equal pointers again.

#include "ir/core/dim_multiples.h"

#include <algorithm>

namespace tessera {

namespace {

Dim of_atom(DimTable& table, const DimAtom& atom) {
  switch (atom.kind) {
    case DimAtomKind::Symbol:
      return table.symbol(atom.text);
    case DimAtomKind::FloorDiv:
      return table.floordiv(atom.a, atom.b);
    case DimAtomKind::Mod:
      return table.mod(atom.a, atom.b);
    case DimAtomKind::Min:
      return table.min(atom.a, atom.b);
    case DimAtomKind::Max:
      return table.max(atom.a, atom.b);
  }
  return nullptr;
}

/// The term without the factor number `left_out`.
Dim of_term(DimTable& table, const DimTerm& term, size_t left_out) {
  Dim product = table.constant(term.coefficient);
  for (size_t i = 0; i < term.factors.size(); ++i) {
    if (i != left_out) product = table.mul(product, of_atom(table, *term.factors[i]));
  }
  return product;
}

bool divides(Dim k, Dim by) {
  if (k == by) return true;
  auto small = k->constant(), large = by->constant();
  return small && large && *small > 0 && *large % *small == 0;
}

/// Whether a is known to be a multiple of b.
bool is_known(DimTable& table, Dim a, Dim b, std::span<const DimMultiple> known) {
  return std::any_of(known.begin(), known.end(), [&](const DimMultiple& fact) {
    return divides(b, fact.by) && (a == fact.of || exact_quotient(table, a, fact.of) != nullptr);
  });
}

Dim apply_to_term(DimTable& table, const DimTerm& term, std::span<const DimMultiple> known) {
  for (size_t i = 0; i < term.factors.size(); ++i) {
    const DimAtom& atom = *term.factors[i];
    bool quotient = atom.kind == DimAtomKind::FloorDiv;
    if (!quotient && atom.kind != DimAtomKind::Mod) continue;
    if (!is_known(table, atom.a, atom.b, known)) continue;
    if (!quotient) return table.constant(0);
    Dim others = exact_quotient(table, of_term(table, term, i), atom.b);
    if (others) return apply_multiples(table, table.mul(others, atom.a), known);
  }
  return of_term(table, term, term.factors.size());
}

}  // namespace

Dim exact_quotient(DimTable& table, Dim a, Dim b) {
  if (a->overflow || b->overflow || b->terms.size() != 1) return nullptr;
  const DimTerm& divisor = b->terms[0];
  Dim quotient = table.constant(0);
  for (const DimTerm& term : a->terms) {
    if (divisor.coefficient == -1 || term.coefficient % divisor.coefficient != 0) return nullptr;
    DimTerm part{term.coefficient / divisor.coefficient, term.factors};
    for (const DimAtom* atom : divisor.factors) {
      auto at = std::find(part.factors.begin(), part.factors.end(), atom);
      if (at == part.factors.end()) return nullptr;
      part.factors.erase(at);
    }
    quotient = table.add(quotient, of_term(table, part, part.factors.size()));
  }
  return quotient;
}

std::optional<DimMultiple> as_multiple(Dim left, Dim right) {
  if (left->is_constant(0)) std::swap(left, right);
  if (!right->is_constant(0) || left->overflow || left->terms.size() != 1) return std::nullopt;
  const DimTerm& term = left->terms[0];
  if (term.factors.size() != 1 || term.factors[0]->kind != DimAtomKind::Mod) return std::nullopt;
  return DimMultiple{term.factors[0]->a, term.factors[0]->b};
}

Dim apply_multiples(DimTable& table, Dim dim, std::span<const DimMultiple> known) {
  if (known.empty() || dim->overflow) return dim;
  Dim sum = table.constant(0);
  for (const DimTerm& term : dim->terms) sum = table.add(sum, apply_to_term(table, term, known));
  return sum;
}

}  // namespace tessera
