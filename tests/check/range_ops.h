#pragma once
// The parts that elementwise() is made of, by the kind of their operands.

#include "check/range.h"

namespace tessera::check {

/// An arithmetic op on floats.
Range float_op(ElementwiseKind kind, DType dtype, std::span<const Range> operands);
/// A cast of floats to any dtype.
Range float_cast(DType from, DType to, const Range& x);
/// An arithmetic or logical op on integers or bool.
Range integer_op(ElementwiseKind kind, DType dtype, std::span<const Range> operands);
/// A cast of integers or bool to any dtype.
Range integer_cast(DType from, DType to, const Range& x);
/// A comparison of any dtype.
Range comparison(ElementwiseKind kind, DType dtype, const Range& a, const Range& b);

}  // namespace tessera::check
