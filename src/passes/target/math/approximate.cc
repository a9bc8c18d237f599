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

}  // namespace

Value* approximate_exp2(Arithmetic& m, Value* x, bool flush) {
  if (flush) return unit_exp2(m, x);
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

ScaledExponential approximate_scaled_exp(Arithmetic& m, Value* x, Value* low, double shift) {
  // n is rounded by adding 1.5 * 2^23; both arguments of 2^a are exact but for the rounding of the second.
  Value* magic = m.number(0x1.8p23);
  Value* n = m.b.sub(m.fma(x, log2e_high, magic), magic);
  Value* rest = m.fma(x, log2e_low, m.fma(x, log2e_high, m.neg(n)));
  if (low) rest = m.fma(low, log2e, rest);
  return {unit_exp2(m, rest), unit_exp2(m, m.b.add(n, m.number(shift)))};
}

}  // namespace tessera::math
