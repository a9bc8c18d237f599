#pragma once
// The members of the namespace `tile`, known to KernelBuilder only.

#include "frontend/values/builtins.h"

namespace tessera::frontend {

/// Ids of the table "tile".
enum class TileBuiltin : uint16_t {
#define BUILTIN(Id, name, signature) Id,
#define ELEMENTWISE_BUILTIN(Id, written) Id,
#include "frontend/values/tile_builtins.def"
#undef BUILTIN
#undef ELEMENTWISE_BUILTIN
};

inline constexpr std::string_view tile_table = "tile";

/// The table, by id.
std::span<const Builtin> tile_builtins();

}  // namespace tessera::frontend
