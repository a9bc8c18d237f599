#pragma once
// The host program: its OpKind, slot numbers and facts, read from ops.def.

#include "ir/core/dim_facts.h"
#include "ir/core/module.h"

namespace tessera::host {

#define OPS_FILE "ir/host/ops.def"
#include "ir/core/op_enums.inc"
#undef OPS_FILE

/// The kind of an op of this level.
inline OpKind kind_of(const Op* op) { return OpKind(op->info().kind); }

/// The value whose memory this one is, under other dims.
Value* root_of(Value* value);
/// The buffer whose memory a result of a launch or a branch takes; null for one of its own.
Value* place_of(Op* op, unsigned result);
/// The buffer in whose memory a value, which is no alias, lies because an op took it over; null for memory of its own.
Value* memory_before(Value* root);
/// The host.func that an op stands in.
Op* function_of(Op* op);
/// What is known of sizes wherever an op of a function runs: the function's guards, the numbers of iterations of loops
/// around, and what branches around that sizes choose are taken for.
std::vector<DimFact> facts_around(Op* op);
/// The assumptions of one of the kernels of a launch, in the dims of the entry.
std::vector<DimFact> assumptions(Op* launch, Op* kernel);
/// The kernels that a launch may run in the order of choice: its variants, then the one that always may.
std::vector<Op*> choices(Op* launch);
/// Whether a kernel is one of them: no symbol is looked up, so that all launches can be asked about each kernel.
bool may_run(Op* launch, Op* kernel);

}  // namespace tessera::host
