#include "ir/core/place.h"

#include <fmt/format.h>

#include "ir/core/module.h"

namespace tessera {

std::string place_of(Op* op) {
  Loc loc = op->loc();
  if (!loc.known()) return {};
  return fmt::format("{}:{}:{}", op->module()->sources().ir_name(loc.file), loc.line, loc.column);
}

}  // namespace tessera
