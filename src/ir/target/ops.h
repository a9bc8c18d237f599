#pragma once
// The target level: its OpKind, slot numbers and facts, read from ops.def.

#include "ir/core/module.h"

namespace tessera::target {

#define OPS_FILE "ir/target/ops.def"
#include "ir/core/op_enums.inc"
#undef OPS_FILE

/// The rows of a machine's own table, as the kinds that they are.
enum class NvOpKind : uint16_t {
#define OP(Name, ...) Name = uint16_t(OpKind::Name),
#include "ir/target/nv_ops.def"
#undef OP
};
enum class X86OpKind : uint16_t {
#define OP(Name, ...) Name = uint16_t(OpKind::Name),
#include "ir/target/x86_ops.def"
#undef OP
};

/// The kind of an op of this level.
inline OpKind kind_of(const Op* op) { return OpKind(op->info().kind); }
/// The op of this level with that elementwise meaning.
const OpInfo* info(ElementwiseKind kind);

}  // namespace tessera::target
