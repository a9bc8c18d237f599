#include "passes/target/math/math.h"

namespace tessera::math {

Value* Arithmetic::polynomial(Value* x, std::span<const double> coefficients) {
  Value* sum = number(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = b.fma(sum, x, number(coefficients[i]));
  return sum;
}

Value* Arithmetic::with_sign_of(Value* magnitude, Value* sign) {
  int64_t top = is_double() ? INT64_MIN : INT32_MIN;
  Value* sign_bit = b.bit_and(bits(sign), integer(top));
  Value* rest = b.bit_and(bits(magnitude), integer(~top));
  return from_bits(b.bit_or(sign_bit, rest));
}

Value* Arithmetic::power_of_two(Value* n) { return from_bits(b.shl(b.add(n, integer(bias())), mantissa_bits())); }

Value* Arithmetic::power_of_whole(Value* n) {
  return from_bits(b.shl(bits(b.add(n, number(magic() + bias()))), mantissa_bits()));
}

Value* Arithmetic::scale(Value* a, Value* n) {
  // By two halves: the first product is exact unless the result overflows anyway, the second rounds.
  Value* half = b.shr(n, 1);
  return b.mul(b.mul(a, power_of_two(half)), power_of_two(b.sub(n, half)));
}

}  // namespace tessera::math
