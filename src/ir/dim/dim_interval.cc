// Interval arithmetic on dimensions: every symbol is a size, that is, at least 0.

#include <algorithm>

#include "ir/dim/dim_terms.h"

namespace tessera {

namespace {

using Bound = std::optional<int64_t>;

Bound add_bound(Bound a, Bound b) {
  int64_t sum;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

Bound mul_bound(Bound a, Bound b) {
  int64_t product;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}

bool non_negative(const DimInterval& i) { return i.low && *i.low >= 0; }

DimInterval scale(const DimInterval& i, int64_t k) {
  DimInterval out{mul_bound(i.low, k), mul_bound(i.high, k)};
  if (k < 0) std::swap(out.low, out.high);
  return out;
}

/// Product of intervals; only non-negative ones are followed, which is what sizes are.
DimInterval multiply(const DimInterval& a, const DimInterval& b) {
  if (!non_negative(a) || !non_negative(b)) return {};
  return {mul_bound(a.low, b.low), mul_bound(a.high, b.high)};
}

DimInterval atom_interval(const DimAtom& atom) {
  if (atom.kind == DimAtomKind::Symbol) return {0, std::nullopt};
  DimInterval a = interval(atom.a), b = interval(atom.b);
  switch (atom.kind) {
    case DimAtomKind::FloorDiv: {
      std::optional<int64_t> k = atom.b->constant();
      if (k && *k > 0) {
        auto divide = [&](Bound x) -> Bound {
          if (!x) return x;
          return *x / *k - (*x % *k < 0 ? 1 : 0);
        };
        return {divide(a.low), divide(a.high)};
      }
      if (non_negative(a) && b.low && *b.low > 0) return {0, a.high};
      return {};
    }
    case DimAtomKind::Mod:
      if (b.low && *b.low > 0) return {0, add_bound(b.high, -1)};
      return {};
    case DimAtomKind::Min: {
      DimInterval out;
      if (a.low && b.low) out.low = std::min(*a.low, *b.low);
      out.high = a.high && b.high ? Bound(std::min(*a.high, *b.high)) : (a.high ? a.high : b.high);
      return out;
    }
    case DimAtomKind::Max: {
      DimInterval out;
      if (a.high && b.high) out.high = std::max(*a.high, *b.high);
      out.low = a.low && b.low ? Bound(std::max(*a.low, *b.low)) : (a.low ? a.low : b.low);
      return out;
    }
    case DimAtomKind::Symbol: break;
  }
  return {};
}

}  // namespace

DimInterval interval(const DimTerm& term) {
  DimInterval product{1, 1};
  for (const DimAtom* atom : term.factors) product = multiply(product, atom_interval(*atom));
  return scale(product, term.coefficient);
}

DimInterval interval(Dim dim) {
  if (dim->overflow) return {};
  DimInterval sum{0, 0};
  for (const DimTerm& term : dim->terms) {
    DimInterval product = interval(term);
    sum = {add_bound(sum.low, product.low), add_bound(sum.high, product.high)};
  }
  return sum;
}

bool is_multiple_of(Dim dim, int64_t k) {
  if (dim->overflow || k == 0) return false;
  return std::all_of(dim->terms.begin(), dim->terms.end(),
                     [&](const DimTerm& term) { return term.coefficient % k == 0; });
}

bool proves_le(DimTable& table, Dim a, Dim b) {
  if (a == b) return true;
  DimInterval difference = interval(table.sub(b, a));
  return difference.low && *difference.low >= 0;
}

}  // namespace tessera
