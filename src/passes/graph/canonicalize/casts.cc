// Casts. Where a value is rounded is part of a program's meaning, so a cast is dropped only where
// it is shown to change no bit, and none is added.

#include "passes/graph/canonicalize/patterns.h"

namespace tessera::canonical {

namespace {

using graph::OpKind;

/// True if the type asks for more than its dtype's rounding.
bool rounds_specially(Type type) {
  return type->policies.saturate || type->policies.stochastic_round;
}

/// Digits of the significand with its leading one, and the exponents of the greatest and of the
/// least (denormal) power of two.
struct Range {
  int digits, most, least;
};
Range range(DType dtype) {
  switch (dtype) {
    case DType::F64:
      return {53, 1023, -1074};
    case DType::F32:
      return {24, 127, -149};
    case DType::TF32:
      return {11, 127, -136};
    case DType::BF16:
      return {8, 127, -133};
    case DType::F16:
      return {11, 15, -24};
    case DType::F8E4M3:
      return {4, 8, -9};
    default:
      return {3, 15, -16};
  }
}

/// Bits of an integer dtype without its sign.
int magnitude_bits(DType dtype) {
  if (dtype == DType::Bool) return 1;
  return dtype_info(dtype).bits - (dtype_info(dtype).cls == DTypeClass::Signed ? 1 : 0);
}

/// True if every value of `from` is a value of `to`: then the cast there rounds nothing.
bool holds_all_values(DType from, DType to) {
  if (is_float(from)) {
    if (!is_float(to)) return false;
    // f8e4m3 has no infinity to hold one, and no other float is without.
    if (to == DType::F8E4M3) return from == to;
    Range a = range(from), b = range(to);
    return a.digits <= b.digits && a.most <= b.most && a.least >= b.least;
  }
  if (is_float(to)) return magnitude_bits(from) <= range(to).digits && to != DType::F8E4M3;
  if (to == DType::Bool) return from == DType::Bool;
  bool keeps_sign =
      dtype_info(from).cls != DTypeClass::Signed || dtype_info(to).cls == DTypeClass::Signed;
  return keeps_sign && magnitude_bits(from) <= magnitude_bits(to);
}

/// To the dtype it has.
bool same_dtype(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Cast) return false;
  Type from = op->operand(0)->type(), to = op->result()->type();
  if (from->dtype != to->dtype || rounds_specially(to)) return false;
  return replace_by(op, op->operand(0), rewriter);
}

/// To a dtype that holds every value, and back.
bool there_and_back(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Cast || rounds_specially(op->result()->type())) return false;
  Op* there = def_of(op->operand(0), OpKind::Cast);
  if (!there || rounds_specially(there->result()->type())) return false;
  Value* value = there->operand(0);
  DType from = value->type()->dtype, through = there->result()->type()->dtype;
  if (op->result()->type()->dtype != from || !holds_all_values(from, through)) return false;
  return replace_by(op, value, rewriter);
}

}  // namespace

std::span<const Pattern> cast_patterns() {
  static constexpr Pattern patterns[] = {
      {"same_dtype", same_dtype},
      {"there_and_back", there_and_back},
  };
  return patterns;
}

}  // namespace tessera::canonical
