#pragma once
// Divisions by constants as multiplications.

#include <cstdint>

namespace tessera::codegen::ptx {

/// x / d is mulhi(x, factor) >> shift for every x of 32 bits. With `adds` the factor has 33 bits, of which this lacks
/// the highest: with h = mulhi(x, factor), x / d is (((x - h) >> 1) + h) >> (shift - 1).
struct DivisionByFactor {
  uint32_t factor;
  int shift;
  bool adds;
};

/// For divisors from 3 to 2^31 - 1 that are no powers of two. Granlund and Montgomery, "Division by Invariant Integers
/// using Multiplication", 1994, figure 4.1.
DivisionByFactor division_by(uint32_t divisor);

}  // namespace tessera::codegen::ptx
