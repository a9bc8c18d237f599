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

/// The rows of a level. Its verify_properties.cc has one, so that a module without functions is held to them as well.
struct LevelProperties {
  LevelProperties(Level level, std::span<const PropertyInfo> rows);
};

/// How what a module says of itself is wrong whatever functions it has: each property is one of its level, named once,
/// and so on; empty where it is right.
std::string problem_of_facts(const Module& module);
/// Checks that the properties that the module of a function says it has, which are the level's, hold of the function.
void verify_properties(Op* function, OpVerifier& verifier);

}  // namespace tessera
