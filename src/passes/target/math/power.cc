// x^y of f32 as 2^(y log2|x|) in f64, whose 53 bits leave an error of the result far below one half in the last
// place of f32, with the special cases of C's pow. And the remainder of floats.

#include "passes/target/math/math.h"

namespace tessera::math {

using Kind = ElementwiseKind;

Value* pow(Arithmetic& m, Value* x, Value* y) {
  TargetBuilder& b = m.b;
  Value* wide_x = b.cast(m.abs(x), DType::F64);
  Value* wide_y = b.cast(y, DType::F64);
  Arithmetic d(b, wide_x->type());
  Value* result = b.cast(exp2(d, b.mul(wide_y, log2(d, wide_x))), DType::F32);
  result = b.select(m.equal(m.abs(x), 1), m.number(1), result);

  // A negative base: an odd exponent gives a negative power, one that is no integer has none.
  Value* whole = b.op(Kind::Eq, b.op(Kind::Floor, y), y);
  Value* half = b.mul(y, m.number(0.5));
  Value* odd = b.bit_and(whole, b.op(Kind::Ne, b.op(Kind::Floor, half), half));
  Value* minus = b.op(Kind::Lt, m.bits(x), m.integer(0));
  result = b.select(b.bit_and(minus, odd), m.neg(result), result);
  Value* finite_negative = b.bit_and(m.less(x, 0), m.greater(x, -HUGE_VAL));
  result = b.select(b.bit_and(finite_negative, b.op(Kind::Not, whole)), m.number(NAN), result);

  Value* unordered = b.bit_or(b.op(Kind::Ne, x, x), b.op(Kind::Ne, y, y));
  result = b.select(unordered, m.number(NAN), result);
  return b.select(b.bit_or(m.equal(x, 1), m.equal(y, 0)), m.number(1), result);
}

// The remainder by long division in f64: |a| is reduced by |b| 2^(24 k) for k from 11 down, 2^288 being more than
// any quotient of two f32. A quotient of one step has at most 25 bits and is, as a part of itself, at least 2^-48 away
// from the next integer, or is one. So its floor is right where it is a product with the reciprocal, which is off by
// 2^-52, but that an integer may become the one below; what remains is |b| 2^(24 k) then, for the next step to take.
// The difference fits 53 bits, so it is exact.
Value* mod(Arithmetic& m, Value* a, Value* b) {
  TargetBuilder& at = m.b;
  Value* rest = at.cast(m.abs(a), DType::F64);
  Value* by = at.cast(m.abs(b), DType::F64);
  Arithmetic d(at, rest->type());
  Value* reciprocal = at.div(d.number(1), by);
  for (int k = 11; k >= 0; --k) {
    Value* scaled = at.mul(by, d.number(std::ldexp(1.0, 24 * k)));
    Value* scaled_reciprocal = at.mul(reciprocal, d.number(std::ldexp(1.0, -24 * k)));
    Value* quotient = at.op(Kind::Floor, at.mul(rest, scaled_reciprocal));
    rest = at.fma(d.neg(quotient), scaled, rest);
  }
  rest = at.select(at.op(Kind::Ge, rest, by), at.sub(rest, by), rest);
  Value* size = at.cast(rest, DType::F32);
  Value* b_infinite = m.equal(m.abs(b), HUGE_VAL);
  Value* a_finite = m.less(m.abs(a), HUGE_VAL);
  size = at.select(at.bit_and(b_infinite, a_finite), m.abs(a), size);
  Value* r = at.select(m.less(a, 0), m.neg(size), size);
  Value* other_sign = at.bit_xor(m.less(r, 0), m.less(b, 0));
  Value* adjusted = at.select(other_sign, at.add(r, b), r);
  Value* zero = m.with_sign_of(m.number(0), b);
  return at.select(m.equal(size, 0), zero, adjusted);
}

}  // namespace tessera::math
