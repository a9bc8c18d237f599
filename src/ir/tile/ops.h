#pragma once
// The tile level: its OpKind, slot numbers and facts, read from ops.def.

#include "ir/core/module.h"

namespace tessera::tile {

#define OPS_FILE "ir/tile/ops.def"
#include "ir/core/op_enums.inc"
#undef OPS_FILE

/// The kind of an op of this level.
inline OpKind kind_of(const Op* op) {
  return OpKind(op->info().kind);
}
/// The op of this level with that elementwise meaning.
const OpInfo* info(ElementwiseKind kind);

}  // namespace tessera::tile
