#include "ir/dim/dim_polynomial.h"

#include <algorithm>

#include "ir/dim/dim_terms.h"
#include "support/spending.h"

namespace tessera {

namespace {

bool by_text(const DimAtom* a, const DimAtom* b) { return a->text < b->text; }

/// The order of a dim's terms: higher degrees first, the constant last.
bool comes_before(const DimProduct* a, const DimProduct* b) {
  if (a == b || a->factors.empty()) return false;
  if (a->factors.size() != b->factors.size()) return a->factors.size() > b->factors.size();
  return a->text < b->text;
}

size_t digits(uint64_t value) {
  size_t count = 1;
  for (; value > 9; value /= 10) ++count;
  return count;
}

bool multiplied(int64_t a, int64_t b, int64_t& product) { return !__builtin_mul_overflow(a, b, &product); }

}  // namespace

bool DimPolynomial::is_non_negative() const {
  if (overflow) return false;
  int64_t low = 0;
  for (const Term& term : terms) {
    std::optional<int64_t> bound = term.coefficient < 0 ? term.product->range.high : term.product->range.low;
    int64_t least;
    if (!bound || !multiplied(*bound, term.coefficient, least)) return false;
    if (__builtin_add_overflow(low, least, &low)) return false;
  }
  return low >= 0;
}

size_t DimPolynomial::text_size() const {
  size_t size = terms.empty() ? 1 : 0;
  for (const Term& term : terms) {
    bool negative = term.coefficient < 0;
    uint64_t number = negative ? 0 - uint64_t(term.coefficient) : uint64_t(term.coefficient);
    size += size > 0 ? 3 : negative ? 1 : 0;
    bool has_number = number != 1 || term.product->factors.empty();
    if (has_number) size += digits(number) + (term.product->factors.empty() ? 0 : 1);
    size += term.product->text.size();
  }
  return size;
}

const DimProduct* DimProducts::product(std::vector<const DimAtom*> sorted_factors) {
  auto [known, is_new] = by_factors_.try_emplace(std::move(sorted_factors));
  if (!is_new) return known->second;
  DimTerm term{1, known->first};
  DimProduct& made = products_.emplace_back(DimProduct{known->first, factor_text(term), interval(term)});
  return known->second = &made;
}

DimPolynomial DimProducts::polynomial(Dim dim) {
  DimPolynomial made{.overflow = dim->overflow};
  for (const DimTerm& term : dim->terms) made.terms.push_back({term.coefficient, product(term.factors)});
  return made;
}

const DimProduct* DimProducts::times(const DimProduct* a, const DimProduct* b) {
  auto [known, is_new] = times_.try_emplace({a, b});
  if (!is_new) return known->second;
  std::vector<const DimAtom*> factors;
  std::ranges::merge(a->factors, b->factors, std::back_inserter(factors), by_text);
  return known->second = product(std::move(factors));
}

const DimProduct* DimProducts::quotient(const DimProduct* of, const DimProduct* by) {
  std::vector<const DimAtom*> left = of->factors;
  for (const DimAtom* atom : by->factors) {
    auto at = std::ranges::find(left, atom);
    if (at == left.end()) return nullptr;
    left.erase(at);
  }
  return product(std::move(left));
}

DimPolynomial DimProducts::combined(int64_t a, const DimPolynomial& p, int64_t b, const DimProduct* m,
                                    const DimPolynomial& q) {
  DimPolynomial sum{.overflow = p.overflow || q.overflow};
  std::vector<DimPolynomial::Term> scaled, added;
  for (const auto& [coefficient, product] : p.terms) {
    scaled.push_back({0, product});
    sum.overflow |= !multiplied(coefficient, a, scaled.back().coefficient);
  }
  for (const auto& [coefficient, product] : q.terms) {
    added.push_back({0, times(m, product)});
    sum.overflow |= !multiplied(coefficient, b, added.back().coefficient);
    sum.overflow |= added.back().product->factors.size() > most_dim_factors;
  }
  // Multiplying products by another one can change their order, which is that of their texts.
  std::ranges::sort(added, comes_before, &DimPolynomial::Term::product);
  std::ranges::merge(scaled, added, std::back_inserter(sum.terms), comes_before, &DimPolynomial::Term::product,
                     &DimPolynomial::Term::product);
  spending().steps += sum.terms.size() / dim_terms_of_step;
  std::vector<DimPolynomial::Term> kept;
  for (const DimPolynomial::Term& term : sum.terms) {
    if (kept.empty() || kept.back().product != term.product) {
      kept.push_back(term);
    } else {
      int64_t& total = kept.back().coefficient;
      sum.overflow |= __builtin_add_overflow(total, term.coefficient, &total);
    }
  }
  std::erase_if(kept, [](const auto& term) { return term.coefficient == 0; });
  sum.terms = std::move(kept);
  return sum;
}

}  // namespace tessera
