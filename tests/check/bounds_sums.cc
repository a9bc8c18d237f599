// Sums and products, whose order is the implementation's.
//
// A sum of n numbers is off by at most ((1 + u)^(n-1) - 1) * sum|x|, whatever the order, if no partial sum overflows
// (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). Where all are multiples of some power of two
// and sum|x| fits the significand in units of it, every partial sum is exact, and the sum is one number.

#include <algorithm>
#include <cmath>
#include <optional>

#include "check/bounds_ops.h"
#include "check/range_ops.h"
#include "ir/graph/eval_ops.h"
#include "support/check.h"

namespace tessera::check {

namespace {

/// (1 + u)^steps - 1, rounded up.
long double growth(double u, int64_t steps) {
  return std::expm1(static_cast<long double>(steps) * std::log1p(static_cast<long double>(u))) * 1.0001L;
}

/// The exponent of the lowest bit that is set; a large one for 0.
int lowest_bit(double x) {
  if (x == 0) return 4096;
  int exponent = 0;
  auto bits = int64_t(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
  return exponent - 53 + __builtin_ctzll(uint64_t(bits));
}

/// Adds up the terms of a sum: their ends, magnitudes and grain, and what is not finite.
class Sum {
 public:
  void add(double low, double high, int grain) {
    if (!std::isfinite(low) || !std::isfinite(high)) {
      bool same = low == high;
      infinite_ = true;
      certain_plus_ |= same && low > 0;
      certain_minus_ |= same && low < 0;
      maybe_plus_ |= high == infinity;
      maybe_minus_ |= low == -infinity;
      return;
    }
    low_ += low;
    high_ += high;
    magnitude_ += std::max(std::fabs(low), std::fabs(high));
    points_ &= low == high;
    grain_ = std::min(grain_, grain);
  }
  void add(const Range& range) { add(range.low.f, range.high.f, lowest_bit(range.low.f)); }
  void add_nan() { maybe_nan_ = true; }
  /// The terms themselves are off by that much, unless the sum is exact.
  void widen(long double apart) { inexact_ += apart; }
  /// Terms and partial sums that are denormal may be taken as zeros, `apart` for this term.
  void flush(long double apart) { flushed_ += apart; }

  /// A factor that is denormal may be taken as zero: the term may be missing.
  void lose(long double apart) { lost_ += apart; }

  /// `steps` is the largest number of roundings on a term's way into the sum.
  Range result(DType dtype, double u, int64_t steps, double limit) const {
    if (infinite_) return infinite_result(dtype, limit);
    int least_bit = dtype == DType::F64 ? -1074 : -149;
    bool exact = points_ && grain_ >= least_bit && magnitude_ <= std::ldexp(1.0L, grain_ + precision(dtype));
    long double error = exact ? 0 : growth(u, steps) * magnitude_ + inexact_;
    error += lost_;
    if (grain_ < least_bit) error += std::ldexp(static_cast<long double>(steps), least_bit - 1);
    if (!exact || grain_ < -126) error += flushed_;
    if (magnitude_ + error > limit) return any_value(dtype);
    Range range = outward(dtype, low_ - error, high_ + error);
    if (range.low.f == 0 && range.high.f == 0 && exact) range.low.f = range.high.f = 0.0;  // never -0
    range.nan = maybe_nan_;
    return range;
  }

 private:
  static Range outward(DType dtype, long double low, long double high) {
    double first = double(low), last = double(high);
    if (first > low) first = std::nextafter(first, -infinity);
    if (last < high) last = std::nextafter(last, infinity);
    Range range = rounded_range(dtype, first, last);
    // Zeros that come from a rounding may have either sign.
    if (range.low.f == 0 && first != last) range.low.f = -0.0;
    if (range.high.f == 0 && first != last) range.high.f = 0.0;
    return range;
  }

  Range infinite_result(DType dtype, double limit) const {
    bool finite_rest = magnitude_ * 1.01L < limit;
    if (!finite_rest || maybe_nan_ || (maybe_plus_ && maybe_minus_)) return any_value(dtype);
    if (certain_plus_) return {{.f = infinity}, {.f = infinity}};
    if (certain_minus_) return {{.f = -infinity}, {.f = -infinity}};
    return any_value(dtype);
  }

  long double low_ = 0, high_ = 0, magnitude_ = 0, inexact_ = 0, flushed_ = 0, lost_ = 0;
  int grain_ = 4096;
  bool points_ = true, infinite_ = false, maybe_nan_ = false;
  bool certain_plus_ = false, certain_minus_ = false, maybe_plus_ = false, maybe_minus_ = false;
};

Range float_sum(DType dtype, std::span<const Range> elements) {
  Sum sum;
  for (const Range& element : elements) {
    if (!has_numbers(dtype, element)) return point_range(dtype, {.f = std::nan("")});
    if (element.nan) sum.add_nan();
    sum.add(element);
  }
  Range result = sum.result(dtype, unit_roundoff(dtype), std::max<int64_t>(int64_t(elements.size()), 1),
                            largest_finite(dtype));
  // Whether the 0 that a sum begins with is added to -0 is not said.
  bool negative_zeros = std::all_of(elements.begin(), elements.end(), [](const Range& element) {
    return element.low.f == 0 && std::signbit(element.low.f);
  });
  if (!elements.empty() && negative_zeros && result.low.f == 0) result.low.f = -0.0;
  return result;
}

/// A product of floats. Some order may overflow or lose bits to underflow before another would, so that it is known
/// only where the large and the small factors each stay in range by themselves.
Range float_product(DType dtype, std::span<const Range> elements) {
  long double low = 1, high = 1, large = 1, small = 1;
  bool points = true, integers = true;
  Range product = point_range(dtype, {.f = 1.0});
  bool nan = false;
  for (const Range& element : elements) {
    if (!has_numbers(dtype, element)) return point_range(dtype, {.f = std::nan("")});
    nan |= element.nan;
    double most = magnitude(element);
    if (!std::isfinite(most)) return any_value(dtype);
    points &= is_point(dtype, element);
    integers &= most == std::floor(most);
    long double ends[] = {low * element.low.f, low * element.high.f, high * element.low.f, high * element.high.f};
    low = *std::min_element(ends, ends + 4), high = *std::max_element(ends, ends + 4);
    double least = element.low.f > 0 || element.high.f < 0
                       ? std::min(std::fabs(element.low.f), std::fabs(element.high.f)) : 0;
    if (most > 1) large *= most;
    if (least < 1 && least > 0) small *= least;
    Element pair[] = {product.low, element.low};
    product = point_range(dtype, evaluate_elementwise(ElementwiseKind::Mul, dtype, dtype, pair));
  }
  bool exact = points && integers && large <= std::ldexp(1.0L, precision(dtype));
  if (exact) return product;
  double tiny = std::ldexp(largest_finite(dtype), -precision(dtype) - 1);  // far above the least normal's inverse
  if (large * 1.01L > largest_finite(dtype) || small * tiny < 1.01L) return any_value(dtype);
  long double error = growth(unit_roundoff(dtype), std::max<int64_t>(int64_t(elements.size()), 1));
  low -= std::fabs(low) * error, high += std::fabs(high) * error;
  Range range = rounded_range(dtype, double(low), double(high));
  if (range.low.f == 0) range.low.f = -0.0;
  if (range.high.f == 0) range.high.f = 0.0;
  range.nan |= nan;
  return range;
}

/// Extremes do not depend on the order, and integers wrap in any.
Range folded(std::string_view kind, DType dtype, std::span<const Range> elements) {
  graph::Reduction reduction = graph::reduction(kind, dtype);
  Range result = point_range(dtype, reduction.identity);
  for (const Range& element : elements) {
    Range pair[] = {result, element};
    result = elementwise(reduction.combine, dtype, dtype, pair);
  }
  return result;
}

}  // namespace

Range reduced(std::string_view kind, DType dtype, std::span<const Range> elements) {
  if (is_float(dtype) && kind == "sum") return float_sum(dtype, elements);
  if (is_float(dtype) && kind == "prod") return float_product(dtype, elements);
  return folded(kind, dtype, elements);
}

void reduce(const RangeTensor& a, std::string_view kind, std::span<const int64_t> axes, RangeTensor& result) {
  Extents own = row_strides(a.dims), to(a.rank(), 0);
  int64_t stride = 1;
  for (size_t i = a.rank(); i-- > 0;) {
    if (std::find(axes.begin(), axes.end(), int64_t(i)) != axes.end()) continue;
    to[i] = stride;
    stride *= a.dims[i];
  }
  std::vector<std::vector<Range>> groups(result.ranges.size());
  for (int64_t i = 0; i < a.count(); ++i) {
    int64_t at = 0, rest = i;
    for (size_t d = 0; d < own.size(); ++d) {
      at += rest / own[d] * to[d];
      rest %= own[d];
    }
    groups.at(size_t(at)).push_back(a.ranges[size_t(i)]);
  }
  for (size_t i = 0; i < groups.size(); ++i) result.ranges[i] = reduced(kind, a.dtype, groups[i]);
}

namespace {

bool reaches_denormal(const Range& x) {
  return x.low.f < 0x1p-126 && x.high.f > -0x1p-126 && !(x.low.f == 0 && x.high.f == 0);
}

/// True where some value of the range counts as 0: denormal ones do where they are flushed.
bool reaches_zero(const Range& x, bool flushes) {
  double least = flushes ? 0x1p-126 : 0;
  return x.low.f <= 0 ? x.high.f >= 0 || -x.high.f < least : x.low.f < least;
}

/// One element of a product; `at` gives the k-th pair of operands.
template <typename At>
Range dot(DType operand, DType accum, int64_t k, const At& at) {
  if (!is_float(accum)) {
    Range sum = point_range(accum, {.i = 0});
    for (int64_t i = 0; i < k; ++i) {
      auto [a, b] = at(i);
      Range pair[] = {integer_cast(operand, accum, a), integer_cast(operand, accum, b)};
      Range product = elementwise(ElementwiseKind::Mul, accum, accum, pair);
      Range both[] = {sum, product};
      sum = elementwise(ElementwiseKind::Add, accum, accum, both);
    }
    return sum;
  }
  Sum sum;
  // A matrix unit flushes denormal operands and results to zero.
  bool flushes = operand == DType::BF16 && accum == DType::F32;
  for (int64_t i = 0; i < k; ++i) {
    auto [a, b] = at(i);
    if (!has_numbers(operand, a) || !has_numbers(operand, b)) return point_range(accum, {.f = std::nan("")});
    if (a.nan || b.nan) sum.add_nan();
    double most = magnitude(a) * magnitude(b);
    if (std::isnan(most) || std::isinf(magnitude(a)) != std::isinf(magnitude(b))) {
      bool zero = reaches_zero(a, flushes) && std::isinf(magnitude(b));
      zero = zero || (reaches_zero(b, flushes) && std::isinf(magnitude(a)));
      if (zero) return any_value(accum);
    }
    double ends[] = {a.low.f * b.low.f, a.low.f * b.high.f, a.high.f * b.low.f, a.high.f * b.high.f};
    int grain = lowest_bit(a.low.f) + lowest_bit(b.low.f);
    sum.add(*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4), std::min(grain, 4096));
    if (accum == DType::F64) sum.widen(std::isfinite(most) ? most * 0x1p-52 : 0);  // `ends` are rounded
    if (flushes && most != 0) {
      sum.flush(0x1p-125);
      if (reaches_denormal(a)) sum.lose(0x1p-126 * magnitude(b));
      if (reaches_denormal(b)) sum.lose(0x1p-126 * magnitude(a));
    }
  }
  bool narrow = accum != DType::F64 && accum != DType::F32;
  double u = unit_roundoff(accum == DType::F64 ? DType::F64 : DType::F32);
  int64_t steps = k + 2 + k / 128;
  double limit = largest_finite(narrow ? DType::F32 : accum);
  if (!narrow) return sum.result(accum, u, steps, limit);
  // Kept in f32, and rounded to the accumulator every 64.
  double every = unit_roundoff(accum);
  int64_t roundings = (k + 63) / 64;
  double combined =
      std::expm1(double(roundings) * std::log1p(every) / double(std::max<int64_t>(steps, 1)) + std::log1p(u));
  return sum.result(accum, combined, steps, largest_finite(accum));
}

}  // namespace

void multiply(const RangeTensor& a, const RangeTensor& b, const Product& product, RangeTensor& result) {
  int64_t m = result.dims[result.rank() - 2], n = result.dims.back();
  int64_t k = a.dims[a.rank() - (product.transpose_a ? 2 : 1)];
  for (int64_t i = 0; i < result.count(); ++i) {
    int64_t batch = i / (m * n), row = i / n % m, column = i % n;
    const Range* a_matrix = a.ranges.data() + batch * m * k;
    const Range* b_matrix = b.ranges.data() + (b.rank() > 2 ? batch * k * n : 0);
    auto at = [&](int64_t l) {
      return std::pair(a_matrix[product.transpose_a ? l * m + row : row * k + l],
                       b_matrix[product.transpose_b ? column * k + l : l * n + column]);
    };
    result.ranges[size_t(i)] = dot(a.dtype, product.accum, k, at);
  }
}

}  // namespace tessera::check
