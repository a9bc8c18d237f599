// Ops that move lanes, and the packing of narrow lanes.

#include <algorithm>

#include "codegen/ptx/emitter.h"
#include "support/check.h"

namespace tessera::codegen::ptx {

using target::OpKind;

WordClass Emitter::class_of(DType dtype) {
  if (dtype == DType::Bool) return WordClass::Predicate;
  return byte_size(dtype) == 8 ? WordClass::Double : WordClass::Single;
}

unsigned Emitter::lanes_per_word(DType dtype) {
  return dtype == DType::Bool || byte_size(dtype) >= 4 ? 1 : 4 / byte_size(dtype);
}

size_t Emitter::word_count(Type type) {
  if (type->is(TypeKind::Ptr)) return 1;
  unsigned per_word = lanes_per_word(type->dtype);
  return (lane_count(type) + per_word - 1) / per_word;
}

Lanes Emitter::new_lanes(Type type) {
  WordClass cls = class_of(type->dtype);
  if (type->is(TypeKind::Ptr)) cls = type->space == MemorySpace::Shared ? WordClass::Single : WordClass::Double;
  Lanes lanes{type, {}};
  for (size_t i = 0; i < word_count(type); ++i) lanes.words.push_back(Operand::of(word(cls)));
  return lanes;
}

/// One byte permutation of two words; a selector below 0 leaves the byte open.
Operand Emitter::permute(Operand a, Operand b, const std::array<int, 4>& selectors) {
  unsigned control = 0;
  for (unsigned i = 0; i < 4; ++i) control |= unsigned(std::max(selectors[i], 0)) << (4 * i);
  return make(WordClass::Single, "prmt.b32 {}, {}, {}, 0x{:04x}", text(a), text(b), control);
}

/// A word from single bytes. Words that have the bytes in place already are named again.
Operand Emitter::assemble(const std::array<Byte, 4>& bytes) {
  std::vector<Operand> sources;
  uint64_t constant = 0;
  bool in_place = true, has_constant = false;
  for (unsigned i = 0; i < 4; ++i) {
    Operand source = bytes[i].source;
    if (source.kind == Operand::Kind::Undefined) continue;
    if (source.is_constant()) {
      constant |= (source.bits >> (8 * bytes[i].index) & 0xff) << (8 * i);
      has_constant = true;
      continue;
    }
    in_place = in_place && bytes[i].index == i;
    if (std::find(sources.begin(), sources.end(), source) == sources.end()) sources.push_back(source);
  }
  if (sources.empty()) return has_constant ? Operand::constant(constant) : Operand{};
  if (sources.size() == 1 && in_place && !has_constant) return sources[0];
  // The first two sources in one step, each further one in a step of its own; the constant is a source like any other.
  Operand result = sources[0];
  if (has_constant) sources.push_back(Operand::constant(constant));
  if (sources.size() == 1) sources.push_back(sources[0]);
  for (size_t s = 1; s < sources.size(); ++s) {
    std::array<int, 4> selectors{-1, -1, -1, -1};
    for (unsigned i = 0; i < 4; ++i) {
      const Byte& byte = bytes[i];
      if (byte.source.kind == Operand::Kind::Undefined) continue;
      bool is_this = sources[s].is_constant() ? byte.source.is_constant() : byte.source == sources[s];
      if (is_this) {
        selectors[i] = int(4 + (byte.source.is_constant() ? i : byte.index));
      } else {
        selectors[i] = s == 1 && byte.source == sources[0] ? int(byte.index) : int(i);
      }
    }
    result = permute(result, sources[s], selectors);
  }
  return result;
}

std::vector<Operand> Emitter::gather_lanes(Type type, const std::vector<LaneSource>& sources) {
  std::vector<Operand> words;
  unsigned per_word = lanes_per_word(type->dtype);
  if (per_word == 1) {
    for (const LaneSource& s : sources) words.push_back(s.lanes->words[s.lane]);
    return words;
  }
  unsigned size = byte_size(type->dtype);
  for (size_t first = 0; first < sources.size(); first += per_word) {
    std::array<Byte, 4> bytes;
    for (size_t l = first; l < std::min(first + per_word, sources.size()); ++l) {
      const LaneSource& s = sources[l];
      for (unsigned b = 0; b < size; ++b) {
        unsigned index = unsigned(s.lane % per_word) * size + b;
        bytes[(l - first) * size + b] = {s.lanes->words[s.lane / per_word], index};
      }
    }
    words.push_back(assemble(bytes));
  }
  return words;
}

Operand Emitter::lane(const Lanes& lanes, size_t index) {
  DType dtype = lanes.type->dtype;
  unsigned per_word = lanes_per_word(dtype);
  Operand source = lanes.words[index / per_word];
  if (per_word == 1 || source.kind == Operand::Kind::Undefined) return source;
  unsigned bits = 32 / per_word, shift = unsigned(index % per_word) * bits;
  bool sign = dtype_info(dtype).cls == DTypeClass::Signed;
  if (source.is_constant()) {
    uint64_t value = source.bits >> shift & ((uint64_t(1) << bits) - 1);
    if (sign && value >> (bits - 1)) value |= ~((uint64_t(1) << bits) - 1);
    return Operand::constant(value & 0xffffffff);
  }
  if (shift + bits == 32) {
    return make(WordClass::Single, "shr.{1} {0}, {2}, {3}", sign ? "s32" : "u32", text(source), shift);
  }
  return make(WordClass::Single, "bfe.{1} {0}, {2}, {3}, {4}", sign ? "s32" : "u32", text(source), shift, bits);
}

std::vector<Operand> Emitter::pack(Type type, std::span<const Operand> lanes) {
  unsigned per_word = lanes_per_word(type->dtype);
  if (per_word == 1) return {lanes.begin(), lanes.end()};
  unsigned size = 4 / per_word;
  std::vector<Operand> words;
  for (size_t first = 0; first < lanes.size(); first += per_word) {
    std::array<Byte, 4> bytes;
    for (size_t l = first; l < std::min(first + per_word, lanes.size()); ++l) {
      for (unsigned b = 0; b < size; ++b) bytes[(l - first) * size + b] = {lanes[l], b};
    }
    words.push_back(assemble(bytes));
  }
  return words;
}

void Emitter::emit_constant(Op* op) {
  Type type = op->result()->type();
  Attr value = op->attr(target::attr::Constant::value);
  bool integer = value->is(AttrKind::Int);
  uint64_t bits = is_float(type->dtype) ? encode_float(type->dtype, integer ? double(value->integer) : value->number)
                                        : uint64_t(value->integer);
  unsigned per_word = lanes_per_word(type->dtype);
  unsigned width = type->dtype == DType::Bool ? 1 : byte_size(type->dtype) * 8;
  if (width < 64) bits &= (uint64_t(1) << width) - 1;
  for (unsigned i = 1; i < per_word; i *= 2) bits |= bits << (width * i);
  define(op, std::vector<Operand>(word_count(type), Operand::constant(bits)));
}

void Emitter::emit_mask(Op* op) {
  const Lanes& count = in(op, 0);
  bool wide = count.type->dtype == DType::I64;
  std::vector<Operand> lanes;
  for (size_t i = 0; i < lane_count(op->result()->type()); ++i) {
    Operand known = count.words[0];
    if (known.is_constant()) {
      int64_t limit = wide ? int64_t(known.bits) : int32_t(known.bits);
      lanes.push_back(Operand::constant(int64_t(i) < limit));
    } else {
      lanes.push_back(make(WordClass::Predicate, "setp.gt.{1} {0}, {2}, {3}", wide ? "s64" : "s32", text(known), i));
    }
  }
  define(op, std::move(lanes));
}

void Emitter::emit_lane_op(Op* op) {
  Type type = op->result()->type();
  std::vector<LaneSource> sources;
  auto whole = [&](const Lanes& lanes) {
    for (size_t i = 0; i < lane_count(lanes.type); ++i) sources.push_back({&lanes, i});
  };
  switch (target::kind_of(op)) {
    case OpKind::Constant: return emit_constant(op);
    case OpKind::Mask: return emit_mask(op);
    case OpKind::Bitcast: return define(op, in(op, 0).words);
    case OpKind::Iota: {
      std::vector<Operand> lanes;
      for (size_t i = 0; i < lane_count(type); ++i) lanes.push_back(Operand::constant(i));
      return define(op, pack(type, lanes));
    }
    case OpKind::Splat: sources.assign(lane_count(type), {&in(op, 0), 0}); break;
    case OpKind::Extract:
      sources = {{&in(op, 0), size_t(op->attr(target::attr::Extract::lane))}};
      break;
    case OpKind::Insert:
      whole(in(op, 0));
      sources[size_t(op->attr(target::attr::Insert::lane))] = {&in(op, 1), 0};
      break;
    case OpKind::Shuffle: {
      size_t lanes = lane_count(in(op, 0).type);
      for (int64_t i : op->attr(target::attr::Shuffle::lanes)) {
        sources.push_back({&in(op, size_t(i) < lanes ? 0 : 1), size_t(i) % lanes});
      }
      break;
    }
    case OpKind::Concat:
      for (Value* part : op->ins(target::in::Concat::parts)) whole(values_.at(part));
      break;
    default: not_legal(op);
  }
  define(op, gather_lanes(type, sources));
}

}  // namespace tessera::codegen::ptx
