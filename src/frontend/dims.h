#pragma once
// Dimensions as the language computes them: compile-time integers and symbolic sizes mixed, and
// what a `where` clause lets the checker assume.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/value.h"
#include "ir/core/context.h"

namespace tessera::frontend {

/// The dimension an Int or a Dim stands for; null for anything else.
Dim as_dimension(DimTable& dims, const Datum& datum);

/// a op b on Ints and Dims, for + - * // %. Null when `op` is another operator. An overflow gives
/// an overflow Dim; a constant division by zero null with `by_zero` set.
Dim combine(DimTable& dims, ast::BinaryOp op, Dim a, Dim b, bool& by_zero);

/// Whether a relation between dims holds for all sizes (true), for none (false), or depends on
/// them.
std::optional<bool> decide(DimTable& dims, ast::CompareOp op, Dim a, Dim b);

/// "[B, 4*H]".
std::string to_text(std::span<const Dim> dims);
/// Number of elements: the product of all dims (1 for none).
Dim element_count(DimTable& table, std::span<const Dim> dims);

}  // namespace tessera::frontend
