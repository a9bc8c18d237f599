#pragma once
// Tensors without elements, where types say that they have none.

#include "ir/graph/ops.h"

namespace tessera::graph {

bool is_empty(Value* value);
/// An op that computes no element, and so does nothing. Views and updates may be out of bounds, which is something.
bool computes_nothing(Op* op);
/// A reduction, or a matmul along k, of no element.
bool combines_nothing(Op* op);
/// The loss of rows without classes.
bool has_no_classes(Op* op);
/// A concat with parts that add nothing to it, beside others.
bool has_empty_part(Op* op);
/// Any of these: a constant, or fewer operands, say the same.
bool is_needless(Op* op);

}  // namespace tessera::graph
