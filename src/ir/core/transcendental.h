#pragma once
// The elementwise ops that no machine has an instruction for: they are accurate to bounds, not to the last bit, and
// become a dozen instructions or more.

#include "ir/core/elementwise.h"

namespace tessera {

constexpr bool is_transcendental(ElementwiseKind kind) {
  switch (kind) {
    case ElementwiseKind::Exp:
    case ElementwiseKind::Exp2:
    case ElementwiseKind::Expm1:
    case ElementwiseKind::Log:
    case ElementwiseKind::Log2:
    case ElementwiseKind::Log1p:
    case ElementwiseKind::Sin:
    case ElementwiseKind::Cos:
    case ElementwiseKind::Tanh:
    case ElementwiseKind::Sigmoid:
    case ElementwiseKind::Erf:
    case ElementwiseKind::Gelu:
    case ElementwiseKind::Silu:
    case ElementwiseKind::Pow:
      return true;
    default:
      return false;
  }
}

}  // namespace tessera
