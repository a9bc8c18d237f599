#include "frontend/values/tile_builtins.h"

namespace tessera::frontend {

std::span<const Builtin> tile_builtins() {
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> rows;
#define BUILTIN(Id, name, signature) \
  rows.push_back(make_builtin(tile_table, uint16_t(TileBuiltin::Id), name, signature));
#define ELEMENTWISE_BUILTIN(Id, written) \
  rows.push_back(make_builtin(tile_table, uint16_t(TileBuiltin::Id), written, ElementwiseKind::Id));
#include "frontend/values/tile_builtins.def"
#undef BUILTIN
#undef ELEMENTWISE_BUILTIN
    return rows;
  }();
  return table;
}

}  // namespace tessera::frontend
