#pragma once
// Places in the source, as bundles and the runtime's messages name them.

#include <fmt/format.h>

#include <string>

#include "ir/core/module.h"

namespace tessera {

/// "mlp.tsr:7:12", with the file's name as in IR; empty where the place is not known.
inline std::string place_of(Op* op) {
  Loc loc = op->loc();
  if (!loc.known()) return {};
  return fmt::format("{}:{}:{}", op->module()->sources().ir_name(loc.file), loc.line, loc.column);
}

}  // namespace tessera
