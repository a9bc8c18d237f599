#include "codegen/ptx/division.h"

#include <bit>

namespace tessera::codegen::ptx {

DivisionByFactor division_by(uint32_t divisor) {
  int bits = 32 - std::countl_zero(divisor - 1);  // 2^(bits - 1) < divisor < 2^bits
  auto factor_of = [&](int shift) { return (uint64_t(1) << (32 + shift)) / divisor + 1; };
  // A factor of 32 bits will do where rounding it up does not show in any quotient: factor * divisor is at most 2^shift
  // above 2^(32 + shift).
  int shift = bits - 1;
  uint64_t factor = factor_of(shift);
  uint64_t excess = factor * divisor - (uint64_t(1) << (32 + shift));
  if (excess <= uint64_t(1) << shift) return {uint32_t(factor), shift, false};
  return {uint32_t(factor_of(bits) - (uint64_t(1) << 32)), bits, true};
}

}  // namespace tessera::codegen::ptx
