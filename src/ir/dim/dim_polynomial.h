#pragma once
// Polynomials of sizes as the search of DimProver makes them: by the thousand, and to keep none. Their products are
// made once, so that a term is two words and a sum merges two sorted lists. They have the normal form of dims, but no
// text, which takes most of the time that a dim does.

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/dim/dim.h"

namespace tessera {

/// A product of atoms; equal pointers of one DimProducts mean equal products.
struct DimProduct {
  std::vector<const DimAtom*> factors;  ///< sorted by text; a square is listed twice
  std::string text;                     ///< as in the text of a dim
  DimInterval range;                    ///< what follows from every symbol being at least 0
};

struct DimPolynomial {
  struct Term {
    int64_t coefficient;
    const DimProduct* product;
  };
  std::vector<Term> terms;  ///< in the order of a dim's
  bool overflow = false;    ///< a coefficient left the range of int64, or there are more terms than dims have

  bool is_non_negative() const;
  /// How long a dim's text would be.
  size_t text_size() const;
};

/// Makes and owns products.
class DimProducts {
 public:
  DimProducts() = default;
  DimProducts(const DimProducts&) = delete;

  DimPolynomial polynomial(Dim dim);
  const DimProduct* product(std::vector<const DimAtom*> sorted_factors);
  /// What is left of a product without the factors of another; null where it lacks one of them.
  const DimProduct* quotient(const DimProduct* product, const DimProduct* by);
  /// a*p + b*m*q.
  DimPolynomial combined(int64_t a, const DimPolynomial& p, int64_t b, const DimProduct* m, const DimPolynomial& q);

 private:
  const DimProduct* times(const DimProduct* a, const DimProduct* b);

  std::deque<DimProduct> products_;
  std::map<std::vector<const DimAtom*>, const DimProduct*> by_factors_;
  std::map<std::pair<const DimProduct*, const DimProduct*>, const DimProduct*> times_;
};

}  // namespace tessera
