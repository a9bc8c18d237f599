// Conversions that the machine has no instruction for, as bit operations.
//
//   bf16     is the upper half of f32: widening is a shift; narrowing adds half a unit, and a bit more where the
//            result would be odd, and keeps NaN a quiet NaN. tf32 likewise, in place.
//   f8       e5m2 is the upper half of f16, but f16 would round twice; both f8 formats are rounded from f32 by
//            adding and subtracting a power of two, which cuts the sum at the wanted place.
//   f64      to a narrow float goes through f32 rounded to odd (Boldo and Melquiond, "When double rounding is
//            odd", 2004): the last bit tells of what was cut, so that the second rounding is as good as the only one.
//   integers of 8 bits, and sums of one with a constant, to a float of 16 bits on a GPU: the byte becomes the fraction
//            of a power of two, which one sum then takes away again. Its unit for conversions takes few lanes a clock.
//   integers of more than 24 bits to a narrow float go through f64; of 64 bits, with the bits below the 53rd
//            gathered in one.
//   bool     any number but zero is true.
//
// What is left: integer to integer, bool to numbers, integers to f32 and f64, f32 and f64 to integers (saturating)
// and to each other, f16 to f32 and back, and bf16 likewise where the machine has it.

#include <cstdlib>

#include "ir/target/ops.h"
#include "passes/pass.h"
#include "passes/target/integer_ops.h"
#include "passes/target/math/math.h"
#include "passes/target/value_ranges.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;

namespace {

bool is_narrow_float(DType dtype) { return is_float(dtype) && !is_native_float(dtype); }
bool is_f8(DType dtype) { return dtype == DType::F8E4M3 || dtype == DType::F8E5M2; }

class CastExpansion {
 public:
  CastExpansion(TargetBuilder& builder, const Machine* machine)
      : b_(builder),
        has_bf16_(machine && machine->has_bf16_conversion),
        adds_halves_(machine && machine->is_gpu()) {}

  /// The cast in other ops; null where the machine has it.
  Value* expand(Value* a, DType to) {
    DType from = a->type()->dtype;
    if (from == to) return a;
    if (to == DType::Bool) return to_bool(a);
    if (is_narrow_float(from)) {
      if (is_native(from) && to == DType::F32) return nullptr;
      if (to == DType::F32) return widen(a);
      return b_.cast(b_.cast(a, DType::F32), to);
    }
    if (!is_narrow_float(to)) return nullptr;
    if (Value* made = from_bytes(a, to)) return made;
    if (from == DType::F32) return is_native(to) ? nullptr : narrow(a, to);
    return b_.cast(to_odd_f32(a), to);
  }

 private:
  /// The machine converts this narrow float from and to f32.
  bool is_native(DType dtype) const { return dtype == DType::F16 || (has_bf16_ && dtype == DType::BF16); }

  Value* to_bool(Value* a) {
    if (is_narrow_float(a->type()->dtype)) a = b_.cast(a, DType::F32);
    return b_.op(Kind::Ne, a, b_.zero(a->type()));
  }

  /// An integer of 8 bits plus a constant.
  struct ByteSum {
    Value* byte;
    int64_t plus = 0;
  };

  static std::optional<ByteSum> byte_sum(Value* a) {
    auto is_byte = [](Value* value) {
      return value->type()->dtype == DType::U8 || value->type()->dtype == DType::I8;
    };
    Op* def = a->def();
    bool adds = def && (def->info().elementwise == Kind::Add || def->info().elementwise == Kind::Sub);
    std::optional<int64_t> by = adds ? constant_lanes(def->operand(1)) : std::nullopt;
    Op* widens = by && std::abs(*by) <= 128 ? def->operand(0)->def() : nullptr;
    if (widens && widens->info().elementwise == Kind::Cast && is_byte(widens->operand(0))) {
      ByteSum sum{widens->operand(0), def->info().elementwise == Kind::Add ? *by : -*by};
      if (!wraps(sum, a->type()->dtype)) return sum;
    }
    return is_byte(a) ? std::optional(ByteSum{a}) : std::nullopt;
  }

  /// Whether the sum is another one in a dtype that may be too narrow for it.
  static bool wraps(const ByteSum& sum, DType dtype) {
    if (dtype_info(dtype).cls != DTypeClass::Signed) return true;
    if (byte_size(dtype) > 1) return false;
    bool is_signed = sum.byte->type()->dtype == DType::I8;
    int64_t most = range_of(sum.byte).most;
    return is_signed || most > 127 || most + sum.plus > 127 || sum.plus < -128;
  }

  /// Each byte with another one behind it, as one number of 16 bits.
  Value* with_upper(Value* bytes, int64_t upper, DType to) {
    bytes = b_.bitcast(bytes, DType::U8);
    int64_t count = bytes->type()->lanes;
    std::vector<int64_t> lanes;
    for (int64_t i = 0; i < count; ++i) lanes.insert(lanes.end(), {i, count});
    return b_.bitcast(b_.shuffle(bytes, integer(bytes, upper), lanes), to);
  }

  /// Null where the numbers are others.
  Value* from_bytes(Value* a, DType to) {
    bool is_half = to == DType::BF16 || to == DType::F16;
    if (!adds_halves_ || !is_half || !is_integer(a->type()->dtype) || !a->type()->is(TypeKind::Reg)) return nullptr;
    std::optional<ByteSum> sum = byte_sum(a);
    if (!sum) return nullptr;
    bool is_signed = sum->byte->type()->dtype == DType::I8;
    auto less = [&](Value* value, int64_t by) { return b_.add(value, b_.number(value->type(), double(-by))); };
    if (to == DType::F16) {  // 0x6400 is 1024
      Value* byte = b_.bitcast(sum->byte, DType::U8);
      if (is_signed) byte = b_.bit_xor(byte, integer(byte, 0x80));
      return less(with_upper(byte, 0x64, to), 1024 + (is_signed ? 128 : 0) - sum->plus);
    }
    if (!is_signed && range_of(sum->byte).most < 0x80) return less(with_upper(sum->byte, 0x43, to), 128 - sum->plus);
    if (!is_signed || sum->plus != 0) return nullptr;
    // Behind 0x43 the lower bits are 128 + n, or 256 + n where n is negative; the sign bit is 128 or 256.
    Value* bits = with_upper(sum->byte, 0x43, DType::U16);
    Value *raised = b_.bit_and(bits, integer(bits, 0xff7f)), *back = b_.bit_and(bits, integer(bits, 0xff80));
    return b_.sub(b_.bitcast(raised, to), b_.bitcast(back, to));
  }

  Value* integer(Value* like, int64_t value) { return b_.integer(like->type(), value); }

  /// bf16, tf32 and f8 to f32.
  Value* widen(Value* a) {
    switch (a->type()->dtype) {
      case DType::BF16: return b_.bitcast(b_.shl(b_.cast(b_.bitcast(a, DType::U16), DType::U32), 16), DType::F32);
      case DType::TF32: {
        Value* bits = b_.bitcast(a, DType::U32);
        return b_.bitcast(b_.bit_and(bits, integer(bits, 0xffffe000)), DType::F32);
      }
      case DType::F8E5M2: {
        Value* wide = b_.shl(b_.cast(b_.bitcast(a, DType::U8), DType::U16), 8);
        return b_.cast(b_.bitcast(wide, DType::F16), DType::F32);
      }
      case DType::F8E4M3: return widen_e4m3(a);
      default: TSR_UNREACHABLE("not a narrow float");
    }
  }

  /// The exponent and mantissa, moved to where f32 has them, are the value but for the bias: a product with a
  /// power of two sets that right, for denormals too. The one special value is NaN, all bits set.
  Value* widen_e4m3(Value* a) {
    Value* bits = b_.cast(b_.bitcast(a, DType::U8), DType::U32);
    Value* size = b_.bit_and(bits, integer(bits, 0x7f));
    Value* moved = b_.bitcast(b_.shl(size, 20), DType::F32);
    Value* value = b_.mul(moved, b_.number(moved->type(), 0x1p120));
    Value* nan = b_.op(Kind::Eq, size, integer(size, 0x7f));
    value = b_.select(nan, b_.number(value->type(), NAN), value);
    Value* sign = b_.shl(b_.bit_and(bits, integer(bits, 0x80)), 24);
    return b_.bitcast(b_.bit_or(b_.bitcast(value, DType::U32), sign), DType::F32);
  }

  Value* narrow(Value* a, DType to) {
    if (is_f8(to)) return narrow_f8(a, to);
    int64_t dropped = to == DType::BF16 ? 16 : 13;
    Value* bits = b_.bitcast(a, DType::U32);
    Value* odd = b_.bit_and(b_.shr(bits, dropped), integer(bits, 1));
    Value* rounded = b_.add(b_.add(bits, odd), integer(bits, (int64_t(1) << (dropped - 1)) - 1));
    Value* quiet = b_.bit_or(bits, integer(bits, 0x400000));
    rounded = b_.select(b_.op(Kind::Ne, a, a), quiet, rounded);
    if (to == DType::BF16) return b_.bitcast(b_.cast(b_.shr(rounded, 16), DType::U16), DType::BF16);
    return b_.bitcast(b_.bit_and(rounded, integer(bits, ~((int64_t(1) << dropped) - 1) & 0xffffffff)), to);
  }

  /// |a| + c - c with c = 2^(23 - mantissa bits) times the power of two of |a|, but no less than that of the smallest
  /// normal number, is |a| rounded to the format; what is left is to move exponent and mantissa.
  Value* narrow_f8(Value* a, DType to) {
    bool e4m3 = to == DType::F8E4M3;
    int mantissa = e4m3 ? 3 : 2;
    double smallest = e4m3 ? 0x1p-6 : 0x1p-14;
    double largest = e4m3 ? 448 : 57344;
    math::Arithmetic m(b_, a->type());
    Value* size = m.abs(a);
    // The exponent field alone is the power of two. A huge |a| would overflow c; it is beyond the format anyway.
    Value* bounded = m.at_least(m.at_most(size, 0x1p20), smallest);
    Value* power = m.from_bits(b_.bit_and(m.bits(bounded), m.integer(0x7f800000)));
    Value* cut = b_.mul(power, m.number(std::ldexp(1.0, 23 - mantissa)));
    Value* rounded = b_.sub(b_.add(m.at_most(size, 0x1p20), cut), cut);
    Value* scaled = b_.mul(rounded, m.number(e4m3 ? 0x1p-120 : 0x1p-112));
    Value* bits = b_.shr(b_.bitcast(scaled, DType::U32), 23 - mantissa);
    Value* special = b_.select(b_.op(Kind::Ne, a, a), integer(bits, e4m3 ? 0x7f : 0x7e),
                               integer(bits, e4m3 ? 0x7f : 0x7c));
    Value* fits = b_.op(Kind::Le, rounded, m.number(largest));
    bits = b_.select(fits, bits, special);
    Value* sign = b_.bit_and(b_.shr(b_.bitcast(a, DType::U32), 24), integer(bits, 0x80));
    return b_.bitcast(b_.cast(b_.bit_or(bits, sign), DType::U8), to);
  }

  /// An f64 or integer as an f32 whose last bit is odd unless the f32 is exact.
  Value* to_odd_f32(Value* a) {
    DType from = a->type()->dtype;
    if (from == DType::I64 || from == DType::U64) a = gathered(a);
    if (from != DType::F64 && byte_size(from) <= 2) return b_.cast(a, DType::F32);
    Value* exact = b_.cast(a, DType::F64);
    Value* near = b_.cast(exact, DType::F32);
    Value* back = b_.cast(near, DType::F64);
    Value* above = b_.op(Kind::Gt, b_.op(Kind::Abs, back), b_.op(Kind::Abs, exact));
    Value* below = b_.op(Kind::Lt, b_.op(Kind::Abs, back), b_.op(Kind::Abs, exact));
    Value* bits = b_.bitcast(near, DType::U32);
    Value* even = b_.op(Kind::Eq, b_.bit_and(bits, integer(bits, 1)), integer(bits, 0));
    Value* down = b_.sub(bits, integer(bits, 1));
    Value* up = b_.add(bits, integer(bits, 1));
    bits = b_.select(b_.bit_and(even, above), down, b_.select(b_.bit_and(even, below), up, bits));
    return b_.bitcast(bits, DType::F32);
  }

  /// A 64-bit integer with at most 53 significant bits, which rounds to narrow floats as the given one does.
  Value* gathered(Value* a) {
    Type type = a->type();
    Value* low = b_.bit_and(a, b_.integer(type, 0xfff));
    Value* sticky = b_.select(b_.op(Kind::Ne, low, b_.zero(type)), b_.integer(type, 0x1000), b_.zero(type));
    Value* cut = b_.bit_or(b_.bit_and(a, b_.integer(type, ~int64_t(0xfff))), sticky);
    Value* limit = b_.integer(type, int64_t(1) << 52);
    Value* wide = b_.op(Kind::Ge, a, limit);
    if (type->dtype == DType::I64) {
      wide = b_.bit_or(wide, b_.op(Kind::Lt, a, b_.integer(type, -(int64_t(1) << 52))));
    }
    return b_.select(wide, cut, a);
  }

  TargetBuilder& b_;
  bool has_bf16_;
  bool adds_halves_;  ///< the machine adds bf16 and f16, two in an instruction
};

/// What nothing reads any more.
void erase_unused(Op* func) {
  std::vector<Op*> ops;
  walk(func, [&](Op* op) {
    if (op->info().elementwise != Kind::None) ops.push_back(op);
  });
  for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
    if ((*it)->result()->unused()) (*it)->erase();
  }
}

}  // namespace

Status legalize_casts(Module& module, PassContext& context) {
  for (Op* func : *module.body()) {
    if (!func->is(target::info(target::OpKind::Func)) || func->region()->empty()) continue;
    TargetBuilder builder(module, func);
    CastExpansion expansion(builder, context.machine);
    for (Block* block = func->region()->front(); block; block = block->next()) {
      for (Op* op = block->front(); op;) {
        Op* before = op->prev();
        Value* value = nullptr;
        if (op->info().elementwise == Kind::Cast) {
          builder.at().set_before(op);
          builder.at().set_loc(op->loc());
          value = expansion.expand(op->operand(0), op->result()->type()->dtype);
        }
        if (!value) {
          op = op->next();
          continue;
        }
        op->result()->replace_all_uses(value);
        op->erase();
        // Casts that were made on the way may have to be expanded in turn.
        op = before ? before->next() : block->front();
      }
    }
    if (context.machine && context.machine->is_gpu()) erase_unused(func);
  }
  return success;
}

}  // namespace tessera
