#pragma once
// What implementations may give for one element, as docs/numerics.md has it: an interval of numbers, and perhaps NaN.
//
// An op on ranges gives a range that holds the result for all operands in theirs. Ops that are rounded once are
// monotone, rounding included, so that their ends are results themselves and a range of one number stays one number,
// bit for bit. Functions widen a range by the units in the last place that numerics.md allows them, sums by what any
// order of the roundings can give. So nothing is compared with a tolerance that somebody chose.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ir/numbers/elementwise.h"
#include "ir/numbers/tensor.h"

namespace tessera::check {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// -0 is less than +0. There is no number when `low` is above `high`.
struct Range {
  Element low, high;
  bool nan = false;
};

/// The order of a dtype's elements, in which -0 comes before +0. Neither is NaN.
bool is_before(DType dtype, Element a, Element b);
Element smaller(DType dtype, Element a, Element b);
Element larger(DType dtype, Element a, Element b);

/// That element alone; for NaN no number.
Range point_range(DType dtype, Element value);
/// All numbers of the dtype, and NaN where it has one.
Range any_value(DType dtype);
/// All that is in one of them.
Range hull(DType dtype, const Range& a, const Range& b);
bool has_numbers(DType dtype, const Range& range);
/// One number, and not NaN.
bool is_point(DType dtype, const Range& range);
bool contains(DType dtype, const Range& range, Element value);
/// "0.5", "[0.5, 0.75]", "[0.5, 0.75] or nan".
std::string to_text(DType dtype, const Range& range);

/// The largest magnitude; 0 where there are no numbers.
double magnitude(const Range& range);
/// Half a unit in the last place of 1: the largest relative error of one rounding to a float dtype.
double unit_roundoff(DType dtype);
/// Bits of the significand, the leading one included.
int precision(DType dtype);
double largest_finite(DType dtype);
double rounded(DType dtype, double value);
/// The reals from low to high, rounded to the dtype; with ends that overflow it holds infinities.
Range rounded_range(DType dtype, double low, double high);

/// An op on operands in `dtype` with a result in `to`, as in evaluate_elementwise.
Range elementwise(ElementwiseKind kind, DType dtype, DType to, std::span<const Range> operands);

/// Ranges of the elements of a tensor, in row-major order.
struct RangeTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  std::vector<Range> ranges;

  static RangeTensor of(const TensorValue& value);
  size_t rank() const { return dims.size(); }
  int64_t count() const { return int64_t(ranges.size()); }
  /// Where each element is one number or NaN: that tensor. Nothing otherwise.
  std::optional<TensorValue> exact() const;
};

}  // namespace tessera::check
