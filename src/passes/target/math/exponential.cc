// e^x and what is made of it.
//
// x = n ln 2 + r with |r| <= ln(2)/2, so that e^x = 2^n (1 + expm1(r)), and expm1(r) = r + r^2 P(r). n is
// rounded by adding 1.5 * 2^(mantissa bits), whose low bits then hold it as an integer; r is taken with ln 2 in two
// parts, by fused multiply-adds, hence with the error of the second part only.
//
// Where a result decays, 2^n is multiplied in at the end, which keeps results near the end of the range exact.

#include "passes/target/math/coefficients.h"
#include "passes/target/math/math.h"

namespace tessera::math {

namespace {

/// The bounds between which e^x is neither 0 nor infinite, a little widened.
double lowest(const Arithmetic& m) { return m.is_double() ? -746 : -104; }
double highest(const Arithmetic& m) { return m.is_double() ? 710 : 89; }
constexpr double half_log2e = log2e_f64_high / 2;
/// Below it x e^x and e^x are both 0.
double lowest_product(const Arithmetic& m) { return m.is_double() ? -760 : -112; }

/// The integer nearest to a, as number and as integer; |a| < 2^(mantissa bits - 1).
std::pair<Value*, Value*> nearest(Arithmetic& m, Value* shifted) {
  Value* number = m.b.sub(shifted, m.number(m.magic()));
  Value* integer = m.b.sub(m.bits(shifted), m.bits(m.number(m.magic())));
  return {number, integer};
}

Value* expm1_of(Arithmetic& m, Value* r) {
  Value* p = m.is_double() ? m.polynomial(r, expm1_f64) : m.polynomial(r, expm1_f32);
  return m.b.fma(m.b.mul(r, r), p, r);
}

Value* one_plus(Arithmetic& m, Value* a) { return m.b.add(m.number(1), a); }

/// numerator / (1 + e^-y) for y = y + low; `numerator` is finite where y is far below 0.
///
/// With e^-y = 2^n (1 + q) it is numerator / (1 + 2^n + 2^n q) where n <= 0, and 2^-n numerator / (1 + 2^-n + q) above:
/// in both the divisor lies between 1 and 3, is rounded once, and nothing else is before the division.
Value* logistic(Arithmetic& m, Value* y, Value* low, Value* numerator) {
  if (m.approximates()) return approximate_logistic(m, y, low, numerator, lowest_product(m));
  TargetBuilder& b = m.b;
  // 1 + e^-40 is 1 in either dtype.
  Value* bounded = m.at_most(m.at_least(m.neg(y), -40), -lowest_product(m));
  Exponential e = reduce_exponential(m, bounded, low ? m.neg(low) : nullptr);
  Value* grows = m.greater(e.n_number, 0);
  // 2^-n is multiplied in as two normal numbers, of which the second alone rounds.
  Value* shift = m.at_most(e.n_number, 80);
  Value* power = m.power_of_whole(m.neg(m.abs(shift)));
  Value* rest = m.power_of_whole(b.sub(shift, e.n_number));
  Value* sum = one_plus(m, power);
  Value* lost = b.add(b.sub(m.number(1), sum), power);
  Value* divisor = b.add(sum, b.fma(b.select(grows, m.number(1), power), e.expm1, lost));
  Value* quotient = b.div(numerator, divisor);
  return b.mul(b.mul(quotient, b.select(grows, power, m.number(1))), rest);
}

}  // namespace

Exponential reduce_exponential(Arithmetic& m, Value* x, Value* low) {
  bool d = m.is_double();
  auto [n, integer] = nearest(m, m.fma(x, d ? log2e_f64_high : log2e_f32_high, m.number(m.magic())));
  Value* r = m.fma(n, -(d ? ln2_f64_high : ln2_f32_high), x);
  r = m.fma(n, -(d ? ln2_f64_low : ln2_f32_low), r);
  if (low) r = m.b.add(r, low);
  return {expm1_of(m, r), integer, n};
}

Value* exp(Arithmetic& m, Value* x) {
  if (m.approximates()) return approximate_exp(m, x);
  Value* bounded = m.at_most(m.at_least(x, lowest(m)), highest(m));
  Exponential e = reduce_exponential(m, bounded);
  return m.scale(one_plus(m, e.expm1), e.n);
}

Value* exp2(Arithmetic& m, Value* x) {
  if (m.approximates()) return approximate_exp2(m, x);
  bool d = m.is_double();
  Value* bounded = m.at_most(m.at_least(x, d ? -1080 : -152), d ? 1025 : 129);
  auto [n, integer] = nearest(m, m.b.add(bounded, m.number(m.magic())));
  Value* r = m.b.sub(bounded, n);
  Value* p = d ? m.polynomial(r, exp2m1_f64) : m.polynomial(r, exp2m1_f32);
  return m.scale(m.b.fma(r, p, m.number(1)), integer);
}

Value* expm1(Arithmetic& m, Value* x) {
  // Below -40 the result is -1 in either dtype. 2^(n-1) is doubled at the end: 2^n itself may overflow too early.
  Value* bounded = m.at_most(m.at_least(x, -40), highest(m));
  Exponential e = reduce_exponential(m, bounded);
  Value* half = m.power_of_two(m.b.sub(e.n, m.integer(1)));
  Value* result = m.b.fma(half, e.expm1, m.b.sub(half, m.number(0.5)));
  result = m.b.add(result, result);
  return m.b.select(m.b.op(ElementwiseKind::Eq, e.n_number, m.number(0)),
                    m.b.select(m.equal(x, 0), x, e.expm1), result);
}

Value* tanh(Arithmetic& m, Value* x) {
  // tanh|x| = -t / (t + 2) with t = expm1(-2|x|).
  Value* doubled = m.at_least(m.b.mul(m.abs(x), m.number(-2)), -40);
  Value* t = expm1(m, doubled);
  Value* divisor = m.b.add(t, m.number(2));
  return m.with_sign_of(m.approximates() ? approximate_quotient(m, t, divisor) : m.b.div(t, divisor), x);
}

Value* sigmoid(Arithmetic& m, Value* x) {
  if (m.is_rounded()) return rounded_logistic(m, m.b.mul(x, m.number(half_log2e)), m.number(1));
  return logistic(m, x, nullptr, m.number(1));
}

Value* silu(Arithmetic& m, Value* x) {
  Value* finite_below = m.at_least(x, lowest_product(m));
  if (m.is_rounded()) return rounded_logistic(m, m.b.mul(x, m.number(half_log2e)), finite_below);
  return logistic(m, x, nullptr, finite_below);
}

// gelu(x) = x / (1 + e^-y) with y = 2 sqrt(2/pi) (x + 0.044715 x^3), which has no cancellation. An error of y is one
// of the result times |y|, so y is computed in two parts: products by fma, the sum by Knuth's two-sum.
Value* gelu(Arithmetic& m, Value* x) {
  bool d = m.is_double();
  TargetBuilder& b = m.b;
  double end = d ? 32 : 16;
  Value* finite_below = m.at_least(x, -end);
  if (m.is_rounded()) {
    constexpr double linear = gelu_linear_f64_high * half_log2e, cubic = gelu_cubic_f64_high * half_log2e;
    Value* factor = m.fma(b.mul(finite_below, finite_below), cubic, m.number(linear));
    return rounded_logistic(m, b.mul(finite_below, factor), finite_below);
  }
  Value* bounded = m.at_most(finite_below, end);
  Value* square = b.mul(bounded, bounded);
  Value* square_low = b.fma(bounded, bounded, m.neg(square));
  Value* cubic = m.number(d ? gelu_cubic_f64_high : gelu_cubic_f32_high);
  Value* product = b.mul(cubic, square);
  Value* product_low = b.fma(cubic, square, m.neg(product));
  product_low = b.fma(cubic, square_low, product_low);
  product_low = m.fma(square, d ? gelu_cubic_f64_low : gelu_cubic_f32_low, product_low);

  Value* linear = m.number(d ? gelu_linear_f64_high : gelu_linear_f32_high);
  Value* sum = b.add(linear, product);
  Value* taken = b.sub(sum, linear);
  Value* sum_low = b.add(b.sub(linear, b.sub(sum, taken)), b.sub(product, taken));
  sum_low = b.add(sum_low, b.add(product_low, m.number(d ? gelu_linear_f64_low : gelu_linear_f32_low)));

  Value* y = b.mul(bounded, sum);
  Value* y_low = b.fma(bounded, sum_low, b.fma(bounded, sum, m.neg(y)));
  return logistic(m, y, y_low, finite_below);
}

}  // namespace tessera::math
