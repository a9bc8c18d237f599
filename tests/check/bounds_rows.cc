// Ops on rows. Implementations may write them in other steps than the interpreter (a reciprocal root for a root and a
// division), so that what the steps give together is added to the range of the mathematics.

#include <algorithm>
#include <cmath>

#include "check/bounds_ops.h"

namespace tessera::check {

namespace {

using Kind = ElementwiseKind;

/// Steps in the dtype that rows are computed in.
class Steps {
 public:
  explicit Steps(DType dtype) : dtype_(dtype == DType::F64 ? DType::F64 : DType::F32) {}

  DType dtype() const { return dtype_; }
  Range operator()(Kind kind, Range a) const { return elementwise(kind, dtype_, dtype_, {&a, 1}); }
  Range operator()(Kind kind, Range a, Range b) const {
    Range operands[] = {a, b};
    return elementwise(kind, dtype_, dtype_, operands);
  }
  Range cast(DType to, Range a) const { return elementwise(Kind::Cast, dtype_, to, {&a, 1}); }
  /// The range with a relative error of that many roundings more.
  Range widened(Range a, double roundings) const {
    if (a.low.f == 0 && a.high.f == 0) return a;
    double relative = roundings * unit_roundoff(dtype_) * 1.01;
    double tiny = roundings * (dtype_ == DType::F64 ? 0x1p-1074 : 0x1p-149);
    Range wide = rounded_range(dtype_, a.low.f - (std::fabs(a.low.f) * relative + tiny),
                               a.high.f + (std::fabs(a.high.f) * relative + tiny));
    wide.nan |= a.nan;
    return wide;
  }

 private:
  DType dtype_;
};

/// A row's maximum and exp(x - max).
struct Exponentials {
  Range most;
  std::vector<Range> shifted, exponentials;
};

Exponentials exponentials_of(const Steps& steps, std::span<const Range> row) {
  Exponentials result{reduced("max", steps.dtype(), row), {}, {}};
  for (const Range& x : row) {
    Range shifted = steps(Kind::Sub, x, result.most);
    // No element is above the maximum.
    if (has_numbers(steps.dtype(), shifted)) {
      shifted.high.f = std::min(shifted.high.f, 0.0);
      shifted.low.f = std::min(shifted.low.f, shifted.high.f);
    }
    result.shifted.push_back(shifted);
    result.exponentials.push_back(steps(Kind::Exp, shifted));
  }
  return result;
}

bool is_all(std::span<const Range> row, double value) {
  return std::all_of(row.begin(), row.end(), [&](const Range& x) {
    return !x.nan && x.low.f == value && x.high.f == value;
  });
}

bool has_nan_alone(DType dtype, std::span<const Range> row) {
  return std::any_of(row.begin(), row.end(), [&](const Range& x) { return !has_numbers(dtype, x); });
}

/// Infinities that are not certain make anything possible.
bool is_unclear(std::span<const Range> row) {
  return std::any_of(row.begin(), row.end(), [](const Range& x) {
    return x.nan || (x.low.f != x.high.f && std::isinf(magnitude(x)));
  });
}

std::vector<Range> softmax_row(DType dtype, std::span<const Range> row) {
  Steps steps(dtype);
  std::vector<Range> result(row.size());
  auto all = [&](Range value) { return std::vector<Range>(row.size(), value); };
  if (has_nan_alone(dtype, row)) return all(point_range(dtype, {.f = std::nan("")}));
  if (is_unclear(row)) return all(any_value(dtype));
  if (is_all(row, -infinity)) return all(point_range(dtype, {.f = 0.0}));
  Exponentials e = exponentials_of(steps, row);
  Range sum = reduced("sum", steps.dtype(), e.exponentials);
  for (size_t i = 0; i < row.size(); ++i) {
    Range quotient = steps(Kind::Div, e.exponentials[i], sum);
    quotient = steps.widened(quotient, 2);
    quotient.low.f = std::max(quotient.low.f, 0.0);
    result[i] = steps.cast(dtype, quotient);
  }
  return result;
}

/// 1 / sqrt(mean(x^2) + eps)
Range scale_of_row(const Steps& steps, std::span<const Range> row, double eps) {
  std::vector<Range> squares;
  for (const Range& x : row) {
    Range size = steps(Kind::Abs, x);
    squares.push_back(steps(Kind::Mul, size, size));
  }
  DType dtype = steps.dtype();
  Range sum = reduced("sum", dtype, squares);
  Range mean = steps(Kind::Div, sum, point_range(dtype, {.f = rounded(dtype, double(row.size()))}));
  Range total = steps(Kind::Add, mean, point_range(dtype, {.f = rounded(dtype, eps)}));
  return steps(Kind::Rsqrt, total);
}

}  // namespace

void softmax(const RangeTensor& a, RangeTensor& result) {
  size_t width = size_t(a.dims.back());
  for (size_t at = 0; at < a.ranges.size(); at += width) {
    std::vector<Range> row = softmax_row(a.dtype, {a.ranges.data() + at, width});
    std::copy(row.begin(), row.end(), result.ranges.begin() + std::ptrdiff_t(at));
  }
}

void rmsnorm(const RangeTensor& x, const RangeTensor* scale, double eps, RangeTensor& result) {
  Steps steps(x.dtype);
  size_t width = size_t(x.dims.back());
  for (size_t at = 0; at < x.ranges.size(); at += width) {
    std::span<const Range> row{x.ranges.data() + at, width};
    Range inverse = scale_of_row(steps, row, eps);
    for (size_t i = 0; i < width; ++i) {
      Range value = steps(Kind::Mul, row[i], inverse);
      if (scale) value = steps(Kind::Mul, value, scale->ranges[i]);
      // A division by the root differs from a product with its inverse by two roundings.
      result.ranges[at + i] = steps.cast(x.dtype, steps.widened(value, 3));
    }
  }
}

void cross_entropy(const RangeTensor& logits, const RangeTensor& targets, RangeTensor& result) {
  DType dtype = logits.dtype;
  Steps steps(dtype);
  size_t width = size_t(logits.dims.back());
  for (size_t r = 0; r < result.ranges.size(); ++r) {
    std::span<const Range> row{logits.ranges.data() + r * width, width};
    const Range& target = targets.ranges[r];
    Range& to = result.ranges[r];
    bool known = is_point(targets.dtype, target);
    bool inside = known && target.low.i >= 0 && uint64_t(target.low.i) < width;
    if ((known && !inside) || has_nan_alone(dtype, row)) {
      to = point_range(result.dtype, {.f = std::nan("")});
    } else if (!known || is_unclear(row)) {
      to = any_value(result.dtype);
    } else if (is_all(row, -infinity)) {
      to = point_range(result.dtype, {.f = infinity});
    } else {
      Exponentials e = exponentials_of(steps, row);
      Range total = steps(Kind::Log, reduced("sum", steps.dtype(), e.exponentials));
      to = steps.cast(result.dtype, steps(Kind::Sub, total, e.shifted[size_t(target.low.i)]));
    }
  }
}

}  // namespace tessera::check
