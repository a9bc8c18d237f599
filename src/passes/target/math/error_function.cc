// The error function: up to 1 an odd polynomial; above, 1 - e^-Q(|x|) with Q fitted to -log(1 - erf). Where erf is
// 1 to the last place, Q's argument is held back.

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

}  // namespace tessera::math
