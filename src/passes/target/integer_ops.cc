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

Value* IntegerOps::divide(Value* a, Value* b) { return division(Rounding::Zero, a, b).quotient; }

Value* IntegerOps::floor_divide(Value* a, Value* b) {
  std::optional<int64_t> known = constant_lanes(b);
  if (known && *known > 0 && std::has_single_bit(uint64_t(*known))) {
    return safely(Kind::Shr, a, b_.integer(a->type(), std::countr_zero(uint64_t(*known))));
  }
  return division(Rounding::Down, a, b).quotient;
}

Value* IntegerOps::modulo(Value* a, Value* b) {
  std::optional<int64_t> known = constant_lanes(b);
  if (known && *known > 0 && std::has_single_bit(uint64_t(*known))) {
    return b_.bit_and(a, b_.integer(a->type(), *known - 1));
  }
  return division(Rounding::Down, a, b).remainder;
}

IntegerOps::Division IntegerOps::division(Rounding rounding, Value* a, Value* b) {
  if (range_of(a).least >= 0 && range_of(b).least >= 0) rounding = Rounding::Zero;
  auto known = made_.find({b_.at().block(), rounding, a, b});
  if (known != made_.end()) return known->second;
  Division made = divided(rounding, a, b);
  made_[{b_.at().block(), rounding, a, b}] = made;
  return made;
}

/// A GPU has no instruction for numbers of 64 bits: its assembler calls a function of a hundred.
IntegerOps::Division IntegerOps::divided(Rounding rounding, Value* a, Value* b) {
  if (!machine_.is_gpu() || a->type()->dtype != DType::I64) return divided_long(rounding, a, b);
  if (fits_u32(a) && fits_u32(b)) return divided_short(a, b);
  std::optional<int64_t> known = constant_lanes(b);
  bool rounds_down = rounding == Rounding::Down || range_of(a).least >= 0;
  if (rounds_down && known && *known > 0 && *known < 1 << 16) return floor_by_digits(a, *known);
  return chosen_when_run(rounding, a, b);
}

/// Of numbers that have 32 bits, as indices of programs have.
IntegerOps::Division IntegerOps::divided_short(Value* a, Value* b) {
  Type type = b_.like(a->type(), DType::U32);
  auto shortened = [&](Value* value) {
    std::optional<int64_t> known = constant_lanes(value);
    return known ? b_.integer(type, *known) : b_.cast(value, DType::U32);
  };
  auto [quotient, remainder] = divided_long(Rounding::Zero, shortened(a), shortened(b));
  return {b_.cast(quotient, DType::I64), b_.cast(remainder, DType::I64)};
}

IntegerOps::Division IntegerOps::divided_long(Rounding rounding, Value* a, Value* b) {
  Type type = a->type();
  ValueRange range = range_of(b);
  Value *zero = b_.zero(type), *one = b_.integer(type, 1);
  Value* by_zero = range.least <= 0 && range.most >= 0 ? b_.op(Kind::Eq, b, zero) : nullptr;
  Value* by_minus_one = nullptr;
  if (is_signed(a) && range.least < 0 && range.most >= -1) by_minus_one = b_.op(Kind::Eq, b, b_.integer(type, -1));
  Value* divisor = b;
  for (Value* unsafe : {by_zero, by_minus_one}) {
    if (unsafe) divisor = b_.select(unsafe, one, divisor);
  }
  Value* quotient = safely(Kind::Div, a, divisor);
  Value* remainder = b_.sub(a, b_.mul(quotient, divisor));
  if (by_minus_one) quotient = b_.select(by_minus_one, b_.op(Kind::Neg, a), quotient);
  if (by_zero) quotient = b_.select(by_zero, zero, quotient);
  if (rounding == Rounding::Zero || !is_signed(a)) return {quotient, remainder};
  // What remains and has not the sign of the divisor lies above the floor.
  Value* lower = b_.bit_and(b_.op(Kind::Ne, remainder, zero), b_.op(Kind::Lt, b_.bit_xor(remainder, b), zero));
  return {b_.select(lower, b_.sub(quotient, one), quotient), b_.select(lower, b_.add(remainder, b), remainder)};
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

/// All lanes of both combined.
Value* IntegerOps::any_lane(Kind combine, Value* a, Value* b) {
  Value* all = nullptr;
  for (Value* value : {a, b}) {
    bool is_register = value->type()->is(TypeKind::Reg);
    for (int64_t i = 0; i < (is_register ? value->type()->lanes : 1); ++i) {
      Value* lane = is_register ? b_.extract(value, i) : value;
      all = all ? b_.op(combine, all, lane) : lane;
    }
  }
  return all;
}

/// Of numbers whose sizes nobody knows, and which have 32 bits nearly always (LLVM's BypassSlowDivision does the same).
IntegerOps::Division IntegerOps::chosen_when_run(Rounding rounding, Value* a, Value* b) {
  Value* high = b_.shr(any_lane(Kind::Or, a, b), 32);
  Value* are_short = b_.op(Kind::Eq, high, b_.zero(high->type()));
  auto results = b_.choose(
      are_short,
      [&] {
        Division made = divided_short(a, b);
        return std::vector{made.quotient, made.remainder};
      },
      [&] {
        Division made = divided_long(rounding, a, b);
        return std::vector{made.quotient, made.remainder};
      });
  return {results[0], results[1]};
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
