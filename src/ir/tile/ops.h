#pragma once
// The tile level: its OpKind, slot numbers and facts, read from ops.def.

#include "ir/core/module.h"

namespace tessera::tile {

#define OPS_FILE "ir/tile/ops.def"
#include "ir/core/op_enums.inc"
#undef OPS_FILE

/// The ops that decompose_tile_ops writes as others.
constexpr OpKind composed_ops[] = {
#define COMPOSED_OP(Name, ...) OpKind::Name,
#include "ir/tile/composed_ops.inc"
};

/// The kind of an op of this level.
inline OpKind kind_of(const Op* op) {
  return OpKind(op->info().kind);
}
/// The op of this level with that elementwise meaning.
const OpInfo* info(ElementwiseKind kind);

/// The type of one slot of a ring: a view without its first axis and with the same layout.
Type slot_type(Context& context, Type ring);
/// Strides in elements of a parameter (row-major) or a view, one per axis.
std::vector<Dim> strides_of(Context& context, Type memory);
/// The type of a channel's handle.
Type channel_type(Context& context);

}  // namespace tessera::tile
