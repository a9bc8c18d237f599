#pragma once
// Polynomials and constants of the functions in math.h.

namespace tessera::math {

#include "passes/target/math/coefficients.inc"

}  // namespace tessera::math
