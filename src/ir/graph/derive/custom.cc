// Calls of functions that have derivatives of their own, which the level above knows.

#include "ir/graph/derive/backward.h"
#include "ir/graph/op_facts.h"

namespace tessera::graph {

void jvp_custom_call(Op* op, Forward& forward) { forward.library().push(op, forward); }

// It belongs to the record of a derivative, which no value depends on.
void jvp_custom_tangent(Op*, Forward&) {}

void transpose_custom_tangent(Op* op, Backward& backward) { backward.library().pull(op, backward); }

void jvp_kernel_call(Op* op, Forward& forward) { forward.refuse(op, "has no derivative yet"); }

// No operand is a float, so that it is never asked.
void jvp_none(Op* op, Forward& forward) { forward.refuse(op, "has no derivative"); }

}  // namespace tessera::graph
