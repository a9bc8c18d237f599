#pragma once
// Properties: what a module says of itself in its attribute `properties`, such as "legal". Passes rely on them, so
// that a dump that claims one wrongly must not reach a pass. Each level has a table, properties.def.

#include <span>
#include <string>
#include <string_view>

#include "ir/text/verifier.h"

namespace tessera {

/// A row of a level's properties.def.
struct PropertyInfo {
  std::string_view name;
  /// How an op, the function itself or one inside of it, contradicts the property; empty where it does not. All ops
  /// hold their own rules.
  std::string (*problem)(Op* op);
};

/// Checks what the module of a function says of itself: names of the level's properties, which hold of the function.
void verify_properties(std::span<const PropertyInfo> rows, Op* function, OpVerifier& verifier);

}  // namespace tessera
