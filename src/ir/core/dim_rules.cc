#include "ir/core/dim_rules.h"

#include <algorithm>
#include <numeric>

#include "ir/dim/dim_terms.h"

namespace tessera {

namespace {

constexpr size_t max_equalities = 64;
constexpr int64_t max_trials = 48;

int64_t positive_mod(int64_t a, int64_t k) { return ((a % k) + k) % k; }

/// The r of 0 to k-1 with a * r == b (mod k); nothing when a and k have a common factor or k is large.
std::optional<int64_t> solve(int64_t a, int64_t b, int64_t k) {
  if (k > INT32_MAX || std::gcd(a % k, k) != 1) return std::nullopt;
  int64_t r0 = k, r1 = positive_mod(a, k), s0 = 0, s1 = 1;
  while (r1 > 1) {
    int64_t q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    s0 = std::exchange(s1, s0 - q * s1);
  }
  return positive_mod(positive_mod(s1, k) * positive_mod(b, k), k);
}

/// Whether it says of its left side that it is at least 1.
bool is_above_zero(const DimFact& fact) {
  std::optional<int64_t> right = fact.right->constant();
  return right && ((fact.relation == Relation::GreaterEqual && *right >= 1) ||
                   (fact.relation == Relation::Greater && *right >= 0));
}

}  // namespace

DimRules::DimRules(DimTable& dims, std::span<const DimFact> facts) : dims_(dims) {
  std::vector<Dim> zeros;
  for (const DimFact& fact : facts) {
    if (is_above_zero(fact)) positive_.push_back(fact.left);
    if (fact.relation != Relation::Equal || zeros.size() == max_equalities) continue;
    zeros.push_back(dims.sub(fact.left, fact.right));
  }
  // A residue changes how the other facts read, which may then be residues, too.
  for (bool learnt = true; learnt;) {
    learnt = false;
    for (Dim& zero : zeros) {
      if (!zero || !learn(zero)) continue;
      zero = nullptr;
      learnt = true;
    }
  }
  for (Dim zero : zeros) {
    if (zero) learn_rewriting(zero);
  }
}

/// Takes "zero == 0" where it is a residue of one symbol.
bool DimRules::learn(Dim zero) {
  zero = reduced(zero);
  if (zero->overflow || zero->terms.empty()) return false;
  const DimTerm& term = zero->terms[0];
  int64_t constant = zero->terms.back().factors.empty() ? zero->terms.back().coefficient : 0;
  bool one_term = zero->terms.size() == (constant == 0 ? 1u : 2u) && term.factors.size() == 1;
  if (!one_term || term.factors[0]->kind != DimAtomKind::Mod) return learn_by_trial(zero);
  if (constant == INT64_MIN || constant % term.coefficient != 0) return false;
  return learn_remainder(term, -(constant / term.coefficient));
}

/// Of (u*X + s) % k == rest.
bool DimRules::learn_remainder(const DimTerm& remainder, int64_t rest) {
  const DimAtom& atom = *remainder.factors[0];
  std::optional<int64_t> k = atom.b->constant();
  if (!k || *k <= 1 || rest < 0 || rest >= *k || atom.a->terms.size() > 2) return false;
  const DimTerm& first = atom.a->terms[0];
  if (first.factors.size() != 1 || first.factors[0]->kind != DimAtomKind::Symbol) return false;
  int64_t shift = 0;
  if (atom.a->terms.size() == 2) {
    if (!atom.a->terms[1].factors.empty()) return false;
    shift = atom.a->terms[1].coefficient;
  }
  std::optional<int64_t> r = solve(first.coefficient, positive_mod(rest - shift % *k, *k), *k);
  return r && learn_residue(first.factors[0]->text, *k, *r);
}

/// Of any equality about one symbol: looks which of the remainders it may leave let the equality hold.
bool DimRules::learn_by_trial(Dim zero) {
  DimModuli moduli = moduli_of(zero, max_trials);
  std::string_view symbol;
  bool one = true;
  for_each_symbol(zero, [&](std::string_view name) {
    one = one && (symbol.empty() || symbol == name);
    symbol = name;
  });
  auto modulus = moduli.find(symbol);
  if (!one || modulus == moduli.end() || modulus->second > max_trials || zero->terms.size() > 8) return false;
  int64_t common = modulus->second, first = -1;
  for (int64_t rest = 0; rest < modulus->second; ++rest) {
    ScratchDims scratch;
    DimTable& table = scratch.table;
    Dim value = table.add(table.mul(table.constant(modulus->second), table.symbol(symbol)), table.constant(rest));
    std::optional<int64_t> left = table.substitute(zero, [&](std::string_view) { return value; })->constant();
    if (!left) return false;
    if (*left != 0) continue;
    if (first < 0) first = rest;
    common = std::gcd(common, rest - first);
  }
  return first >= 0 && common > 1 && learn_residue(symbol, common, first % common);
}

/// symbol = k*h + rest, where the symbol may be what another one was written with.
bool DimRules::learn_residue(std::string_view symbol, int64_t k, int64_t rest) {
  auto known = std::ranges::find_if(residues_, [&](const Residue& each) { return each.fresh->text == symbol; });
  Residue residue = known == residues_.end() ? Residue{std::string(symbol), nullptr, 1, 0} : *known;
  int64_t more;
  if (__builtin_mul_overflow(residue.by, rest, &more) || __builtin_add_overflow(residue.rest, more, &residue.rest) ||
      __builtin_mul_overflow(residue.by, k, &residue.by)) {
    return false;
  }
  residue.fresh = dims_.symbol(std::string(symbol) + "'");  // no name that a source can have
  if (known == residues_.end()) residues_.push_back(std::move(residue));
  else *known = std::move(residue);
  return true;
}

void DimRules::learn_rewriting(Dim zero) {
  if (std::optional<DimMultiple> multiple = as_multiple(zero, dims_.constant(0))) {
    Dim of = reduced(multiple->of), by = reduced(multiple->by);
    if (!of->overflow && !by->overflow) multiples_.push_back({of, by});
    return;
  }
  zero = reduced(zero);
  if (zero->overflow || zero->constant()) return;
  auto unit = [](const DimTerm& term) { return term.coefficient == 1 || term.coefficient == -1; };
  auto derived = [](const DimTerm& term) { return term.factors[0]->kind != DimAtomKind::Symbol; };
  const DimTerm* leading = nullptr;
  for (const DimTerm& term : zero->terms) {
    if (term.factors.empty()) continue;
    if (leading) {
      if (term.factors.size() < leading->factors.size()) continue;
      // Symbols are what arguments have, and stay.
      bool better = derived(term) != derived(*leading) ? derived(term)
                    : unit(term) != unit(*leading)     ? unit(term)
                                                       : leads(term, *leading);
      if (term.factors.size() == leading->factors.size() && !better) continue;
    }
    leading = &term;
  }
  if (leading->coefficient == INT64_MIN) return;
  Dim product = dims_.mul(dims_.constant(leading->coefficient), product_of(dims_, *leading));
  Dim rest = dims_.sub(product, zero);
  Rewriting rule{*leading, rest};
  if (rule.leading.coefficient < 0) {
    rule.leading.coefficient = -rule.leading.coefficient;
    rule.rest = dims_.mul(dims_.constant(-1), rest);
  }
  if (!rule.rest->overflow) rewritings_.push_back(std::move(rule));
}

/// Whether a product of sizes is known to be at least 1.
bool DimRules::is_positive(Dim dim) const {
  if (dim->overflow || dim->terms.size() != 1 || dim->terms[0].coefficient < 1) return false;
  return std::ranges::all_of(dim->terms[0].factors, [&](const DimAtom* atom) {
    return std::ranges::any_of(positive_, [&](Dim known) { return known->symbol() == atom->text; });
  });
}

/// Whether a is known to be a multiple of b.
bool DimRules::is_multiple(Dim a, Dim b) const {
  if (!b->constant() && exact_quotient(dims_, a, b)) return true;
  auto divides = [](Dim k, Dim by) {
    if (k == by) return true;
    std::optional<int64_t> small = k->constant(), large = by->constant();
    return small && large && *small > 0 && *large % *small == 0;
  };
  return std::ranges::any_of(multiples_, [&](const DimMultiple& fact) {
    return divides(b, fact.by) && (a == fact.of || exact_quotient(dims_, a, fact.of) != nullptr);
  });
}

Dim DimRules::divided_term(const DimTerm& term) const {
  for (size_t i = 0; i < term.factors.size(); ++i) {
    const DimAtom& atom = *term.factors[i];
    bool quotient = atom.kind == DimAtomKind::FloorDiv;
    if ((!quotient && atom.kind != DimAtomKind::Mod) || !is_multiple(atom.a, atom.b)) continue;
    if (!quotient) return dims_.constant(0);
    Dim others = product_of(dims_, term, i);
    if (Dim exact = is_positive(atom.b) ? exact_quotient(dims_, atom.a, atom.b) : nullptr) {
      return divided(dims_.mul(dims_.mul(dims_.constant(term.coefficient), others), exact));
    }
    if (std::optional<int64_t> k = atom.b->constant()) {
      int64_t shared = std::gcd(term.coefficient % *k, *k);
      if (shared == 1) continue;
      Dim part = dims_.floordiv(atom.a, dims_.constant(*k / shared));
      return divided(dims_.mul(dims_.constant(term.coefficient / shared), dims_.mul(others, part)));
    }
    others = exact_quotient(dims_, dims_.mul(dims_.constant(term.coefficient), others), atom.b);
    if (others) return divided(dims_.mul(others, atom.a));
  }
  return dims_.mul(dims_.constant(term.coefficient), product_of(dims_, term));
}

bool DimRules::has_division_by_sizes(Dim dim) {
  auto is_it = [](const DimAtom* atom) { return atom->kind == DimAtomKind::FloorDiv && !atom->b->constant(); };
  return std::ranges::any_of(dim->terms, [&](const DimTerm& term) { return std::ranges::any_of(term.factors, is_it); });
}

Dim DimRules::divided(Dim dim) const {
  if (dim->overflow || (multiples_.empty() && !has_division_by_sizes(dim))) return dim;
  Dim sum = dims_.constant(0);
  for (const DimTerm& term : dim->terms) sum = dims_.add(sum, divided_term(term));
  return sum;
}

Dim DimRules::rewritten(Dim dim) const {
  // Rules may run in circles, which the limit on steps ends: the dim reached by then is equal, too.
  constexpr int max_steps = 64;
  for (int step = 0; step < max_steps && !dim->overflow; ++step) {
    Dim next = nullptr;
    for (const Rewriting& rule : rewritings_) {
      for (const DimTerm& term : dim->terms) {
        if (term.coefficient % rule.leading.coefficient != 0) continue;
        Dim others = without_factors(dims_, term, rule.leading);
        if (!others) continue;
        Dim times = dims_.mul(dims_.constant(term.coefficient / rule.leading.coefficient), others);
        Dim left = dims_.mul(dims_.constant(rule.leading.coefficient), product_of(dims_, rule.leading));
        next = dims_.add(dims_.sub(dim, dims_.mul(times, left)), dims_.mul(times, rule.rest));
        break;
      }
      if (next) break;
    }
    if (!next || next == dim) return dim;
    dim = next;
  }
  return dim;
}

Dim DimRules::reduced(Dim dim) const {
  if (!residues_.empty()) {
    dim = dims_.substitute(dim, [&](std::string_view name) -> Dim {
      auto known = std::ranges::find_if(residues_, [&](const Residue& each) { return each.symbol == name; });
      if (known == residues_.end()) return nullptr;
      return dims_.add(dims_.mul(dims_.constant(known->by), known->fresh), dims_.constant(known->rest));
    });
  }
  return rewritten(divided(dim));
}

Dim DimRules::restored_term(const DimTerm& term) const {
  int64_t coefficient = term.coefficient;
  Dim product = dims_.constant(1);
  for (const DimAtom* atom : term.factors) {
    auto known = std::ranges::find_if(residues_, [&](const Residue& each) {
      return atom->kind == DimAtomKind::Symbol && each.fresh->text == atom->text;
    });
    if (known == residues_.end()) {
      Dim same = atom->kind == DimAtomKind::Symbol
                     ? dims_.symbol(atom->text)
                     : of_atom(dims_, {atom->kind, {}, restored(atom->a), restored(atom->b)});
      product = dims_.mul(product, same);
      continue;
    }
    // g*h is X // (by/g) without what the rest has of that, for as large a g as the coefficient has.
    int64_t g = std::gcd(coefficient % known->by, known->by);
    coefficient /= g;
    int64_t by = known->by / g;
    Dim quotient = dims_.floordiv(dims_.symbol(known->symbol), dims_.constant(by));
    Dim whole = dims_.sub(quotient, dims_.constant(known->rest / by));
    product = dims_.mul(product, whole);
  }
  return dims_.mul(dims_.constant(coefficient), product);
}

Dim DimRules::restored(Dim dim) const {
  if (dim->overflow) return dim;
  Dim sum = dims_.constant(0);
  for (const DimTerm& term : dim->terms) sum = dims_.add(sum, restored_term(term));
  return sum;
}

Dim DimRules::canonical(Dim dim) const {
  bool has_equality = !residues_.empty() || !multiples_.empty() || !rewritings_.empty();
  if (!has_equality && !has_division_by_sizes(dim)) return dim;
  Dim written = reduced(dim);
  if (!residues_.empty()) written = restored(written);
  return written->overflow ? dim : written;
}

}  // namespace tessera
