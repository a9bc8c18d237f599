#pragma once
// Terms of dims and their factors, for dim_rules.h and dim_prover.h.

#include "ir/dim/dim.h"
#include "support/spending.h"

namespace tessera {

/// A table whose dims are forgotten with it, and counted no longer.
class ScratchDims {
  int64_t before_ = spending().bytes;

 public:
  ScratchDims() = default;
  ~ScratchDims() { spending().bytes = before_; }
  ScratchDims(const ScratchDims&) = delete;
  DimTable table;
};

/// Longer products count as overflow, as in dim.cc.
inline constexpr size_t most_dim_factors = 64;
/// Terms that are sorted in the time of a step (support/spending.h).
inline constexpr size_t dim_terms_of_step = 4;

/// The factors of a term, as its text has them.
std::string factor_text(const DimTerm& term);
/// Bounds of a term that follow from every symbol being at least 0.
DimInterval interval(const DimTerm& term);
/// An atom as a dimension.
Dim of_atom(DimTable& table, const DimAtom& atom);
/// The product of a term's factors, without the one at `left_out`, and without its coefficient.
Dim product_of(DimTable& table, const DimTerm& term, size_t left_out = size_t(-1));
/// True if a comes after b in an order of products (by degree, then by their atoms) that multiplying both by something
/// keeps.
bool leads(const DimTerm& a, const DimTerm& b);
/// The product that is left of a term's when the factors of another's are taken out; null when it lacks one of them.
Dim without_factors(DimTable& table, const DimTerm& term, const DimTerm& factors);

/// For each symbol below a division by a constant, a number whose remainders determine those of all
/// divisions; one that is more than `most` says only that.
using DimModuli = std::map<std::string, int64_t, std::less<>>;
DimModuli moduli_of(Dim dim, int64_t most);

}  // namespace tessera
