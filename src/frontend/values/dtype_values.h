#pragma once
// Members of dtypes: numbers, and functions that a machine computes in them.

#include <cstdint>
#include <vector>

#include "ir/core/dim_facts.h"
#include "ir/numbers/elementwise.h"

namespace tessera::frontend {

/// Whether an integer is a value of an integer dtype.
bool has_integer(DType dtype, int64_t value);

/// Whether a float dtype has a number, rounded: not what is beyond its greatest one, nor what is so small that it would
/// be 0, and no infinity where it has none.
bool has_number(DType dtype, double value);

/// Whether a size becomes a value of the dtype. Of an integer dtype of fewer than 32 bits the facts have to say so.
bool has_size(DType dtype, Dim size, DimTable& dims, const std::vector<DimFact>& facts);

/// The dtype to convert to where neither of two widens to the other: a float before an integer, more bits before fewer,
/// and one that has the numbers of both if there is one.
DType wide_enough(DType a, DType b);

}  // namespace tessera::frontend
