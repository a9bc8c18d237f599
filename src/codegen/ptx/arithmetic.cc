// Elementwise ops, lane by lane. Integers narrower than 32 bits are computed in 32 bits, extended by their sign, and
// cut when they are packed: that is exact for every op here. Bits of narrow lanes are combined word by word, and sums
// of 16-bit floats two by two. Nothing is flushed to zero, nothing is contracted.

#include <algorithm>
#include <bit>
#include <utility>

#include "codegen/ptx/division.h"
#include "codegen/ptx/emitter.h"
#include "support/check.h"

namespace tessera::codegen::ptx {

using Kind = ElementwiseKind;

namespace {

bool is_constant(Value* value) { return value->def() && value->def()->is(target::info(target::OpKind::Constant)); }

/// The op that alone reads the bits that an op keeps of narrow integers, or moves, and combines them with a number: it
/// does both by one instruction. Null for other ops.
Op* combines_kept(Op* op) {
  Kind kind = op->info().elementwise;
  bool keeps = kind == Kind::And || (kind == Kind::Shr && !is_signed(op->result()->type()->dtype));
  if (!keeps || !is_constant(op->operand(1))) return nullptr;
  Use* use = op->result()->first_use();
  if (!use || use->next() || use->index() != 0 || use->owner()->block() != op->block()) return nullptr;
  Kind with = use->owner()->info().elementwise;
  bool combines = with == Kind::Or || with == Kind::Xor;
  return combines && is_constant(use->owner()->operand(1)) ? use->owner() : nullptr;
}

/// The bits of a word that a shift by so many of each lane leaves.
uint64_t kept_by_shift(unsigned lane_bits, uint64_t by) {
  uint64_t kept = by < lane_bits ? ((uint64_t(1) << lane_bits) - 1) >> by : 0;
  for (unsigned i = lane_bits; i < 32; i *= 2) kept |= kept << i;
  return kept;
}

std::string_view comparison(Kind kind) {
  constexpr std::string_view names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  return names[size_t(kind) - size_t(Kind::Eq)];
}

}  // namespace

/// Of an unsigned number of 32 bits. The assembler divides by constants as by any number, which takes 15 instructions.
Operand Emitter::divide_by_constant(const Operand& a, uint32_t divisor) {
  std::string x = text(a);
  auto word = [&](std::string_view name, const std::string& left, uint64_t right) {
    return make(WordClass::Single, "{1} {0}, {2}, {3}", name, left, right);
  };
  if (divisor == 1) return a;
  if (std::has_single_bit(divisor)) return word("shr.u32", x, uint64_t(std::countr_zero(divisor)));
  DivisionByFactor by = division_by(divisor);
  Operand high = word("mul.hi.u32", x, by.factor);
  if (!by.adds) return word("shr.u32", text(high), uint64_t(by.shift));
  // (x + high) >> shift would need 33 bits.
  Operand half = word("shr.u32", text(make(WordClass::Single, "sub.u32 {}, {}, {}", x, text(high))), 1);
  Operand sum = make(WordClass::Single, "add.u32 {}, {}, {}", text(half), text(high));
  return word("shr.u32", text(sum), uint64_t(by.shift - 1));
}

void Emitter::emit_elementwise(Op* op) {
  ElementwiseClass cls = elementwise_info(op->info().elementwise).cls;
  if (cls == ElementwiseClass::Convert) return emit_cast(op);
  if (cls == ElementwiseClass::Choose) return emit_select(op);
  if (emit_by_words(op)) return;
  Type data = op->operand(0)->type();
  DType dtype = data->dtype;
  std::vector<Operand> results;
  for (size_t i = 0; i < lane_count(data); ++i) {
    std::vector<Operand> a;
    bool all_constant = true;
    for (unsigned n = 0; n < op->operand_count(); ++n) {
      a.push_back(lane(in(op, n), i));
      all_constant = all_constant && !a.back().is_word();
    }
    // An instruction reads at least one register.
    if (all_constant) a[0] = in_register(a[0], class_of(dtype));
    if (dtype == DType::Bool) {
      results.push_back(bool_lane(op, a));
    } else if (cls == ElementwiseClass::Compare) {
      results.push_back(compare_lane(op, dtype, a));
    } else {
      results.push_back(is_float(dtype) ? float_lane(op, dtype, a) : integer_lane(op, dtype, a));
    }
  }
  define(op, pack(op->result()->type(), results));
}

/// All lanes of a word at once; false where that needs an instruction for each.
bool Emitter::emit_by_words(Op* op) {
  DType dtype = op->operand(0)->type()->dtype;
  if (lanes_per_word(dtype) == 1 || op->operand_count() != 2) return false;
  Kind kind = op->info().elementwise;
  const Lanes &a = in(op, 0), &b = in(op, 1);
  auto is_known = [](const Operand& each) { return each.is_word() || each.is_constant(); };
  bool is_whole = a.words.size() == b.words.size() && std::ranges::all_of(a.words, is_known) &&
                  std::ranges::all_of(b.words, is_known);
  bool adds = (dtype == DType::BF16 || dtype == DType::F16) && (kind == Kind::Add || kind == Kind::Sub);
  bool combines = is_integer(dtype) && (kind == Kind::And || kind == Kind::Or || kind == Kind::Xor);
  bool is_one = std::ranges::all_of(b.words, [&](Operand each) { return each.is_constant() && each == b.words[0]; });
  bool shifts = kind == Kind::Shr && is_integer(dtype) && !is_signed(dtype) && is_one;
  if (!is_whole || !(adds || combines || shifts)) return false;
  std::vector<Operand> words;
  for (size_t i = 0; i < a.words.size(); ++i) words.push_back(word_of_lanes(op, dtype, i));
  define(op, std::move(words));
  return true;
}

Operand Emitter::word_of_lanes(Op* op, DType dtype, size_t word) {
  Operand a = in(op, 0).words[word], b = in(op, 1).words[word];
  Kind kind = op->info().elementwise;
  if (is_float(dtype)) {
    // a * 1 + b, or b * -1 + a.
    bool brain = dtype == DType::BF16, subtracts = kind == Kind::Sub;
    uint64_t one = brain ? 0x3f803f80 : 0x3c003c00, minus = subtracts ? 0x80008000 : 0;
    if (subtracts) std::swap(a, b);
    Operand factor = in_register(Operand::constant(one | minus), WordClass::Single);
    a = in_register(a, WordClass::Single);
    b = in_register(b, WordClass::Single);
    return make(WordClass::Single, "fma.rn.{1} {0}, {2}, {3}, {4}", brain ? "bf16x2" : "f16x2", text(a), text(factor),
                text(b));
  }
  a = in_register(a, WordClass::Single);
  unsigned bits = 32 / lanes_per_word(dtype);
  auto lane_of = [&](const Operand& each) { return each.bits & ((uint64_t(1) << bits) - 1); };
  Op* kept_by = op->operand(0)->def();
  if (kept_by && combines_kept(kept_by) == op) {
    Operand mask = in(kept_by, 1).words[word];
    bool shifts = kept_by->info().elementwise == Kind::Shr;
    if (shifts) mask = Operand::constant(kept_by_shift(bits, lane_of(mask)));
    std::string_view table = kind == Kind::Or ? "0xea" : "0x6a";  // (a & mask) | b, (a & mask) ^ b
    return make(WordClass::Single, "lop3.b32 {}, {}, {}, {}, {}", text(a), text(mask), text(b), table);
  }
  bool is_kept_later = combines_kept(op);
  if (kind == Kind::And && is_kept_later) return a;
  if (kind != Kind::Shr) {
    std::string_view name = kind == Kind::And ? "and" : kind == Kind::Or ? "or" : "xor";
    return make(WordClass::Single, "{1}.b32 {0}, {2}, {3}", name, text(a), text(b));
  }
  // What comes from the lane above is cut.
  Operand moved = make(WordClass::Single, "shr.u32 {}, {}, {}", text(a), lane_of(b));
  if (is_kept_later) return moved;
  Operand kept = Operand::constant(kept_by_shift(bits, lane_of(b)));
  return make(WordClass::Single, "and.b32 {}, {}, {}", text(moved), text(kept));
}

Operand Emitter::float_lane(Op* op, DType dtype, std::span<const Operand> a) {
  bool wide = dtype == DType::F64;
  if (!wide && dtype != DType::F32) not_legal(op);
  Form form = wide ? Form::F64 : Form::F32;
  WordClass cls = class_of(dtype);
  std::string type = wide ? "f64" : "f32";
  auto unary = [&](std::string_view name) { return make(cls, "{1}.{2} {0}, {3}", name, type, text(a[0], form)); };
  auto rounded = [&](std::string_view mode) {
    return make(cls, "cvt.{1}.{2}.{2} {0}, {3}", mode, type, text(a[0], form));
  };
  auto binary = [&](std::string_view name) {
    return make(cls, "{1}.{2} {0}, {3}, {4}", name, type, text(a[0], form), text(a[1], form));
  };
  switch (op->info().elementwise) {
    case Kind::Neg: return unary("neg");
    case Kind::Abs: return unary("abs");
    case Kind::Sqrt: return unary("sqrt.rn");
    case Kind::Floor: return rounded("rmi");
    case Kind::Ceil: return rounded("rpi");
    case Kind::Round: return rounded("rni");
    case Kind::Trunc: return rounded("rzi");
    case Kind::Add: return binary("add.rn");
    case Kind::Sub: return binary("sub.rn");
    case Kind::Mul: return binary("mul.rn");
    case Kind::Div: return binary("div.rn");
    case Kind::Min:
      if (wide) not_legal(op);
      return binary("min.NaN");
    case Kind::Max:
      if (wide) not_legal(op);
      return binary("max.NaN");
    case Kind::Fma:
      return make(cls, "fma.rn.{1} {0}, {2}, {3}, {4}", type, text(a[0], form), text(a[1], form), text(a[2], form));
    default: not_legal(op);
  }
}

/// The instruction's amount is a u32, and one past the width shifts everything out, as the op wants.
Operand Emitter::shift_lane(Op* op, DType dtype, std::span<const Operand> a) {
  Operand amount = a[1];
  unsigned bits = is_wide(dtype) ? 64 : 32;
  if (is_wide(dtype) && amount.is_constant()) {
    amount = Operand::constant(std::min<uint64_t>(amount.bits, 64));
  } else if (is_wide(dtype)) {
    Operand bounded = make(WordClass::Double, "min.u64 {}, {}, 64", text(amount));
    amount = make(WordClass::Single, "cvt.u32.u64 {}, {}", text(bounded));
  }
  std::string left = text(a[0], Form::Bits, bits), by = text(amount);
  if (op->info().elementwise == Kind::Shl) return make(class_of(dtype), "shl.b{1} {0}, {2}, {3}", bits, left, by);
  return make(class_of(dtype), "shr.{1} {0}, {2}, {3}", integer_type(dtype), left, by);
}

Operand Emitter::integer_lane(Op* op, DType dtype, std::span<const Operand> a) {
  unsigned bits = is_wide(dtype) ? 64 : 32;
  WordClass cls = class_of(dtype);
  std::string type = integer_type(dtype), raw = "b" + std::to_string(bits), sign = "s" + std::to_string(bits);
  auto unary = [&](std::string_view name, const std::string& of) {
    return make(cls, "{1}.{2} {0}, {3}", name, of, text(a[0], Form::Bits, bits));
  };
  auto binary = [&](std::string_view name, const std::string& of) {
    return make(cls, "{1}.{2} {0}, {3}, {4}", name, of, text(a[0], Form::Bits, bits), text(a[1], Form::Bits, bits));
  };
  switch (op->info().elementwise) {
    case Kind::Neg: return unary("neg", sign);
    case Kind::Abs: return is_signed(dtype) ? unary("abs", sign) : a[0];
    case Kind::Not: return unary("not", raw);
    case Kind::Add: return binary("add", type);
    case Kind::Sub: return binary("sub", type);
    case Kind::Mul: return binary("mul.lo", type);
    case Kind::Div:
      if (cls == WordClass::Single && !is_signed(dtype) && a[0].is_word() && a[1].is_constant() && a[1].bits &&
          a[1].bits < uint64_t(1) << 31) {
        return divide_by_constant(a[0], uint32_t(a[1].bits));
      }
      return binary("div", type);
    case Kind::Min: return binary("min", type);
    case Kind::Max: return binary("max", type);
    case Kind::And: return binary("and", raw);
    case Kind::Or: return binary("or", raw);
    case Kind::Xor: return binary("xor", raw);
    case Kind::Shl:
    case Kind::Shr: return shift_lane(op, dtype, a);
    default: not_legal(op);
  }
}

Operand Emitter::compare_lane(Op* op, DType dtype, std::span<const Operand> a) {
  Kind kind = op->info().elementwise;
  if (is_float(dtype)) {
    if (dtype != DType::F32 && dtype != DType::F64) not_legal(op);
    Form form = dtype == DType::F64 ? Form::F64 : Form::F32;
    // All but "not equal" are false with NaN.
    return make(WordClass::Predicate, "setp.{1}.{2} {0}, {3}, {4}", kind == Kind::Ne ? "neu" : comparison(kind),
                dtype == DType::F64 ? "f64" : "f32", text(a[0], form), text(a[1], form));
  }
  unsigned bits = is_wide(dtype) ? 64 : 32;
  return make(WordClass::Predicate, "setp.{1}.{2} {0}, {3}, {4}", comparison(kind), integer_type(dtype),
              text(a[0], Form::Bits, bits), text(a[1], Form::Bits, bits));
}

Operand Emitter::bool_lane(Op* op, std::span<const Operand> given) {
  Operand a = in_register(given[0], WordClass::Predicate);
  auto invert = [&](Operand x) {
    if (x.is_constant()) return Operand::constant(~x.bits & 1);
    return make(WordClass::Predicate, "not.pred {}, {}", text(x));
  };
  auto binary = [&](std::string_view name, Operand x, Operand y) {
    return make(WordClass::Predicate, "{1}.pred {0}, {2}, {3}", name, predicate(x), predicate(y));
  };
  switch (op->info().elementwise) {
    case Kind::Not: return invert(a);
    case Kind::And: return binary("and", a, given[1]);
    case Kind::Or: return binary("or", a, given[1]);
    case Kind::Xor:
    case Kind::Ne: return binary("xor", a, given[1]);
    case Kind::Eq: return invert(binary("xor", a, given[1]));
    case Kind::Lt: return binary("and", invert(a), given[1]);
    case Kind::Le: return binary("or", invert(a), given[1]);
    case Kind::Gt: return binary("and", a, invert(given[1]));
    case Kind::Ge: return binary("or", a, invert(given[1]));
    default: not_legal(op);
  }
}

Operand Emitter::select(Operand condition, Operand a, Operand b, WordClass cls) {
  if (condition.is_constant()) return condition.bits & 1 ? a : b;
  if (a == b) return a;
  if (cls == WordClass::Predicate) {
    Operand yes = make(cls, "and.pred {}, {}, {}", text(condition), predicate(a));
    Operand other = make(cls, "not.pred {}, {}", text(condition));
    Operand no = make(cls, "and.pred {}, {}, {}", text(other), predicate(b));
    return make(cls, "or.pred {}, {}, {}", text(yes), text(no));
  }
  unsigned bits = cls == WordClass::Double ? 64 : 32;
  return make(cls, "selp.b{1} {0}, {2}, {3}, {4}", bits, text(a, Form::Bits, bits), text(b, Form::Bits, bits),
              text(condition));
}

/// Words whose lanes have one condition are chosen whole.
void Emitter::emit_select(Op* op) {
  Type type = op->result()->type();
  const Lanes &condition = in(op, 0), &a = in(op, 1), &b = in(op, 2);
  bool scalar = condition.words.size() == 1 && lane_count(type) > 1;
  unsigned per_word = lanes_per_word(type->dtype);
  std::vector<Operand> words;
  for (size_t w = 0; w < a.words.size(); ++w) {
    std::vector<Operand> conditions;
    for (size_t l = w * per_word; l < std::min((w + 1) * per_word, lane_count(type)); ++l) {
      conditions.push_back(condition.words[scalar ? 0 : l]);
    }
    bool one = std::all_of(conditions.begin(), conditions.end(), [&](Operand c) { return c == conditions[0]; });
    if (one) {
      words.push_back(select(conditions[0], a.words[w], b.words[w], class_of(type->dtype)));
      continue;
    }
    std::array<Byte, 4> bytes;
    unsigned size = 4 / per_word;
    for (size_t l = 0; l < conditions.size(); ++l) {
      Operand chosen = select(conditions[l], a.words[w], b.words[w], WordClass::Single);
      for (unsigned byte = 0; byte < size; ++byte) {
        unsigned at = unsigned(l) * size + byte;
        bytes[at] = {chosen, at};
      }
    }
    words.push_back(assemble(bytes));
  }
  define(op, std::move(words));
}

}  // namespace tessera::codegen::ptx
