#include "ir/graph/ops.h"

#include "ir/graph/verify.h"

namespace tessera::graph {

#define OPS_FILE "ir/graph/ops.def"
#define OPS_LEVEL Level::Graph
#define OP_PREFIX "gir."
#include "ir/core/op_table.inc"

const OpInfo* info(ElementwiseKind kind) {
  // The shared rows come first in the table, in the order of ElementwiseKind, which starts with
  // None.
  return &op_table()[size_t(kind) - 1];
}

}  // namespace tessera::graph
