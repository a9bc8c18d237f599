#include "ir/graph/ops.h"

#include "ir/graph/op_facts.h"
#include "ir/graph/verify.h"

namespace tessera::graph {

#define OPS_FILE "ir/graph/ops.def"
#define OPS_LEVEL Level::Graph
#define OP_PREFIX "gir."
#define HAS_ROW_FACTS
#include "ir/core/op_table.inc"

const RowFacts& facts(const OpInfo& row) {
  static const RowFacts elementwise{.role = Role::Compute, .total = is_total_always, .jvp = jvp_elementwise,
                                    .transpose = transpose_elementwise};
  bool is_elementwise = row.elementwise != ElementwiseKind::None;
  return is_elementwise ? elementwise : op_rows()[row.kind].facts;
}

const OpInfo* info(ElementwiseKind kind) {
  // The shared rows come first in the table, in the order of ElementwiseKind, which starts with
  // None.
  return &op_table()[size_t(kind) - 1];
}

}  // namespace tessera::graph
