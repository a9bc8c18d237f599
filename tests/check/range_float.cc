// Ops on ranges of floats.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "check/range_ops.h"

namespace tessera::check {

namespace {

using Kind = ElementwiseKind;

/// The units in the last place by which a function may differ from the mathematics, in f32 and f64, and the values it
/// never leaves. The table of docs/numerics.md.
struct Function {
  double f32_units, f64_units;
  double least = -infinity, most = infinity;
};

std::optional<Function> function_of(Kind kind) {
  switch (kind) {
    case Kind::Exp: return Function{1, 1, 0};
    case Kind::Exp2: return Function{1, 1, 0};
    case Kind::Expm1: return Function{1.5, 2, -1};
    case Kind::Log: return Function{1, 1};
    case Kind::Log2: return Function{1, 1};
    case Kind::Log1p: return Function{1, 1};
    case Kind::Tanh: return Function{2.5, 2.5, -1, 1};
    case Kind::Sigmoid: return Function{2, 2, 0, 1};
    case Kind::Silu: return Function{2.5, 2.5};
    case Kind::Gelu: return Function{2.5, 2.5};
    case Kind::Erf: return Function{2, 1.5, -1, 1};
    case Kind::Erfinv: return Function{3.5, 4};
    case Kind::Sin: return Function{0.51, 1, -1, 1};
    case Kind::Cos: return Function{0.51, 1, -1, 1};
    case Kind::Pow: return Function{0.51, 1};
    default: return std::nullopt;
  }
}

double evaluated(Kind kind, DType dtype, DType to, std::initializer_list<double> numbers) {
  std::array<Element, 3> operands{};
  size_t count = 0;
  for (double number : numbers) operands[count++].f = number;
  return evaluate_elementwise(kind, dtype, to, {operands.data(), count}).f;
}

/// What a function may give whose exact result is `value`.
Range around(const Function& function, DType dtype, double value) {
  bool wide = dtype == DType::F64;
  int digits = wide ? 52 : 23, least_exponent = wide ? -1022 : -126;
  int exponent = value == 0 || !std::isfinite(value) ? least_exponent : std::ilogb(value);
  double unit = std::ldexp(1.0, std::max(exponent, least_exponent) - digits);
  // The reference is itself a double, and off by a unit or two of its own.
  double apart = (wide ? function.f64_units + 2 : function.f32_units * (1 + 1e-6)) * unit;
  double low = std::max(value - apart, function.least);
  double high = std::min(value + apart, function.most);
  if (wide) return {{.f = low}, {.f = high}};
  Range computed = rounded_range(DType::F32, low, high);
  return rounded_range(dtype, computed.low.f, computed.high.f);
}

/// At zeros and infinities a function gives its limit.
bool is_special(double x) { return x == 0 || std::isinf(x); }

Range function_at(Kind kind, const Function& function, DType dtype, double x) {
  if (is_special(x)) return point_range(dtype, {.f = evaluated(kind, dtype, dtype, {x})});
  return around(function, dtype, evaluated(kind, DType::F64, DType::F64, {x}));
}

/// Where silu and gelu, which fall to the left of it and rise to the right, are least.
double lowest_point(Kind kind) {
  double low = -3, high = 0;
  for (int i = 0; i < 200; ++i) {
    double a = low + (high - low) / 3, b = high - (high - low) / 3;
    bool falls = evaluated(kind, DType::F64, DType::F64, {a}) > evaluated(kind, DType::F64, DType::F64, {b});
    (falls ? low : high) = falls ? a : b;
  }
  return low;
}

/// Sine and cosine: the ends, and 1 or -1 where the range reaches a crest.
Range wave(Kind kind, const Function& function, DType dtype, const Range& x) {
  Range all{{.f = -1}, {.f = 1}, x.nan};
  if (magnitude(x) == infinity) all.nan = true;
  bool whole = x.high.f - x.low.f >= 6 || magnitude(x) > 1e6;
  if (whole && !is_point(dtype, {x.low, x.high})) return all;
  if (all.nan && std::isinf(x.low.f)) return point_range(dtype, {.f = std::nan("")});
  Range both = hull(dtype, function_at(kind, function, dtype, x.low.f),
                    function_at(kind, function, dtype, x.high.f));
  both.nan |= x.nan;
  if (magnitude(x) > 1e6) return both;  // a point, and beyond the precision of crests
  double shift = kind == Kind::Sin ? 0.5 : 0;
  double pi = std::numbers::pi;
  for (double crest = std::ceil(x.low.f / pi - shift); crest <= std::floor(x.high.f / pi - shift); ++crest) {
    Element value{.f = std::fmod(std::fabs(crest), 2) == 0 ? 1.0 : -1.0};
    both = hull(dtype, both, point_range(dtype, value));
  }
  return both;
}

/// Functions of one number that are not rounded once: approximations.
Range approximate(Kind kind, const Function& function, DType dtype, const Range& x) {
  if (kind == Kind::Sin || kind == Kind::Cos) return wave(kind, function, dtype, x);
  Range result = hull(dtype, function_at(kind, function, dtype, x.low.f),
                      function_at(kind, function, dtype, x.high.f));
  if (kind == Kind::Silu || kind == Kind::Gelu) {
    static const double silu_at = lowest_point(Kind::Silu), gelu_at = lowest_point(Kind::Gelu);
    double at = kind == Kind::Silu ? silu_at : gelu_at;
    if (x.low.f < at && at < x.high.f) {
      result = hull(dtype, result, function_at(kind, function, dtype, at));
    }
  }
  result.nan |= x.nan;
  return result;
}

/// Cuts a range down to what is not NaN, for functions that are defined from `least` to `most`.
Range within_domain(const Range& x, double least, double most = infinity) {
  Range cut = x;
  if (cut.high.f > most) cut.nan = true, cut.high.f = std::min(cut.high.f, most);
  if (cut.low.f < least) cut.nan = true, cut.low.f = std::max(cut.low.f, least);
  return cut;
}

/// The hull of what the op gives at the ends; all values where one of them is NaN.
Range at_ends(Kind kind, DType dtype, DType to, const Range& x) {
  double first = evaluated(kind, dtype, to, {x.low.f}), last = evaluated(kind, dtype, to, {x.high.f});
  if (std::isnan(first) || std::isnan(last)) {
    bool same = is_point(dtype, {x.low, x.high});
    return same ? point_range(to, {.f = first}) : any_value(to);
  }
  Range result = hull(to, point_range(to, {.f = first}), point_range(to, {.f = last}));
  result.nan = x.nan;
  return result;
}

Range magnitude_of(const Range& x) {
  double low = std::fabs(x.low.f), high = std::fabs(x.high.f);
  bool around_zero = std::signbit(x.low.f) != std::signbit(x.high.f);
  double least = around_zero ? 0 : std::min(low, high);
  return {{.f = least}, {.f = std::max(low, high)}, x.nan};
}

bool contains_zero(const Range& x) { return x.low.f <= 0 && x.high.f >= 0; }

Range reciprocal(Kind kind, DType dtype, const Range& x) {
  Range cut = x;
  if (kind == Kind::Rsqrt) cut = within_domain(x, -0.0);
  if (!has_numbers(dtype, cut)) return point_range(dtype, {.f = std::nan("")});
  bool both_zeros = contains_zero(cut) && std::signbit(cut.low.f) != std::signbit(cut.high.f);
  if (both_zeros) return any_value(dtype);
  return at_ends(kind, dtype, dtype, cut);
}

Range unary(Kind kind, DType dtype, const Range& x) {
  if (kind == Kind::Abs) return magnitude_of(x);
  if (kind == Kind::Reciprocal || kind == Kind::Rsqrt) return reciprocal(kind, dtype, x);
  Range cut = x;
  if (kind == Kind::Log || kind == Kind::Log2 || kind == Kind::Sqrt) cut = within_domain(x, -0.0);
  if (kind == Kind::Log1p) cut = within_domain(x, -1);
  if (kind == Kind::Erfinv) cut = within_domain(x, -1, 1);
  if (!has_numbers(dtype, cut)) return point_range(dtype, {.f = std::nan("")});
  if (auto function = function_of(kind)) return approximate(kind, *function, dtype, cut);
  return at_ends(kind, dtype, dtype, cut);
}

/// The hull of what a monotone op gives at the corners; all values where one is NaN.
template <size_t count>
Range at_corners(Kind kind, DType dtype, const std::array<Range, count>& x) {
  std::optional<Range> result;
  for (unsigned corner = 0; corner < 1u << count; ++corner) {
    std::array<Element, count> operands;
    for (size_t i = 0; i < count; ++i) operands[i] = corner >> i & 1 ? x[i].high : x[i].low;
    Element value = evaluate_elementwise(kind, dtype, dtype, operands);
    if (std::isnan(value.f)) return any_value(dtype);
    Range one = point_range(dtype, value);
    result = result ? hull(dtype, *result, one) : one;
  }
  for (const Range& each : x) result->nan |= each.nan;
  return *result;
}

bool is_infinite_somewhere(const Range& x) { return magnitude(x) == infinity; }

/// Zero times infinity, where neither is at the ends' corners alone.
bool may_be_zero_times_infinity(const Range& a, const Range& b) {
  return (contains_zero(a) && is_infinite_somewhere(b)) || (contains_zero(b) && is_infinite_somewhere(a));
}

Range remainder(DType dtype, const Range& a, const Range& b) {
  bool defined = !contains_zero(b) && std::isfinite(magnitude(a)) && std::isfinite(magnitude(b));
  if (!defined) return any_value(dtype);
  if (is_point(dtype, {b.low, b.high}) && std::floor(a.low.f / b.low.f) == std::floor(a.high.f / b.low.f)) {
    double first = evaluated(Kind::Mod, dtype, dtype, {a.low.f, b.low.f});
    double last = evaluated(Kind::Mod, dtype, dtype, {a.high.f, b.low.f});
    // A quotient that was rounded up to an integer has its remainder at the other end.
    if (first <= last) return {{.f = first}, {.f = last}, a.nan || b.nan};
  }
  double most = magnitude(b);
  return {{.f = b.low.f > 0 ? 0 : -most}, {.f = b.low.f > 0 ? most : 0}, a.nan || b.nan};
}

Range power(DType dtype, const Range& a, const Range& b) {
  Function function = *function_of(Kind::Pow);
  auto at = [&](double x, double y) {
    double exact = evaluated(Kind::Pow, DType::F64, DType::F64, {x, y});
    if (std::isnan(exact) || is_special(x) || is_special(y) || is_special(exact) || x == 1) {
      // A result that is beyond double is beyond the dtype too.
      double value = evaluated(Kind::Pow, dtype, dtype, {x, y});
      return point_range(dtype, {.f = value});
    }
    return around(function, dtype, exact);
  };
  bool points = is_point(dtype, {a.low, a.high}) && is_point(dtype, {b.low, b.high});
  if (!points && !(a.low.f > 0)) return any_value(dtype);
  Range result = at(a.low.f, b.low.f);
  result = hull(dtype, result, at(a.low.f, b.high.f));
  result = hull(dtype, result, at(a.high.f, b.low.f));
  result = hull(dtype, result, at(a.high.f, b.high.f));
  result.nan |= a.nan || b.nan;
  return result;
}

Range binary(Kind kind, DType dtype, const Range& a, const Range& b) {
  bool points = is_point(dtype, {a.low, a.high}) && is_point(dtype, {b.low, b.high});
  if (kind == Kind::Pow) return power(dtype, a, b);
  if (points) {
    Element operands[] = {a.low, b.low};
    Range result = point_range(dtype, evaluate_elementwise(kind, dtype, dtype, operands));
    result.nan |= a.nan || b.nan;
    return result;
  }
  switch (kind) {
    case Kind::Mod: return remainder(dtype, a, b);
    case Kind::Mul:
      if (may_be_zero_times_infinity(a, b)) return any_value(dtype);
      break;
    case Kind::Div:
    case Kind::FloorDiv:
      if (contains_zero(b) || (is_infinite_somewhere(a) && is_infinite_somewhere(b))) return any_value(dtype);
      break;
    default: break;
  }
  return at_corners<2>(kind, dtype, {a, b});
}

/// NaN to the 0 and 1 to the NaN are 1.
Range power_of_nan(DType dtype, const Range& a, const Range& b) {
  Element zero{.f = 0.0}, one{.f = 1.0}, minus_zero{.f = -0.0};
  Range result = point_range(dtype, {.f = std::nan("")});
  bool may = contains(dtype, b, zero) || contains(dtype, b, minus_zero) || contains(dtype, a, one);
  return may ? hull(dtype, result, point_range(dtype, one)) : result;
}

}  // namespace

Range float_op(Kind kind, DType dtype, std::span<const Range> operands) {
  bool any_nan = false;
  for (const Range& operand : operands) {
    any_nan |= operand.nan;
    if (has_numbers(dtype, operand)) continue;
    return kind == Kind::Pow ? power_of_nan(dtype, operands[0], operands[1]) : point_range(dtype, {.f = std::nan("")});
  }
  Range result;
  if (operands.size() == 1) {
    result = unary(kind, dtype, operands[0]);
  } else if (operands.size() == 2) {
    result = binary(kind, dtype, operands[0], operands[1]);
    if (any_nan && kind == Kind::Pow) result = hull(dtype, result, power_of_nan(dtype, operands[0], operands[1]));
  } else {
    bool unknown = may_be_zero_times_infinity(operands[0], operands[1]);
    result = unknown ? any_value(dtype) : at_corners<3>(kind, dtype, {operands[0], operands[1], operands[2]});
  }
  result.nan |= any_nan;
  return result;
}

Range float_cast(DType from, DType to, const Range& x) {
  if (is_float(to)) {
    if (!has_numbers(from, x)) return point_range(to, {.f = std::nan("")});
    return at_ends(Kind::Cast, from, to, x);
  }
  Range result{{.i = 0}, {.i = 0}};
  if (x.nan && to == DType::Bool) result = {{.i = 1}, {.i = 1}};
  if (!has_numbers(from, x)) return result;
  Range numbers;
  if (to == DType::Bool) {
    bool zero = x.low.f == 0 && x.high.f == 0;
    numbers = {{.i = !contains_zero(x)}, {.i = !zero}};
  } else {
    numbers = {evaluate_elementwise(Kind::Cast, from, to, {&x.low, 1}),
               evaluate_elementwise(Kind::Cast, from, to, {&x.high, 1})};
  }
  return x.nan ? hull(to, result, numbers) : numbers;
}

}  // namespace tessera::check
