// Functions of f32 from a special function unit (nv_ops.def: approx_*), for machines that have one.
//
// The unit's 2^a is good to about 22 bits, but gives 0 for what is no normal number: small results are computed 2^32
// times larger. e^x is 2^hi (1 + lo ln 2) for hi + lo = x log2(e): hi is the product rounded, and lo what the rounding
// lost, by fused multiply-adds; |lo| is so small that the first term of the series for 2^lo is enough. docs/numerics.md
// has the errors.

#include <limits>

#include "ir/target/ops.h"
#include "passes/target/math/math.h"

namespace tessera::math {

namespace {

constexpr double log2e = 0x1.71547652b82fep0;
constexpr double log2e_high = double(float(log2e));
constexpr double log2e_low = log2e - log2e_high;
constexpr double ln2 = 0x1.62e42fefa39efp-1;
/// The largest f32 below 128, and the largest x for which e^x is finite.
constexpr double largest_exponent = 0x1.fffffep6;
constexpr double largest_argument = 0x1.62e42ep6;

}  // namespace

namespace {

Value* unit_exp2(Arithmetic& m, Value* x) {
  return m.b.at().value(target::info(target::OpKind::ApproxExp2), {{x}}, x->type());
}

/// 2^high (1 + low ln 2); `low` may be null.
Value* exp2_of_sum(Arithmetic& m, Value* high, Value* low) {
  Value* small = m.less(high, -125);
  Value* power = unit_exp2(m, m.b.add(high, m.b.select(small, m.number(32), m.number(0))));
  if (low) power = m.b.fma(power, m.b.mul(low, m.number(ln2)), power);
  return m.b.mul(power, m.b.select(small, m.number(0x1p-32), m.number(1)));
}

}  // namespace

Value* approximate_exp2(Arithmetic& m, Value* x) { return exp2_of_sum(m, x, nullptr); }

Value* approximate_exp(Arithmetic& m, Value* x) {
  // min and max pass NaN on. Below -104 the result is 0; at the other end 2^hi stays finite, so that nothing is
  // subtracted from infinity.
  Value* bounded = m.b.max(x, m.number(-104));
  Value* high = m.b.min(m.b.mul(bounded, m.number(log2e_high)), m.number(largest_exponent));
  Value* low = m.fma(bounded, log2e_low, m.fma(bounded, log2e_high, m.neg(high)));
  Value* infinity = m.number(std::numeric_limits<double>::infinity());
  return m.b.select(m.greater(x, largest_argument), infinity, exp2_of_sum(m, high, low));
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
