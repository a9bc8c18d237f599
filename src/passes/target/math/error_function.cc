// The error function and its inverse.
//
// erf: up to 1 an odd polynomial; above, 1 - e^-Q(|x|) with Q fitted to -log(1 - erf). Where erf is
// 1 to the last place, Q's argument is held back.
//
// erfinv: x times a polynomial in w = -log(1 - x^2), further out in sqrt(w), which is nearly linear there: the form of
// M. Giles (Approximating the erfinv function, GPU Computing Gems, 2011). (1 - x)(1 + x) has no cancellation.

#include "passes/target/math/coefficients.h"
#include "passes/target/math/math.h"

namespace tessera::math {

Value* erf(Arithmetic& m, Value* x) {
  TargetBuilder& b = m.b;
  bool d = m.is_double();
  Value* size = m.abs(x);
  Value* square = b.mul(x, x);
  Value* p = d ? m.polynomial(square, erf_small_f64) : m.polynomial(square, erf_small_f32);
  Value* small = b.fma(size, p, size);

  Value* bounded = m.at_most(m.at_least(size, 1), d ? 6 : 4);
  Value* t = b.sub(bounded, m.number(2));
  Value* q = d ? m.polynomial(t, erf_large_f64) : m.polynomial(t, erf_large_f32);
  Exponential e = reduce_exponential(m, m.neg(q));
  Value* rest = b.mul(b.add(m.number(1), e.expm1), m.power_of_two(e.n));
  Value* large = b.sub(m.number(1), rest);
  return m.with_sign_of(b.select(m.greater(size, 1), large, small), x);
}

Value* erfinv(Arithmetic& m, Value* x) {
  TargetBuilder& b = m.b;
  bool d = m.is_double();
  Value* w = m.neg(log(m, b.mul(b.sub(m.number(1), x), b.add(m.number(1), x))));
  // At 1 it is infinite; below 1 it is at most 36.04, or 15.95 of f32.
  Value* bounded = m.at_most(w, d ? 37 : 16.4);
  Value* root = b.op(ElementwiseKind::Sqrt, bounded);
  auto tail = [&](double center, std::span<const double> coefficients) {
    return m.polynomial(b.sub(root, m.number(center)), coefficients);
  };
  Value* ratio;
  if (d) {
    Value* far = b.select(m.greater(root, 4), tail(5.0625, erfinv_tail1_f64), tail(3.25, erfinv_tail0_f64));
    ratio = b.select(m.greater(bounded, 6.25), far, m.polynomial(bounded, erfinv_f64));
  } else {
    ratio = b.select(m.greater(bounded, 4), tail(3, erfinv_tail0_f32), m.polynomial(bounded, erfinv_f32));
  }
  return b.mul(x, b.select(m.equal(w, INFINITY), m.number(INFINITY), ratio));
}

}  // namespace tessera::math
