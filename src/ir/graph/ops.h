#pragma once
// The graph level: its OpKind, slot numbers and facts, read from ops.def.

#include "ir/core/dim_facts.h"
#include "ir/core/module.h"

namespace tessera::graph {

#define OPS_FILE "ir/graph/ops.def"
#include "ir/core/op_enums.inc"
#undef OPS_FILE

/// The kind of an op of this level.
inline OpKind kind_of(const Op* op) {
  return OpKind(op->info().kind);
}
/// The op of this level with that elementwise meaning.
const OpInfo* info(ElementwiseKind kind);
/// What is known of sizes wherever an op of a function runs: the function's guards, that an iteration of each loop
/// around has a number below the loop's count, and what branches around that sizes choose are taken for.
std::vector<DimFact> facts_around(Op* op);

}  // namespace tessera::graph
