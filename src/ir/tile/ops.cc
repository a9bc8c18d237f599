#include "ir/tile/ops.h"

#include "ir/tile/verify.h"

namespace tessera::tile {

#define OPS_FILE "ir/tile/ops.def"
#define OPS_LEVEL Level::Tile
#define OP_PREFIX "tile."
#include "ir/core/op_table.inc"

const OpInfo* info(ElementwiseKind kind) {
  // The shared rows come first in the table, in the order of ElementwiseKind, which starts with
  // None.
  return &op_table()[size_t(kind) - 1];
}

}  // namespace tessera::tile
