#pragma once
// The elementwise ops that no machine has an instruction for: they are accurate to bounds, not to the last bit, and
// become a dozen instructions or more.

#include "ir/numbers/elementwise.h"

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

/// About how many instructions an element of that dtype takes on a machine that has none for the op. What f64 computes
/// counts for more than its instructions: each of its constants is in registers.
constexpr unsigned element_cost(ElementwiseKind kind, DType dtype) {
  constexpr unsigned of_functions = 16, of_f64 = 96, in_f64 = 128, wide_division = 64;
  switch (kind) {
    case ElementwiseKind::Mod:
      if (is_float(dtype)) return in_f64;
      [[fallthrough]];
    case ElementwiseKind::Div:
    case ElementwiseKind::FloorDiv:
      return is_float(dtype) ? 1 : byte_size(dtype) == 8 ? wide_division : of_functions;
    case ElementwiseKind::Sin:
    case ElementwiseKind::Cos:
    case ElementwiseKind::Pow: return in_f64;
    default: return !is_transcendental(kind) ? 1 : dtype == DType::F64 ? of_f64 : of_functions;
  }
}

}  // namespace tessera
