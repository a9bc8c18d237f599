#include "ir/dim/dim_multiples.h"

#include <algorithm>
#include <numeric>

#include "ir/dim/dim_terms.h"

namespace tessera {

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

Dim product_of(DimTable& table, const DimTerm& term, size_t left_out) {
  Dim product = table.constant(1);
  for (size_t i = 0; i < term.factors.size(); ++i) {
    if (i != left_out) product = table.mul(product, of_atom(table, *term.factors[i]));
  }
  return product;
}

bool leads(const DimTerm& a, const DimTerm& b) {
  if (a.factors.size() != b.factors.size()) return a.factors.size() > b.factors.size();
  for (size_t i = 0; i < a.factors.size(); ++i) {
    if (a.factors[i] != b.factors[i]) return a.factors[i]->text < b.factors[i]->text;
  }
  return false;
}

Dim without_factors(DimTable& table, const DimTerm& term, const DimTerm& factors) {
  DimTerm left{1, term.factors};
  for (const DimAtom* atom : factors.factors) {
    auto at = std::find(left.factors.begin(), left.factors.end(), atom);
    if (at == left.factors.end()) return nullptr;
    left.factors.erase(at);
  }
  return product_of(table, left);
}

Dim exact_quotient(DimTable& table, Dim a, Dim b) {
  if (a->overflow || b->overflow || b->terms.empty()) return nullptr;
  auto leading = [](Dim dim) { return *std::min_element(dim->terms.begin(), dim->terms.end(), leads); };
  DimTerm divisor = leading(b);
  if (divisor.coefficient == -1) {  // of which no coefficient can overflow
    a = table.mul(table.constant(-1), a);
    b = table.mul(table.constant(-1), b);
    divisor.coefficient = 1;
  }
  // Long division, in which each step takes the leading term; one that has more terms has no quotient of a size.
  constexpr int max_steps = 256;
  Dim quotient = table.constant(0);
  for (int step = 0; step < max_steps && !a->overflow && !quotient->overflow; ++step) {
    if (a->terms.empty()) return quotient;
    DimTerm first = leading(a);
    if (first.coefficient % divisor.coefficient != 0) return nullptr;
    Dim rest = without_factors(table, first, divisor);
    if (!rest) return nullptr;
    Dim part = table.mul(table.constant(first.coefficient / divisor.coefficient), rest);
    quotient = table.add(quotient, part);
    a = table.sub(a, table.mul(part, b));
  }
  return nullptr;
}

namespace {

void collect_moduli(Dim dim, int64_t around, int64_t most, DimModuli& moduli) {
  for (const DimTerm& term : dim->terms) {
    for (const DimAtom* atom : term.factors) {
      if (atom->kind == DimAtomKind::Symbol) {
        if (around == 1) continue;
        int64_t& modulus = moduli.try_emplace(atom->text, 1).first->second;
        modulus = std::min(std::lcm(modulus, around), most + 1);
        continue;
      }
      bool divides = atom->kind == DimAtomKind::FloorDiv || atom->kind == DimAtomKind::Mod;
      int64_t k = divides ? atom->b->constant().value_or(1) : 1;
      bool small = k > 0 && k <= most && around * k <= most;
      collect_moduli(atom->a, small ? around * k : most + 1, most, moduli);
      collect_moduli(atom->b, around, most, moduli);
    }
  }
}

}  // namespace

DimModuli moduli_of(Dim dim, int64_t most) {
  DimModuli moduli;
  collect_moduli(dim, 1, most, moduli);
  return moduli;
}

std::optional<DimMultiple> as_multiple(Dim left, Dim right) {
  if (left->is_constant(0)) std::swap(left, right);
  if (!right->is_constant(0) || left->overflow || left->terms.size() != 1) return std::nullopt;
  const DimTerm& term = left->terms[0];
  if (term.factors.size() != 1 || term.factors[0]->kind != DimAtomKind::Mod) return std::nullopt;
  return DimMultiple{term.factors[0]->a, term.factors[0]->b};
}

}  // namespace tessera
