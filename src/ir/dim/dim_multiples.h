#pragma once
// Quotients without a remainder, and what `where` clauses say of them.

#include <optional>

#include "ir/dim/dim.h"

namespace tessera {

/// The q with q * b == a as polynomials; null when there is none.
Dim exact_quotient(DimTable& table, Dim a, Dim b);

/// A fact beside the normal form: `of` is a multiple of `by`.
struct DimMultiple {
  Dim of;
  Dim by;
};
/// The relation left == right in that form, such as `S % 64 == 0`; nothing for others.
std::optional<DimMultiple> as_multiple(Dim left, Dim right);

}  // namespace tessera
