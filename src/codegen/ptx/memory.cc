// Loads and stores: as few and as wide accesses as alignment and masks allow.

#include <algorithm>
#include <bit>
#include <map>

#include "codegen/ptx/emitter.h"
#include "ir/core/common_attributes.h"
#include "support/check.h"

namespace tessera::codegen::ptx {

namespace in_ = target::in;

namespace {

bool is_shared(Type pointer) { return pointer->space == MemorySpace::Shared; }

WordClass pointer_class(Type pointer) { return is_shared(pointer) ? WordClass::Single : WordClass::Double; }

size_t bytes_of(Type type, size_t lanes) {
  return type->is(TypeKind::Ptr) ? 8 : lanes * byte_size(type->dtype);
}

}  // namespace

std::string Emitter::address(const Lanes& pointer, int64_t bytes) {
  int64_t offset = pointer.displacement + bytes;
  std::string base = text(in_register(pointer.words[0], pointer_class(pointer.type)));
  return offset ? fmt::format("[{}{:+}]", base, offset) : fmt::format("[{}]", base);
}

Operand Emitter::pointer_word(const Lanes& pointer) {
  if (!pointer.displacement) return pointer.words[0];
  bool shared = is_shared(pointer.type);
  return make(pointer_class(pointer.type), "add.{1} {0}, {2}, {3}", shared ? "s32" : "s64",
              text(pointer.words[0]), pointer.displacement);
}

void Emitter::emit_offset(Op* op) {
  Lanes pointer = in(op, in_::Offset::base);
  const Lanes& bytes = in(op, in_::Offset::bytes);
  Operand by = bytes.words[0];
  bool wide = bytes.type->dtype == DType::I64, shared = is_shared(pointer.type);
  // The instruction holds a signed offset of 24 bits and more; half of that is kept for the accesses of one op.
  if (by.is_constant()) {
    int64_t sum = pointer.displacement + (wide ? int64_t(by.bits) : int64_t(int32_t(by.bits)));
    if (sum > -(1 << 22) && sum < 1 << 22) {
      pointer.displacement = sum;
      return define(op->result(), std::move(pointer));
    }
  }
  if (by.is_word() && wide && shared) by = make(WordClass::Single, "cvt.u32.u64 {}, {}", text(by));
  if (by.is_word() && !wide && !shared) by = make(WordClass::Double, "cvt.s64.s32 {}, {}", text(by));
  if (by.is_constant() && !wide) by.bits = uint64_t(int64_t(int32_t(by.bits)));
  unsigned bits = shared ? 32 : 64;
  Operand sum = make(pointer_class(pointer.type), "add.s{1} {0}, {2}, {3}", bits,
                     text(in_register(pointer.words[0], pointer_class(pointer.type))),
                     text(by, Form::Bits, bits));
  pointer.words = {sum};
  define(op->result(), std::move(pointer));
}

/// Cuts the bytes of a value into accesses: aligned, up to 16 bytes, and with one condition each.
std::vector<Emitter::Piece> Emitter::pieces(Type type, int64_t align, const Lanes* mask) {
  size_t element = bytes_of(type, 1), total = bytes_of(type, lane_count(type));
  if (!align) align = int64_t(element);
  std::vector<Piece> all;
  for (size_t at = 0; at < total;) {
    size_t bytes = std::min<size_t>(16, std::bit_floor(total - at));
    bytes = std::min(bytes, at ? std::min<size_t>(size_t(align), at & ~(at - 1)) : size_t(align));
    bytes = std::max(bytes, element);
    auto one_condition = [&] {
      for (size_t l = at / element; mask && l < (at + bytes) / element; ++l) {
        if (!(mask->words[l] == mask->words[at / element])) return false;
      }
      return true;
    };
    while (bytes > element && !one_condition()) bytes /= 2;
    all.push_back({at, unsigned(bytes)});
    at += bytes;
  }
  return all;
}

Operand Emitter::piece_mask(const Lanes* mask, Type type, const Piece& piece) {
  return mask ? mask->words[piece.first_byte / byte_size(type->dtype)] : Operand::constant(1);
}

/// Loads one word, or keeps `fill` where the mask does not hold.
Operand Emitter::load_piece(std::string_view instruction, const std::string& from, Operand mask, Operand fill,
                            WordClass cls) {
  if (mask.is_constant()) return mask.bits & 1 ? make(cls, "{1} {0}, {2}", instruction, from) : fill;
  Tied tied = tie({&fill, 1}, cls);
  add(tied.results, fmt::format("@{} {} {}, {}", text(mask), instruction, token(tied.results[0]), from), tied.sources);
  return Operand::of(tied.results[0]);
}

/// An element or word; one that is not the start of its word leaves its bytes at the start of a new one.
Operand Emitter::load_small(const Access& access, const Piece& piece, Operand condition) {
  unsigned within = unsigned(piece.first_byte % access.unit);
  Operand fallback = access.fill ? access.fill->words[piece.first_byte / access.unit] : Operand{};
  if (within && access.fill) {
    std::array<Byte, 4> moved;
    for (unsigned b = 0; b < piece.bytes; ++b) moved[b] = {fallback, within + b};
    fallback = assemble(moved);
  }
  std::string instruction = fmt::format("{}.b{}", access.load, piece.bytes * 8);
  return load_piece(instruction, address(access.pointer, int64_t(piece.first_byte)), condition, fallback, access.cls);
}

/// Several whole words at once.
std::vector<Operand> Emitter::load_vector(const Access& access, const Piece& piece, Operand condition) {
  size_t first = piece.first_byte / access.unit, count = piece.bytes / access.unit;
  std::span<const Operand> fill;
  if (access.fill) fill = std::span(access.fill->words).subspan(first, count);
  if (condition.is_constant() && !(condition.bits & 1)) return {fill.begin(), fill.end()};
  Tied tied;
  std::string guard;
  if (condition.is_constant()) {
    for (size_t i = 0; i < count; ++i) tied.results.push_back(word(access.cls));
  } else {
    tied = tie(fill, access.cls);
    guard = "@" + text(condition) + " ";
  }
  std::vector<Operand> results;
  for (uint32_t result : tied.results) results.push_back(Operand::of(result));
  add(tied.results,
      fmt::format("{}{}.v{}.b{} {}, {}", guard, access.load, count, access.unit * 8, list(results),
                  address(access.pointer, int64_t(piece.first_byte))),
      tied.sources);
  return results;
}

void Emitter::emit_load(Op* op, const Lanes& pointer, const Lanes* mask, const Lanes* fill) {
  Type type = op->result()->type();
  int64_t align = op->attr(common::Access::align).value_or(0);
  bool doubles = type->is(TypeKind::Ptr) || byte_size(type->dtype) == 8;
  Access access{pointer, fill, {}, doubles ? WordClass::Double : WordClass::Single, doubles ? 8u : 4u};
  access.load = is_shared(pointer.type)                      ? "ld.shared"
                : op->attr(common::Access::invariant) ? "ld.global.nc"
                                                          : "ld.global";
  std::vector<Operand> words(word_count(type));
  std::map<size_t, std::array<Byte, 4>> parts;  // of words that are loaded in pieces
  for (const Piece& piece : pieces(type, align, mask)) {
    Operand condition = piece_mask(mask, type, piece);
    size_t first = piece.first_byte / access.unit;
    if (piece.bytes > access.unit) {
      std::vector<Operand> loaded = load_vector(access, piece, condition);
      std::copy(loaded.begin(), loaded.end(), words.begin() + long(first));
      continue;
    }
    Operand loaded = load_small(access, piece, condition);
    if (piece.bytes == access.unit) words[first] = loaded;
    for (unsigned b = 0; piece.bytes < access.unit && b < piece.bytes; ++b) {
      parts[first][piece.first_byte % access.unit + b] = {loaded, b};
    }
  }
  for (const auto& [w, bytes] : parts) words[w] = assemble(bytes);
  define(op, std::move(words));
}

void Emitter::emit_store(const Lanes& value, const Lanes& pointer, const Lanes* mask, int64_t align) {
  bool doubles = byte_size(value.type->dtype) == 8;
  WordClass cls = doubles ? WordClass::Double : WordClass::Single;
  unsigned unit = doubles ? 8 : 4;
  std::string store = is_shared(pointer.type) ? "st.shared" : "st.global";
  for (const Piece& piece : pieces(value.type, align, mask)) {
    Operand condition = piece_mask(mask, value.type, piece);
    if (condition.is_constant() && !(condition.bits & 1)) continue;
    std::string guard = condition.is_constant() ? "" : "@" + text(condition) + " ";
    size_t first = piece.first_byte / unit, count = piece.bytes / unit;
    std::string to = address(pointer, int64_t(piece.first_byte));
    if (count > 1) {
      std::vector<Operand> stored;
      for (size_t i = 0; i < count; ++i) stored.push_back(in_register(value.words[first + i], cls));
      line("{}{}.v{}.b{} {}, {}", guard, store, count, unit * 8, to, list(stored));
      continue;
    }
    Operand stored = value.words[first];
    unsigned within = unsigned(piece.first_byte % unit);
    if (count == 0 && within) {
      std::array<Byte, 4> moved;
      for (unsigned b = 0; b < piece.bytes; ++b) moved[b] = {stored, within + b};
      stored = assemble(moved);
    }
    line("{}{}.b{} {}, {}", guard, store, piece.bytes * 8, to, text(in_register(stored, cls)));
  }
}

void Emitter::emit_atomic_add(Op* op) {
  const Lanes &place = in(op, in_::AtomicAdd::address), &value = in(op, in_::AtomicAdd::value);
  DType dtype = op->result()->type()->dtype;
  WordClass cls = class_of(dtype);
  Operand added = in_register(value.words[0], cls);
  define(op, {make(cls, "atom.{1}.add.{4}{5} {0}, {2}, {3}", is_shared(place.type) ? "shared" : "global",
                   address(place), text(added), is_float(dtype) ? "f" : "u", 8 * byte_size(dtype))});
}

void Emitter::emit_gather(Op* op) {
  Type type = op->result()->type();
  const Lanes &base = in(op, in_::Gather::base), &offsets = in(op, in_::Gather::offsets);
  const Lanes &mask = in(op, in_::Gather::mask), &fill = in(op, in_::Gather::fill);
  bool shared = is_shared(base.type), wide = offsets.type->dtype == DType::I64;
  WordClass pointer = pointer_class(base.type);
  unsigned bytes = byte_size(type->dtype);
  std::string load = fmt::format("{}.b{}", shared ? "ld.shared" : "ld.global", bytes * 8);
  std::vector<Operand> lanes;
  for (size_t i = 0; i < lane_count(type); ++i) {
    Operand by = in_register(lane(offsets, i), class_of(offsets.type->dtype));
    if (wide && shared) by = make(pointer, "cvt.u32.u64 {}, {}", text(by));
    if (!wide && !shared) by = make(pointer, "cvt.s64.s32 {}, {}", text(by));
    Operand sum = make(pointer, "add.{1} {0}, {2}, {3}", shared ? "s32" : "s64", text(base.words[0]), text(by));
    Lanes place{base.type, {sum}, base.displacement};
    lanes.push_back(load_piece(load, address(place), mask.words[i], lane(fill, i), class_of(type->dtype)));
  }
  define(op, pack(type, lanes));
}

}  // namespace tessera::codegen::ptx
