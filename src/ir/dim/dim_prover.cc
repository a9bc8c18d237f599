#include "ir/dim/dim_prover.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "ir/dim/dim_terms.h"

namespace tessera {

namespace {

constexpr size_t max_facts = 32;
constexpr size_t max_atoms = 12;
constexpr size_t max_simple_terms = 24, max_simple_text = 1024;
constexpr int max_raises = 16;
constexpr int max_depth = 4;
constexpr int max_steps = 200;

bool is_simple(Dim dim) {
  return !dim->overflow && dim->terms.size() <= max_simple_terms && dim->text.size() <= max_simple_text;
}

bool is_non_negative(Dim dim) { return interval(dim).low.value_or(-1) >= 0; }

}  // namespace

DimProver::DimProver(DimTable& dims, std::vector<Dim> non_negative, std::span<const Dim> non_zero) : dims_(dims) {
  for (Dim fact : non_negative) assume(fact);
  Dim one = dims.constant(1), minus = dims.constant(-1);
  for (Dim dim : non_zero) {
    if (is_non_negative(dim)) assume(dims.sub(dim, one));
    Dim negative = dims.mul(minus, dim);
    if (is_non_negative(negative)) assume(dims.sub(negative, one));
  }
  raise_symbols();
  for (size_t i = 0, given = facts_.size(); i < given; ++i) bound_atoms(facts_[i]);
}

void DimProver::assume(Dim non_negative) {
  if (is_simple(non_negative) && facts_.size() < max_facts) facts_.push_back(non_negative);
}

/// Writes S as S + c wherever some fact says that S is at least c.
void DimProver::raise_symbols() {
  for (int round = 0; round < max_raises; ++round) {
    std::map<std::string, int64_t, std::less<>> by;
    for (Dim fact : facts_) add_bounds(fact, by);
    if (by.empty() || !raise(by)) return;
  }
}

/// a*P >= c - ... with a positive c: the product P is at least c/a, so each symbol in it is at least 1.
void DimProver::add_bounds(Dim fact, std::map<std::string, int64_t, std::less<>>& by) {
  for (const DimTerm& term : fact->terms) {
    if (term.coefficient <= 0 || term.factors.empty()) continue;
    Dim product = dims_.mul(dims_.constant(term.coefficient), product_of(dims_, term));
    int64_t least = interval(dims_.sub(product, fact)).low.value_or(0);
    if (least <= 0) continue;
    int64_t bound = term.factors.size() == 1 ? (least - 1) / term.coefficient + 1 : 1;
    for (const DimAtom* factor : term.factors) {
      if (factor->kind != DimAtomKind::Symbol) continue;
      int64_t& known = by.try_emplace(factor->text, 0).first->second;
      known = std::max(known, bound);
    }
  }
}

/// Writes symbols as what they are more than that. False where facts would overflow.
bool DimProver::raise(const std::map<std::string, int64_t, std::less<>>& by) {
  std::map<std::string, Dim, std::less<>> more;
  for (const auto& [name, bound] : by) more[name] = dims_.add(dims_.symbol(name), dims_.constant(bound));
  std::vector<Dim> facts;
  for (Dim fact : facts_) {
    facts.push_back(dims_.substitute(fact, more));
    if (facts.back()->overflow) return false;
  }
  facts_ = std::move(facts);
  raised_.push_back(std::move(more));
  return true;
}

Dim DimProver::raised(Dim dim) const {
  for (const auto& more : raised_) dim = dims_.substitute(dim, more);
  return dim;
}

void DimProver::bound_atoms(Dim dim) {
  for (const DimTerm& term : dim->terms) {
    for (const DimAtom* atom : term.factors) {
      if (atom->kind == DimAtomKind::Symbol || bounded_.size() == max_atoms) continue;
      if (std::ranges::find(bounded_, atom) != bounded_.end()) continue;
      bounded_.push_back(atom);
      bound_atom(*atom);
    }
  }
}

/// Inequalities between an atom and what it is of; where they have atoms, too, those are bounded next.
void DimProver::bound_atom(const DimAtom& atom) {
  Dim value = of_atom(dims_, atom), one = dims_.constant(1);
  auto at_most = [&](Dim low, Dim high) {
    Dim difference = dims_.sub(high, low);
    assume(difference);
    bound_atoms(difference);
  };
  switch (atom.kind) {
    case DimAtomKind::FloorDiv:
      if (interval(atom.b).low.value_or(0) <= 0) return;
      at_most(dims_.mul(atom.b, value), atom.a);
      at_most(atom.a, dims_.sub(dims_.add(dims_.mul(atom.b, value), atom.b), one));
      if (!atom.b->constant() && is_non_negative(atom.a)) at_most(value, atom.a);
      return;
    case DimAtomKind::Mod:
      if (interval(atom.b).low.value_or(0) <= 0) return;
      at_most(value, dims_.sub(atom.b, one));
      if (is_non_negative(atom.a)) at_most(value, atom.a);
      return;
    case DimAtomKind::Min:
      at_most(value, atom.a);
      at_most(value, atom.b);
      return;
    case DimAtomKind::Max:
      at_most(atom.a, value);
      at_most(atom.b, value);
      return;
    case DimAtomKind::Symbol:
      return;
  }
}

bool DimProver::at_least_zero(Dim p) {
  if (p->overflow) return false;
  if (is_non_negative(p)) return true;
  Dim goal = raised(p);
  if (!is_simple(goal)) return false;
  size_t facts = facts_.size(), atoms = bounded_.size();
  bound_atoms(goal);
  for (size_t i = polynomials_.size(); i < facts_.size(); ++i) polynomials_.push_back(products_.polynomial(facts_[i]));
  budget_ = max_steps;
  bool proved = search(products_.polynomial(goal), max_depth);
  facts_.resize(facts);
  polynomials_.resize(facts);
  bounded_.resize(atoms);
  return proved;
}

bool DimProver::search(const DimPolynomial& p, int depth) {
  bool is_simple = !p.overflow && p.terms.size() <= max_simple_terms && p.text_size() <= max_simple_text;
  if (--budget_ < 0 || !is_simple) return false;
  if (p.is_non_negative()) return true;
  if (depth == 0) return false;
  for (const DimPolynomial::Term& negative : p.terms) {
    if (negative.coefficient >= 0 || negative.coefficient == INT64_MIN) continue;
    for (const DimPolynomial& fact : polynomials_) {
      for (const DimPolynomial::Term& term : fact.terms) {
        if (term.coefficient >= 0 || term.coefficient == INT64_MIN) continue;
        if (term.product->factors.empty() != negative.product->factors.empty()) continue;
        const DimProduct* others = products_.quotient(negative.product, term.product);
        if (!others || others->range.low.value_or(-1) < 0) continue;
        // |term| * p - |negative| * others * fact has no such term.
        DimPolynomial left = products_.combined(-term.coefficient, p, negative.coefficient, others, fact);
        if (search(left, depth - 1)) return true;
        if (budget_ < 0) return false;
      }
    }
  }
  return split(p, depth);
}

/// A minimum or maximum is one of two: p is at least 0 where it is so with either.
bool DimProver::split(const DimPolynomial& p, int depth) {
  for (size_t t = 0; t < p.terms.size(); ++t) {
    const DimPolynomial::Term& term = p.terms[t];
    for (size_t i = 0; i < term.product->factors.size(); ++i) {
      const DimAtom& atom = *term.product->factors[i];
      if (atom.kind != DimAtomKind::Min && atom.kind != DimAtomKind::Max) continue;
      DimPolynomial rest = p;
      rest.terms.erase(rest.terms.begin() + std::ptrdiff_t(t));
      std::vector<const DimAtom*> others = term.product->factors;
      others.erase(others.begin() + std::ptrdiff_t(i));
      const DimProduct* product = products_.product(std::move(others));
      return std::ranges::all_of(std::array{atom.a, atom.b}, [&](Dim either) {
        return search(products_.combined(1, rest, term.coefficient, product, products_.polynomial(either)), depth - 1);
      });
    }
  }
  return false;
}

}  // namespace tessera
