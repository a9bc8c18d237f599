// Ops on ranges of integers, which wrap, and what all dtypes share.

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "check/range_ops.h"
#include "support/check.h"

namespace tessera::check {

namespace {

using Kind = ElementwiseKind;
using Wide = __int128;

Wide wide(DType dtype, Element value) {
  return dtype == DType::U64 ? Wide(uint64_t(value.i)) : Wide(value.i);
}

bool are_points(DType dtype, std::span<const Range> operands) {
  return std::all_of(operands.begin(), operands.end(), [&](const Range& r) { return is_point(dtype, r); });
}

/// The range of these ends where nothing wraps.
Range unwrapped(DType dtype, Wide low, Wide high) {
  Range all = any_value(dtype);
  if (low < wide(dtype, all.low) || high > wide(dtype, all.high)) return all;
  return {{.i = int64_t(low)}, {.i = int64_t(high)}};
}

Range sum_or_product(Kind kind, DType dtype, const Range& a, const Range& b) {
  Wide corners[4];
  for (int i = 0; i < 4; ++i) {
    Wide x = wide(dtype, i & 1 ? a.high : a.low), y = wide(dtype, i & 2 ? b.high : b.low);
    // Magnitudes of 2^64 times 2^64 do not fit; what is that large wraps anyway.
    bool huge = kind == Kind::Mul && (x > INT64_MAX || y > INT64_MAX);
    if (huge) return any_value(dtype);
    corners[i] = kind == Kind::Add ? x + y : kind == Kind::Sub ? x - y : x * y;
  }
  return unwrapped(dtype, *std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
}

/// Every combination of elements: of bools, which are few.
Range of_bools(Kind kind, std::span<const Range> operands) {
  std::optional<Range> result;
  for (unsigned bits = 0; bits < 1u << operands.size(); ++bits) {
    std::array<Element, 3> values{};
    bool inside = true;
    for (size_t i = 0; i < operands.size(); ++i) {
      values[i].i = bits >> i & 1;
      inside = inside && contains(DType::Bool, operands[i], values[i]);
    }
    if (!inside) continue;
    Range one = point_range(DType::Bool, evaluate_elementwise(kind, DType::Bool, DType::Bool,
                                                              {values.data(), operands.size()}));
    result = result ? hull(DType::Bool, *result, one) : one;
  }
  return *result;
}

}  // namespace

Range integer_op(Kind kind, DType dtype, std::span<const Range> operands) {
  if (are_points(dtype, operands)) {
    std::array<Element, 3> values{};
    for (size_t i = 0; i < operands.size(); ++i) values[i] = operands[i].low;
    return point_range(dtype, evaluate_elementwise(kind, dtype, dtype, {values.data(), operands.size()}));
  }
  if (dtype == DType::Bool) return of_bools(kind, operands);
  const Range& a = operands[0];
  switch (kind) {
    case Kind::Add:
    case Kind::Sub:
    case Kind::Mul: return sum_or_product(kind, dtype, a, operands[1]);
    case Kind::Neg: return unwrapped(dtype, -wide(dtype, a.high), -wide(dtype, a.low));
    case Kind::Min: return {smaller(dtype, a.low, operands[1].low), smaller(dtype, a.high, operands[1].high)};
    case Kind::Max: return {larger(dtype, a.low, operands[1].low), larger(dtype, a.high, operands[1].high)};
    case Kind::Relu: return {larger(dtype, a.low, {.i = 0}), larger(dtype, a.high, {.i = 0})};
    default: return any_value(dtype);
  }
}

Range integer_cast(DType from, DType to, const Range& x) {
  Range ends{evaluate_elementwise(Kind::Cast, from, to, {&x.low, 1}),
             evaluate_elementwise(Kind::Cast, from, to, {&x.high, 1})};
  if (is_point(from, x)) return point_range(to, ends.low);
  if (is_float(to)) return std::isnan(ends.low.f) || std::isnan(ends.high.f) ? any_value(to) : ends;
  if (to == DType::Bool) {
    bool zero = contains(from, x, {.i = 0});
    return {{.i = !zero}, {.i = 1}};
  }
  return unwrapped(to, wide(from, x.low), wide(from, x.high));
}

Range comparison(Kind kind, DType dtype, const Range& a, const Range& b) {
  bool numbers = has_numbers(dtype, a) && has_numbers(dtype, b);
  bool may[2] = {false, false};
  // Zeros of both signs are equal here, so that numbers are compared by the op itself, at the corners.
  for (int corner = 0; numbers && corner < 4; ++corner) {
    Element operands[] = {corner & 1 ? a.high : a.low, corner & 2 ? b.high : b.low};
    may[evaluate_elementwise(kind, dtype, DType::Bool, operands).i] = true;
  }
  bool equality = kind == Kind::Eq || kind == Kind::Ne;
  bool points = is_point(dtype, {a.low, a.high}) && is_point(dtype, {b.low, b.high});
  if (numbers && equality && !points) {
    Element below[] = {a.high, b.low}, above[] = {b.high, a.low};
    bool apart = evaluate_elementwise(Kind::Lt, dtype, DType::Bool, below).i ||
                 evaluate_elementwise(Kind::Lt, dtype, DType::Bool, above).i;
    if (!apart) may[0] = may[1] = true;
  }
  if (a.nan || b.nan) may[kind == Kind::Ne] = true;
  return {{.i = !may[0]}, {.i = may[1]}};
}

Range elementwise(Kind kind, DType dtype, DType to, std::span<const Range> operands) {
  switch (elementwise_info(kind).cls) {
    case ElementwiseClass::Compare: return comparison(kind, dtype, operands[0], operands[1]);
    case ElementwiseClass::Choose: {
      const Range& condition = operands[0];
      if (is_point(DType::Bool, condition)) return operands[condition.low.i ? 1 : 2];
      return hull(to, operands[1], operands[2]);
    }
    case ElementwiseClass::Convert:
      return is_float(dtype) ? float_cast(dtype, to, operands[0]) : integer_cast(dtype, to, operands[0]);
    default: return is_float(dtype) ? float_op(kind, dtype, operands) : integer_op(kind, dtype, operands);
  }
}

}  // namespace tessera::check
