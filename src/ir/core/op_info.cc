#include "ir/core/op_info.h"

#include <cctype>

#include "support/check.h"

namespace tessera {

std::string_view to_string(Level level) {
  constexpr std::string_view names[] = {"graph", "schedule", "tile", "target", "host"};
  return names[size_t(level)];
}

std::string_view to_string(ValueClass cls) {
  constexpr std::string_view memory = "a tensor or view";
  constexpr std::string_view names[] = {"any value", "a tensor", memory, memory, memory, "a tile", "an i64 index",
                                        "a scalar", "a tensor, tile, register or scalar", "a register",
                                        "a register or scalar", "an address"};
  return names[size_t(cls)];
}

bool belongs_to(Type type, ValueClass cls) {
  switch (cls) {
    case ValueClass::Any: return true;
    case ValueClass::Tensor: return type->is(TypeKind::Tensor);
    case ValueClass::Memory:
    case ValueClass::ReadMemory:
    case ValueClass::WrittenMemory: return type->is(TypeKind::Tensor) || type->is(TypeKind::View);
    case ValueClass::Tile: return type->is(TypeKind::Tile);
    case ValueClass::Index: return type->is(TypeKind::Scalar) && type->dtype == DType::I64;
    case ValueClass::Scalar: return type->is(TypeKind::Scalar);
    case ValueClass::Number: return !type->is(TypeKind::Ptr) && !type->is(TypeKind::View);
    case ValueClass::Reg: return type->is(TypeKind::Reg);
    case ValueClass::RegOrScalar: return type->is(TypeKind::Reg) || type->is(TypeKind::Scalar);
    case ValueClass::Ptr: return type->is(TypeKind::Ptr);
  }
  return false;
}

size_t OpInfo::count(SlotKind wanted) const {
  size_t n = 0;
  for (const Slot& s : slots) n += s.kind == wanted;
  return n;
}

const Slot& OpInfo::slot(SlotKind wanted, size_t n) const {
  for (const Slot& s : slots) {
    if (s.kind == wanted && n-- == 0) return s;
  }
  TSR_UNREACHABLE("op " + name + " has no such slot");
}

const Slot* OpInfo::find_attribute(std::string_view attribute) const {
  for (const Slot& s : slots) {
    if (s.kind == SlotKind::Attribute && attribute == s.name) return &s;
  }
  return nullptr;
}

std::string snake_case(std::string_view camel) {
  std::string out;
  for (size_t i = 0; i < camel.size(); ++i) {
    unsigned char c = camel[i];
    bool starts_word = std::isupper(c) && i != 0 && std::islower(static_cast<unsigned char>(camel[i - 1]));
    if (starts_word) out += '_';
    out += char(std::tolower(c));
  }
  return out;
}

}  // namespace tessera
