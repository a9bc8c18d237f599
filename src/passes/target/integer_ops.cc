#include "passes/target/integer_ops.h"

#include <bit>

#include "ir/target/ops.h"
#include "passes/target/value_ranges.h"

namespace tessera {

using Kind = ElementwiseKind;

namespace {

bool is_signed(Value* a) { return dtype_info(a->type()->dtype).cls == DTypeClass::Signed; }
int64_t width(Value* a) { return dtype_info(a->type()->dtype).bits; }

DType unsigned_of(DType dtype) {
  switch (dtype) {
    case DType::I64: return DType::U64;
    case DType::I32: return DType::U32;
    case DType::I16: return DType::U16;
    case DType::I8: return DType::U8;
    default: return dtype;
  }
}

}  // namespace

std::optional<int64_t> constant_lanes(Value* value) {
  Op* def = value->def();
  if (!def || !def->is(target::info(target::OpKind::Constant)) || is_float(value->type()->dtype)) return {};
  return def->attr(target::attr::Constant::value)->integer;
}

Value* IntegerOps::safely(Kind kind, Value* a, Value* b) {
  Value* result = b_.op(kind, a, b);
  if (result->def()) safe_.push_back(result->def());
  return result;
}

Value* IntegerOps::sign(Value* a) {
  Value* zero = b_.zero(a->type());
  Value* one = b_.integer(a->type(), 1);
  Value* positive = b_.select(b_.op(Kind::Ne, a, zero), one, zero);
  return is_signed(a) ? b_.select(b_.op(Kind::Lt, a, zero), b_.integer(a->type(), -1), positive) : positive;
}

Value* IntegerOps::relu(Value* a) { return is_signed(a) ? b_.max(a, b_.zero(a->type())) : a; }

IntegerOps::Division IntegerOps::division(Value* a, Value* b) {
  Type type = a->type();
  Value* divisor = b;
  std::optional<int64_t> known = constant_lanes(b);
  bool harmless = known && *known != 0 && *known != -1;
  if (!harmless) {
    Value* unsafe = b_.op(Kind::Eq, b, b_.zero(type));
    if (is_signed(a)) unsafe = b_.bit_or(unsafe, b_.op(Kind::Eq, b, b_.integer(type, -1)));
    divisor = b_.select(unsafe, b_.integer(type, 1), b);
  }
  Value* quotient = safely(Kind::Div, a, divisor);
  return {quotient, b_.sub(a, b_.mul(quotient, divisor))};
}

/// Whether the division is of 64 bits, for which a GPU's assembler calls a function of a hundred instructions, and of
/// numbers that have 32. Indices of programs are.
bool IntegerOps::divides_short(Value* a, Value* b) const {
  return machine_.is_gpu() && a->type()->dtype == DType::I64 && fits_u32(a) && fits_u32(b);
}

Value* IntegerOps::shortened(Value* a) {
  Type type = b_.like(a->type(), DType::U32);
  std::optional<int64_t> known = constant_lanes(a);
  return known ? b_.integer(type, *known) : b_.cast(a, DType::U32);
}

Value* IntegerOps::divide(Value* a, Value* b) {
  if (divides_short(a, b)) return b_.cast(divide(shortened(a), shortened(b)), DType::I64);
  Value* quotient = division(a, b).quotient;
  std::optional<int64_t> known = constant_lanes(b);
  if (known && *known != 0 && *known != -1) return quotient;
  Type type = a->type();
  if (is_signed(a)) {
    Value* minus_one = b_.op(Kind::Eq, b, b_.integer(type, -1));
    quotient = b_.select(minus_one, b_.op(Kind::Neg, a), quotient);
  }
  return b_.select(b_.op(Kind::Eq, b, b_.zero(type)), b_.zero(type), quotient);
}

/// The remainder is not 0 and has not the sign of the divisor.
Value* IntegerOps::signs_differ(Value* remainder, Value* b) {
  Value* zero = b_.zero(b->type());
  Value* differ = b_.op(Kind::Lt, b_.bit_xor(remainder, b), zero);
  return b_.bit_and(b_.op(Kind::Ne, remainder, zero), differ);
}

/// Whether the division is of 64 bits by a small positive number, for which a GPU has no instruction, and its assembler
/// a call of a hundred.
bool IntegerOps::divides_by_digits(Value* a, Value* b) const {
  std::optional<int64_t> known = constant_lanes(b);
  return machine_.is_gpu() && a->type()->dtype == DType::I64 && known && *known > 0 && *known < 1 << 16;
}

/// Long division in digits of 16 bits, each step of which is one of 32 bits by a constant. Of a negative number that of
/// its complement: floor(a / c) is ~(~a / c).
IntegerOps::Division IntegerOps::floor_by_digits(Value* a, int64_t divisor) {
  Value* sign = b_.shr(a, 63);
  Value* positive = b_.bit_xor(a, sign);
  auto part = [&](int64_t from) { return b_.cast(from ? b_.shr(positive, from) : positive, DType::U32); };
  auto digit = [&](Value* rest, Value* low) { return b_.bit_or(b_.shl(rest, 16), low); };
  Value* high = part(32);
  Value* low = part(0);
  Value* by = b_.integer(high->type(), divisor);
  Value *quotient = nullptr, *rest = nullptr;
  for (Value* next : {high, b_.shr(low, 16), b_.bit_and(low, b_.integer(low->type(), 0xffff))}) {
    Value* dividend = rest ? digit(rest, next) : next;
    Value* step = safely(Kind::Div, dividend, by);
    rest = b_.sub(dividend, b_.mul(step, by));
    Value* wide = b_.cast(step, DType::I64);
    quotient = quotient ? b_.bit_or(b_.shl(quotient, 16), wide) : wide;
  }
  Value* remainder = b_.cast(rest, DType::I64);
  Value* from_above = b_.sub(b_.integer(a->type(), divisor - 1), remainder);
  Value* negative = b_.op(Kind::Lt, a, b_.zero(a->type()));
  return {b_.bit_xor(quotient, sign), b_.select(negative, from_above, remainder)};
}

Value* IntegerOps::floor_divide(Value* a, Value* b) {
  std::optional<int64_t> known = constant_lanes(b);
  if (known && *known > 0 && std::has_single_bit(uint64_t(*known))) {
    return safely(Kind::Shr, a, b_.integer(a->type(), std::countr_zero(uint64_t(*known))));
  }
  if (divides_short(a, b)) return divide(a, b);
  if (divides_by_digits(a, b)) return floor_by_digits(a, *known).quotient;
  Value* quotient = divide(a, b);
  if (!is_signed(a)) return quotient;
  Value* lower = signs_differ(division(a, b).remainder, b);
  return b_.select(lower, b_.sub(quotient, b_.integer(a->type(), 1)), quotient);
}

Value* IntegerOps::modulo(Value* a, Value* b) {
  std::optional<int64_t> known = constant_lanes(b);
  if (known && *known > 0 && std::has_single_bit(uint64_t(*known))) {
    return b_.bit_and(a, b_.integer(a->type(), *known - 1));
  }
  if (divides_short(a, b)) return b_.cast(modulo(shortened(a), shortened(b)), DType::I64);
  if (divides_by_digits(a, b)) return floor_by_digits(a, *known).remainder;
  Value* remainder = division(a, b).remainder;
  if (!is_signed(a) && known && *known != 0) return remainder;
  if (!is_signed(a)) return b_.select(b_.op(Kind::Eq, b, b_.zero(b->type())), b_.zero(a->type()), remainder);
  return b_.select(signs_differ(remainder, b), b_.add(remainder, b), remainder);
}

Value* IntegerOps::in_range(Value* amount) {
  Value* bits = b_.bitcast(amount, unsigned_of(amount->type()->dtype));
  return b_.op(Kind::Lt, bits, b_.integer(bits->type(), width(amount)));
}

Value* IntegerOps::shift_left(Value* a, Value* amount) {
  Value* zero = b_.zero(a->type());
  Value* inside = in_range(amount);
  return b_.select(inside, safely(Kind::Shl, a, b_.select(inside, amount, zero)), zero);
}

Value* IntegerOps::shift_right(Value* a, Value* amount) {
  Value* inside = in_range(amount);
  if (is_signed(a)) {
    // What is shifted out wholly leaves copies of the sign, as the longest shift does.
    return safely(Kind::Shr, a, b_.select(inside, amount, b_.integer(a->type(), width(a) - 1)));
  }
  Value* zero = b_.zero(a->type());
  return b_.select(inside, safely(Kind::Shr, a, b_.select(inside, amount, zero)), zero);
}

}  // namespace tessera
