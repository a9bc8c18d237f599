#pragma once
// Quotients without a remainder, and what `where` clauses say of them.

#include <optional>
#include <span>

#include "ir/core/dim.h"

namespace tessera {

/// The q with q * b == a where b is one term (4*B) that divides each term of a; null when there is
/// none.
Dim exact_quotient(DimTable& table, Dim a, Dim b);

/// What is known beside the normal form: `of` is a multiple of `by`.
struct DimMultiple {
  Dim of;
  Dim by;
};
/// What the relation left == right says in that form, as `S % 64 == 0` does; nothing for others.
std::optional<DimMultiple> as_multiple(Dim left, Dim right);
/// The dim written with what is known: by * (of // by) is `of` and of % by is 0, for constants that
/// divide `by` and multiples of `of`, too.
Dim apply_multiples(DimTable& table, Dim dim, std::span<const DimMultiple> known);

}  // namespace tessera
