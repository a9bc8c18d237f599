// Casts: pairs of f32 to 16 bits in one instruction, 16 bits to f32 by moving bits or from a half; the rest lane by
// lane.

#include "codegen/ptx/emitter.h"
#include "support/check.h"

namespace tessera::codegen::ptx {

namespace {

std::string float_type(DType dtype) { return dtype == DType::F64 ? "f64" : "f32"; }

}  // namespace

void Emitter::emit_cast(Op* op) {
  Type from = op->operand(0)->type(), to = op->result()->type();
  const Lanes& a = in(op, 0);
  if (from->dtype == to->dtype) return define(op, a.words);
  if (cast_packed(op)) return;
  bool known = from->dtype == DType::Bool || is_native_float(from->dtype) || is_integer(from->dtype);
  if (!known || to->dtype == DType::Bool || (is_float(to->dtype) && !is_native_float(to->dtype))) not_legal(op);
  std::vector<Operand> lanes;
  for (size_t i = 0; i < lane_count(from); ++i) lanes.push_back(cast_lane(from->dtype, to->dtype, lane(a, i)));
  define(op, pack(to, lanes));
}

/// f32 from and to the packed 16-bit floats.
bool Emitter::cast_packed(Op* op) {
  Type from = op->operand(0)->type(), to = op->result()->type();
  auto half = [](DType dtype) { return dtype == DType::BF16 || dtype == DType::F16; };
  const Lanes& a = in(op, 0);
  size_t count = lane_count(from);
  std::vector<Operand> words;
  if (from->dtype == DType::F32 && half(to->dtype)) {
    std::string_view name = to->dtype == DType::BF16 ? "bf16x2" : "f16x2";
    for (size_t i = 0; i < count; i += 2) {
      Operand low = in_register(a.words[i], WordClass::Single);
      Operand high = i + 1 < count ? in_register(a.words[i + 1], WordClass::Single) : low;
      words.push_back(make(WordClass::Single, "cvt.rn.{1}.f32 {0}, {2}, {3}", name, text(high), text(low)));
    }
  } else if (half(from->dtype) && to->dtype == DType::F32) {
    for (size_t i = 0; i < count; ++i) {
      Operand word_of = in_register(a.words[i / 2], WordClass::Single);
      if (from->dtype == DType::BF16) {
        words.push_back(i % 2 ? make(WordClass::Single, "and.b32 {}, {}, 0xffff0000", text(word_of))
                              : make(WordClass::Single, "shl.b32 {}, {}, 16", text(word_of)));
        continue;
      }
      uint32_t low = word(WordClass::Half), high = word(WordClass::Half);
      add({low, high}, fmt::format("mov.b32 {{{}, {}}}, {}", token(low), token(high), text(word_of)));
      words.push_back(make(WordClass::Single, "cvt.f32.f16 {}, {}", token(i % 2 ? high : low)));
    }
  } else {
    return false;
  }
  define(op, std::move(words));
  return true;
}

Operand Emitter::cast_lane(DType from, DType to, Operand a) {
  WordClass cls = class_of(to);
  if (from == DType::Bool) {
    uint64_t one = is_float(to) ? encode_float(to, 1.0) : 1;
    return select(a, Operand::constant(one), Operand::constant(0), cls);
  }
  a = in_register(a, class_of(from));
  if (is_float(from) && is_float(to)) {
    std::string_view rounding = to == DType::F32 ? "rn." : "";
    return make(cls, "cvt.{1}{2}.{3} {0}, {4}", rounding, float_type(to), float_type(from), text(a));
  }
  if (is_float(from)) return float_to_integer(from, to, a);
  if (is_float(to)) return make(cls, "cvt.rn.{1}.{2} {0}, {3}", float_type(to), integer_type(from), text(a));
  return resize(from, to, a);
}

/// The instruction clamps; its result for NaN depends on the types, and here it is 0.
Operand Emitter::float_to_integer(DType from, DType to, Operand a) {
  WordClass cls = class_of(to);
  Operand result = make(cls, "cvt.rzi.{1}.{2} {0}, {3}", integer_type(to), float_type(from), text(a));
  unsigned bits = dtype_info(to).bits;
  if (bits < 32) {
    int64_t low = is_signed(to) ? -(int64_t(1) << (bits - 1)) : 0;
    int64_t high = (int64_t(1) << (is_signed(to) ? bits - 1 : bits)) - 1;
    if (is_signed(to)) result = make(cls, "max.s32 {}, {}, {}", text(result), low);
    result = make(cls, "min.{1} {0}, {2}, {3}", integer_type(to), text(result), high);
  }
  Operand nan = make(WordClass::Predicate, "setp.nan.{1} {0}, {2}, {2}", float_type(from), text(a));
  return make(cls, "selp.b{1} {0}, 0, {2}, {3}", is_wide(to) ? 64 : 32, text(result), text(nan));
}

Operand Emitter::resize(DType from, DType to, Operand a) {
  bool wide_from = is_wide(from), wide_to = is_wide(to);
  if (wide_from == wide_to) return a;  // packing drops the upper bits
  if (wide_from) return make(WordClass::Single, "cvt.u32.u64 {}, {}", text(a));
  return make(WordClass::Double, "cvt.{1}.{2} {0}, {3}", is_signed(from) ? "s64" : "u64", integer_type(from), text(a));
}

}  // namespace tessera::codegen::ptx
