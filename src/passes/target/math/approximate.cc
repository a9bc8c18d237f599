// Functions of f32 from a special function unit (nv_ops.def: approx_*), for machines that have one.
//
// The unit's 2^a is good to about 22 bits, but gives 0 for what is no normal number: small results are computed 2^32
// times larger. e^x is 2^n 2^rest for n + rest = x log2(e), where n is an integer and the rest between -1/2 and 1/2, or
// larger where the result overflows or is denormal: the last product rounds it. docs/numerics.md has the errors.

#include "ir/target/ops.h"
#include "passes/target/math/math.h"

namespace tessera::math {

namespace {

constexpr double log2e = 0x1.71547652b82fep0;
constexpr double log2e_high = double(float(log2e));
constexpr double log2e_low = log2e - log2e_high;

Value* unit_exp2(Arithmetic& m, Value* x) {
  return m.b.at().value(target::info(target::OpKind::ApproxExp2), {{x}}, x->type());
}

/// 2^shift e^(x + low) as fraction and power, whose product is it; `low` may be null. For x down to -112.
struct ScaledExponential {
  Value* fraction;
  Value* power;
};

ScaledExponential scaled_exp(Arithmetic& m, Value* x, Value* low, double shift) {
  // n is rounded by adding 1.5 * 2^23; both arguments of 2^a are exact but for the rounding of the second.
  Value* magic = m.number(0x1.8p23);
  Value* n = m.b.sub(m.fma(x, log2e_high, magic), magic);
  Value* rest = m.fma(x, log2e_low, m.fma(x, log2e_high, m.neg(n)));
  if (low) rest = m.fma(low, log2e, rest);
  return {unit_exp2(m, rest), unit_exp2(m, m.b.add(n, m.number(shift)))};
}

}  // namespace

Value* approximate_exp2(Arithmetic& m, Value* x) {
  if (m.flushes()) return unit_exp2(m, x);
  Value* small = m.less(x, -125);
  Value* power = unit_exp2(m, m.b.add(x, m.b.select(small, m.number(32), m.number(0))));
  return m.b.mul(power, m.b.select(small, m.number(0x1p-32), m.number(1)));
}

Value* approximate_exp(Arithmetic& m, Value* x) {
  // x log2(e) = n + rest for an integer n from -126 to 127, found by clamping (which makes NaN a number, but not in the
  // rest). 253 times a number of [0, 1] plus 1.5 * 2^23 + 1 has n + 127 in its lowest bits, the exponent of 2^n.
  constexpr double span = 253, magic = 0x1.8p23;
  Value* place = m.b.at().value(target::info(target::OpKind::FmaClamped),
                                {{x}, {m.number(log2e / span)}, {m.number(126 / span)}}, x->type());
  Value* shifted = m.fma(place, span, m.number(magic + 1));
  Value* n = m.b.sub(shifted, m.number(magic + 127));
  Value* rest = m.fma(x, log2e_low, m.fma(x, log2e_high, m.neg(n)));
  return m.b.mul(unit_exp2(m, rest), m.from_bits(m.b.shl(m.bits(shifted), 23)));
}

Value* approximate_quotient(Arithmetic& m, Value* a, Value* b) {
  Value* inverse = m.b.at().value(target::info(target::OpKind::ApproxReciprocal), {{b}}, b->type());
  return m.b.mul(a, inverse);
}

Value* approximate_logistic(Arithmetic& m, Value* y, Value* low, Value* numerator, double lowest) {
  // From z = e^-|y|, so that nothing overflows. The power of two is kept 2^40 larger, hence normal, until the end.
  TargetBuilder& b = m.b;
  Value* below = m.less(y, 0);
  Value* bound = m.at_least(m.neg(m.abs(y)), lowest);
  if (low) low = b.select(below, low, m.neg(low));
  Value* back = m.number(0x1p-40);
  ScaledExponential e = scaled_exp(m, bound, low, 40);
  Value* z = b.mul(b.mul(e.fraction, e.power), back);
  numerator = b.select(below, b.mul(numerator, e.fraction), numerator);
  Value* quotient = approximate_quotient(m, numerator, b.add(m.number(1), z));
  return b.select(below, b.mul(b.mul(quotient, e.power), back), quotient);
}

Value* rounded_logistic(Arithmetic& m, Value* half, Value* numerator) {
  // With g = 2^half, e^y / (1 + e^y) = g^2 / (1 + g^2): g is a normal number wherever the result is one, and is bounded
  // where that is 1. What is 0 or denormal is left to the last product.
  TargetBuilder& b = m.b;
  Value* g = unit_exp2(m, m.at_most(half, 30));
  Value* quotient = approximate_quotient(m, g, b.fma(g, g, m.number(1)));
  return b.mul(b.mul(numerator, quotient), g);
}

}  // namespace tessera::math
