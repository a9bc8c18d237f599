#include "passes/target/value_ranges.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "ir/numbers/elementwise.h"
#include "ir/target/ops.h"
#include "passes/target/integer_ops.h"

namespace tessera {

using Kind = ElementwiseKind;
using target::OpKind;

namespace {

constexpr int64_t least_i64 = std::numeric_limits<int64_t>::min(), most_i64 = std::numeric_limits<int64_t>::max();
constexpr ValueRange anything = {least_i64, most_i64};

ValueRange range_of_dtype(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  if (info.cls == DTypeClass::Bool) return {0, 1};
  if (info.bits == 64) return anything;
  int64_t values = int64_t(1) << info.bits;
  return info.cls == DTypeClass::Signed ? ValueRange{-values / 2, values / 2 - 1} : ValueRange{0, values - 1};
}

/// Ranges are followed through so many ops: indices of programs and elements are a few ops away from sizes.
constexpr int deepest = 8;

class Ranges {
 public:
  static ValueRange of(Value* value, int depth) {
    ValueRange whole = range_of_dtype(value->type()->dtype);
    if (std::optional<int64_t> known = constant_lanes(value)) return {*known, *known};
    Op* def = value->def();
    // Half of the numbers of u64 are none of i64.
    if (!def || depth == deepest || value->type()->dtype == DType::U64) return whole;
    if (def->is(target::info(OpKind::CtaId)) || def->is(target::info(OpKind::CtaCount))) {
      return {0, std::numeric_limits<int32_t>::max()};
    }
    if (def->is(target::info(OpKind::ThreadId))) return {0, 1023};
    if (def->is(target::info(OpKind::ShuffleIndex))) return of(def->operand(0), depth);
    ValueRange range = of_elementwise(def, depth + 1);
    // What leaves the dtype wraps.
    return range.is_within(whole.least, whole.most) ? range : whole;
  }

 private:
  static ValueRange of_elementwise(Op* op, int depth) {
    auto operand = [&](unsigned i) { return of(op->operand(i), depth); };
    switch (op->info().elementwise) {
      case Kind::Cast: return is_float(op->operand(0)->type()->dtype) ? anything : operand(0);
      case Kind::Add: return sum(operand(0), operand(1));
      case Kind::Sub: return difference(operand(0), operand(1));
      case Kind::Mul: return product(operand(0), operand(1));
      case Kind::Div:
      case Kind::FloorDiv: return quotient(operand(0), operand(1));
      case Kind::Mod: return remainder(operand(1));
      case Kind::Shr: return shifted(operand(0), operand(1));
      case Kind::And: return common_bits(operand(0), operand(1));
      case Kind::Or:
      case Kind::Xor: return joined_bits(operand(0), operand(1));
      case Kind::Min: return combined(operand(0), operand(1), [](int64_t a, int64_t b) { return std::min(a, b); });
      case Kind::Max: return combined(operand(0), operand(1), [](int64_t a, int64_t b) { return std::max(a, b); });
      case Kind::Select: return either(operand(1), operand(2));
      default: return anything;
    }
  }

  static ValueRange sum(ValueRange a, ValueRange b) {
    ValueRange range{};
    bool overflows = __builtin_add_overflow(a.least, b.least, &range.least) ||
                     __builtin_add_overflow(a.most, b.most, &range.most);
    return overflows ? anything : range;
  }

  static ValueRange difference(ValueRange a, ValueRange b) {
    ValueRange range{};
    bool overflows = __builtin_sub_overflow(a.least, b.most, &range.least) ||
                     __builtin_sub_overflow(a.most, b.least, &range.most);
    return overflows ? anything : range;
  }

  static ValueRange product(ValueRange a, ValueRange b) {
    int64_t corners[4];
    if (__builtin_mul_overflow(a.least, b.least, &corners[0]) || __builtin_mul_overflow(a.least, b.most, &corners[1]) ||
        __builtin_mul_overflow(a.most, b.least, &corners[2]) || __builtin_mul_overflow(a.most, b.most, &corners[3])) {
      return anything;
    }
    auto [least, most] = std::ranges::minmax(corners);
    return {least, most};
  }

  /// Of numbers that are not negative; a divisor of 0 gives 0.
  static ValueRange quotient(ValueRange a, ValueRange b) {
    if (a.least < 0 || b.least < 0) return anything;
    bool by_nothing = b.least == 0;
    return {by_nothing ? 0 : a.least / std::max<int64_t>(b.most, 1), a.most / std::max<int64_t>(b.least, 1)};
  }

  /// The remainder has the divisor's sign.
  static ValueRange remainder(ValueRange by) {
    return by.least < 0 ? anything : ValueRange{0, std::max<int64_t>(by.most - 1, 0)};
  }

  static ValueRange shifted(ValueRange a, ValueRange amount) {
    bool known = amount.least == amount.most && amount.is_within(0, 63);
    return known ? ValueRange{a.least >> amount.least, a.most >> amount.least} : anything;
  }

  static ValueRange common_bits(ValueRange a, ValueRange b) {
    if (a.least >= 0 && b.least >= 0) return {0, std::min(a.most, b.most)};
    if (a.least >= 0) return {0, a.most};
    return b.least >= 0 ? ValueRange{0, b.most} : anything;
  }

  /// Of numbers that are not negative: no bit is set above the highest of either.
  static ValueRange joined_bits(ValueRange a, ValueRange b) {
    if (a.least < 0 || b.least < 0) return anything;
    int bits = std::bit_width(uint64_t(std::max(a.most, b.most)));
    return {0, bits == 63 ? most_i64 : (int64_t(1) << bits) - 1};
  }

  static ValueRange combined(ValueRange a, ValueRange b, int64_t (*choose)(int64_t, int64_t)) {
    return {choose(a.least, b.least), choose(a.most, b.most)};
  }

  static ValueRange either(ValueRange a, ValueRange b) {
    return {std::min(a.least, b.least), std::max(a.most, b.most)};
  }
};

}  // namespace

ValueRange range_of(Value* value) { return Ranges::of(value, 0); }

bool fits_u32(Value* value) {
  return range_of(value).is_within(0, std::numeric_limits<uint32_t>::max());
}

}  // namespace tessera
