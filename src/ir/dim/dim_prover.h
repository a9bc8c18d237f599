#pragma once
// Proves that polynomials of sizes are at least 0, given others that are.
//
// An inequality f >= 0 can be subtracted, times a product that is at least 0: if p - c*f >= 0, so
// is p. The search subtracts inequalities that cancel a negative term of p, to a limited depth.
// Bounds of single symbols are first written into all polynomials (S >= 16 as S + 16), and the
// bound of an atom (x//k by x) is an inequality like others. The search has a budget of steps; what
// it does not prove stays open.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/dim/dim_polynomial.h"

namespace tessera {

class DimProver {
 public:
  /// `non_negative` are at least 0, none of `non_zero` is 0.
  DimProver(DimTable& dims, std::vector<Dim> non_negative, std::span<const Dim> non_zero);

  /// True if p >= 0 was proved; false says nothing.
  bool at_least_zero(Dim p);
  bool above_zero(Dim p) { return at_least_zero(dims_.sub(p, dims_.constant(1))); }

 private:
  void assume(Dim non_negative);
  void raise_symbols();
  void add_bounds(Dim fact, std::map<std::string, int64_t, std::less<>>& by);
  bool raise(const std::map<std::string, int64_t, std::less<>>& by);
  Dim raised(Dim dim) const;
  void bound_atoms(Dim dim);
  void bound_atom(const DimAtom& atom);
  bool search(const DimPolynomial& p, int depth);
  bool split(const DimPolynomial& p, int depth);

  DimTable& dims_;
  std::vector<Dim> facts_;
  DimProducts products_;
  std::vector<DimPolynomial> polynomials_;  ///< the facts, while something is searched for
  std::vector<const DimAtom*> bounded_;  ///< atoms whose bounds are among the facts
  std::vector<std::map<std::string, Dim, std::less<>>> raised_;  ///< what symbols are written as, one after the other
  int budget_ = 0;
};

}  // namespace tessera
