#pragma once
// Dimensions as the language computes them: compile-time integers and symbolic sizes mixed, and
// what a `where` clause lets the checker assume.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/values/value.h"
#include "ir/core/context.h"
#include "ir/core/dim_facts.h"

namespace tessera::frontend {

/// The dimension an Int or a Dim stands for; null for anything else.
Dim as_dimension(DimTable& dims, const Datum& datum);

/// a op b on Ints and Dims, for + - * // %. Null when `op` is another operator. An overflow gives
/// an overflow Dim; a constant division by zero null with `by_zero` set.
Dim combine(DimTable& dims, ast::BinaryOp op, Dim a, Dim b, bool& by_zero);

/// The relation that a comparison asks for; nothing for `in` and `is`.
std::optional<Relation> as_relation(ast::CompareOp op);
/// The one that holds where `relation` does not.
Relation opposite(Relation relation);
/// tessera::decide of that relation.
std::optional<bool> decide(DimTable& dims, ast::CompareOp op, Dim a, Dim b,
                           std::span<const DimFact> facts = {});

/// Whether two sizes are equal only where a size in them is 0, as 2*B and 3*B are.
bool are_equal_at_zero_only(DimTable& dims, Dim a, Dim b);

/// Adds of each size by which something in `size` is divided that it is at least 1; to 32 facts at most.
void collect_divisors(DimTable& dims, Dim size, std::vector<DimFact>& facts);

/// What a `where` clause says to let `asked` be taken as true: what is missing of multiples (`H % 4 == 0`), or else the
/// relation itself. Empty where the checker could not use it.
std::string clause_for(DimTable& dims, const DimFact& asked, std::span<const DimFact> facts);

/// a // b, without the factors that b, which is one term, has in common with all terms of a.
Dim reduced_quotient(DimTable& dims, Dim a, Dim b);

/// Whether the number of bits of a tensor of these dims can be written down, as the runtime counts them, whatever its
/// dtype is now and later: every coefficient of 64 times the product fits in 64 bits. An extent of
/// 0 counts as 1.
bool has_size(DimTable& table, std::span<const Dim> dims);

}  // namespace tessera::frontend
