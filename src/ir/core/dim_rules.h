#pragma once
// Rewrites dims by the equalities among facts to a canonical form, so that sizes which the facts
// make equal are equal pointers.
//
//   H % 4 == 0     H is written as 4*h while dims are computed: H//2 = 2*h, 2*(H//4) = 2*h, H % 2 = 0. Any residue of
//                  a symbol is taken so, several of one symbol together.
//                  H == 4*(H//4) says the same.
//   a % b == 0     b*(a//b) is a and a % b is 0, for what no residue of one symbol says (D % H, B*S % 64).
//   b >= 1         (a*b)//b is a; b*((a*b)//b) is a*b without it.
//   a == b         rewrites the leading product of a - b by the rest.
// Dims that are shown have no h: results are written with H again, H rather than H//2, and that
// rather than H//4.

#include <span>
#include <string>
#include <vector>

#include "ir/core/dim_facts.h"

namespace tessera {

class DimRules {
 public:
  /// Looks at the first 64 equalities, which is more than programs have.
  DimRules(DimTable& dims, std::span<const DimFact> facts);

  /// Whether there is an a//b in the dim of which a may be a multiple of b whatever the facts are.
  static bool has_division_by_sizes(Dim dim);
  /// The canonical form of the dim, in the symbols it has.
  Dim canonical(Dim dim) const;
  /// The same, in the symbols that are computed with. An overflow says nothing of the dim.
  Dim reduced(Dim dim) const;

 private:
  /// symbol = by * fresh + rest.
  struct Residue {
    std::string symbol;
    Dim fresh;
    int64_t by, rest;
  };
  /// coefficient * product of leading == the rest.
  struct Rewriting {
    DimTerm leading;
    Dim rest;
  };

  bool learn(Dim zero);
  bool learn_remainder(const DimTerm& remainder, int64_t rest);
  bool learn_by_trial(Dim zero);
  bool learn_residue(std::string_view symbol, int64_t k, int64_t rest);
  void learn_rewriting(Dim zero);
  Dim divided(Dim dim) const;
  Dim divided_term(const DimTerm& term) const;
  bool is_multiple(Dim a, Dim b) const;
  bool is_positive(Dim dim) const;
  Dim rewritten(Dim dim) const;
  Dim restored(Dim dim) const;
  Dim restored_term(const DimTerm& term) const;

  DimTable& dims_;
  std::vector<Residue> residues_;
  std::vector<DimMultiple> multiples_;
  std::vector<Dim> positive_;  ///< sizes of at least 1
  std::vector<Rewriting> rewritings_;
};

}  // namespace tessera
