// Logarithms.
//
// x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). With s = f / (2 + f) and z = s^2,
//   log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + z P(z)),
// which loses nothing where f is small. e ln 2 is added with ln 2 in two parts, the first of which times e is exact.

#include "passes/target/math/coefficients.h"
#include "passes/target/math/math.h"

namespace tessera::math {

using Kind = ElementwiseKind;

namespace {

struct Reduced {
  Value* exponent;  ///< as a number
  Value* fraction;  ///< f
};

/// Of a positive finite number.
Reduced reduce_logarithm(Arithmetic& m, Value* x) {
  TargetBuilder& b = m.b;
  bool d = m.is_double();
  Value* denormal = m.less(x, d ? 0x1p-1022 : 0x1p-126);
  double lift = d ? 0x1p54 : 0x1p25;
  Value* normal = b.select(denormal, b.mul(x, m.number(lift)), x);
  // From the bits of sqrt(1/2) on, the exponent field counts the powers of two.
  Value* bits = m.bits(normal);
  Value* root = m.integer(d ? 0x3fe6a09e667f3bcd : 0x3f3504f3);
  Value* exponent = b.shr(b.sub(bits, root), m.mantissa_bits());
  Value* significand = m.from_bits(b.sub(bits, b.shl(exponent, m.mantissa_bits())));
  // By way of 32 bits, which every machine converts in registers.
  Value* number = b.cast(b.cast(exponent, DType::I32), m.type()->dtype);
  number = b.sub(number, b.select(denormal, m.number(d ? 54 : 25), m.number(0)));
  return {number, b.sub(significand, m.number(1))};
}

/// log(1 + f) in two parts: f - half_square + rest.
struct Parts {
  Value* half_square;
  Value* rest;
};

Parts logarithm_parts(Arithmetic& m, Value* f) {
  TargetBuilder& b = m.b;
  Value* half_square = b.mul(m.number(0.5), b.mul(f, f));
  Value* s = b.div(f, b.add(f, m.number(2)));
  Value* z = b.mul(s, s);
  Value* p = m.is_double() ? m.polynomial(z, log_f64) : m.polynomial(z, log_f32);
  return {half_square, b.mul(s, b.fma(z, p, half_square))};
}

/// e ln 2 + f - half_square + rest + small.
Value* combine(Arithmetic& m, Value* e, Value* f, Parts parts, Value* small) {
  TargetBuilder& b = m.b;
  bool d = m.is_double();
  Value* low = m.fma(e, d ? ln2_exact_f64_low : ln2_exact_f32_low, small ? b.add(parts.rest, small) : parts.rest);
  Value* rest = b.sub(b.sub(parts.half_square, low), f);
  return m.fma(e, d ? ln2_exact_f64_high : ln2_exact_f32_high, m.neg(rest));
}

/// `result` for positive x, -infinity at `zero`, NaN below it, infinity at infinity.
Value* with_special(Arithmetic& m, Value* x, double zero, Value* result) {
  TargetBuilder& b = m.b;
  Value* at_zero = b.select(m.equal(x, zero), m.number(-HUGE_VAL), m.number(NAN));
  result = b.select(m.greater(x, zero), result, at_zero);
  return b.select(m.equal(x, HUGE_VAL), x, result);
}

}  // namespace

Value* log(Arithmetic& m, Value* x) {
  Reduced r = reduce_logarithm(m, x);
  return with_special(m, x, 0, combine(m, r.exponent, r.fraction, logarithm_parts(m, r.fraction), nullptr));
}

Value* log2(Arithmetic& m, Value* x) {
  TargetBuilder& b = m.b;
  bool d = m.is_double();
  Reduced r = reduce_logarithm(m, x);
  Parts parts = logarithm_parts(m, r.fraction);
  Value* high = b.sub(r.fraction, parts.half_square);
  Value* low = b.add(b.sub(b.sub(r.fraction, high), parts.half_square), parts.rest);
  // (high + low) times 1/ln 2, then e is added to the product exactly (|product| <= 1/2).
  double scale = d ? log2e_f64_high : log2e_f32_high;
  Value* product = b.mul(high, m.number(scale));
  Value* product_low = m.fma(high, scale, m.neg(product));
  product_low = m.fma(high, d ? log2e_f64_low : log2e_f32_low, product_low);
  product_low = m.fma(low, scale, product_low);
  Value* sum = b.add(r.exponent, product);
  Value* lost = b.add(b.sub(r.exponent, sum), product);
  return with_special(m, x, 0, b.add(sum, b.add(lost, product_low)));
}

Value* log1p(Arithmetic& m, Value* x) {
  TargetBuilder& b = m.b;
  // u = 1 + x rounded; what the rounding took is put back to first order.
  Value* u = b.add(m.number(1), x);
  Value* lost = b.select(m.greater(x, 1), b.sub(m.number(1), b.sub(u, x)), b.sub(x, b.sub(u, m.number(1))));
  Value* correction = b.div(lost, u);
  Reduced r = reduce_logarithm(m, u);
  // Near 0 the exponent is 0 and f is x itself.
  Value* near = m.less(m.abs(x), 0.28);
  Value* f = b.select(near, x, r.fraction);
  correction = b.select(near, m.number(0), correction);
  Value* result = combine(m, r.exponent, f, logarithm_parts(m, f), correction);
  return b.select(m.equal(x, 0), x, with_special(m, x, -1, result));
}

}  // namespace tessera::math
