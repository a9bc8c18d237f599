#pragma once
// The host program: its OpKind, slot numbers and facts, read from ops.def.

#include "ir/core/module.h"

namespace tessera::host {

#define OPS_FILE "ir/host/ops.def"
#include "ir/core/op_enums.inc"
#undef OPS_FILE

/// The kind of an op of this level.
inline OpKind kind_of(const Op* op) { return OpKind(op->info().kind); }

}  // namespace tessera::host
