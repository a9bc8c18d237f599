// Sine and cosine of f32, in f64.
//
// x is reduced to x = (n + t) pi/2 with |t| <= 1/2. Up to 2^28 that is n = round(x 2/pi) and two fused multiply-adds
// with pi/2 in two parts. Beyond, x 2/pi is needed modulo 4 only: 2/pi is cut into pieces of 28 bits, whose products
// with the 24 bits of x are exact in f64, each product is reduced modulo 4 exactly, and the rests are added with
// their rounding errors kept (Payne and Hanek's idea with floating-point numbers).

#include "passes/target/math/coefficients.h"
#include "passes/target/math/math.h"

namespace tessera::math {

using Kind = ElementwiseKind;

namespace {

struct Angle {
  Value* rest;      ///< |rest| <= pi/4 and a little
  Value* quadrant;  ///< n as a number, |n| < 2^31
};

/// a - round(a) and round(a).
std::pair<Value*, Value*> split_nearest(Arithmetic& m, Value* a) {
  Value* whole = m.b.op(Kind::Round, a);
  return {m.b.sub(a, whole), whole};
}

Angle reduce_small(Arithmetic& m, Value* x) {
  Value* n = m.b.op(Kind::Round, m.b.mul(x, m.number(two_over_pi_nearest)));
  Value* rest = m.fma(n, -half_pi_f64_high, x);
  return {m.fma(n, -half_pi_f64_low, rest), n};
}

Angle reduce_large(Arithmetic& m, Value* x) {
  TargetBuilder& b = m.b;
  Value* sum = m.number(0);
  Value* low = m.number(0);
  Value* quadrant = m.number(0);
  for (double piece : two_over_pi) {
    Value* product = b.mul(x, m.number(piece));
    Value* fours = b.op(Kind::Round, b.mul(product, m.number(0.25)));
    Value* rest = m.fma(fours, -4, product);
    Value* next = b.add(sum, rest);
    Value* taken = b.sub(next, sum);
    low = b.add(low, b.add(b.sub(sum, b.sub(next, taken)), b.sub(rest, taken)));
    auto [fraction, whole] = split_nearest(m, next);
    sum = fraction;
    quadrant = b.add(quadrant, whole);
  }
  auto [fraction, whole] = split_nearest(m, b.add(sum, low));
  // fraction = sum + low - whole, once more with what the addition lost.
  Value* lost = b.sub(low, b.sub(b.add(fraction, whole), sum));
  return {b.mul(b.add(fraction, lost), m.number(half_pi_f64_high)), b.add(quadrant, whole)};
}

Value* circular(Arithmetic& single, Value* x, int64_t shift) {
  TargetBuilder& b = single.b;
  Value* wide = b.cast(x, DType::F64);
  Arithmetic m(b, wide->type());
  Angle small = reduce_small(m, wide), large = reduce_large(m, wide);
  Value* is_large = m.greater(m.abs(wide), 0x1p28);
  Value* r = b.select(is_large, large.rest, small.rest);
  Value* n = b.cast(b.select(is_large, large.quadrant, small.quadrant), DType::I32);
  if (shift) n = b.add(n, b.integer(n->type(), shift));

  Value* z = b.mul(r, r);
  Value* sine = b.fma(b.mul(r, z), m.polynomial(z, sin_f64), r);
  Value* cosine = b.fma(b.mul(z, z), m.polynomial(z, cos_f64), m.fma(z, -0.5, m.number(1)));
  Type integers = n->type();
  Value* odd = b.op(Kind::Ne, b.bit_and(n, b.integer(integers, 1)), b.zero(integers));
  Value* lower = b.op(Kind::Ne, b.bit_and(n, b.integer(integers, 2)), b.zero(integers));
  Value* value = b.select(odd, cosine, sine);
  return b.cast(b.select(lower, m.neg(value), value), DType::F32);
}

}  // namespace

Value* sin(Arithmetic& m, Value* x) { return m.b.select(m.equal(x, 0), x, circular(m, x, 0)); }
Value* cos(Arithmetic& m, Value* x) { return circular(m, x, 1); }

}  // namespace tessera::math
