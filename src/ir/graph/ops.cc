#include "ir/graph/ops.h"

#include "ir/graph/op_facts.h"
#include "ir/graph/verify.h"

namespace tessera::graph {

#define OPS_FILE "ir/graph/ops.def"
#define OPS_LEVEL Level::Graph
#define OP_PREFIX "gir."
#define HAS_ROW_FACTS
#include "ir/core/op_table.inc"

// An op with results states its derivative: a row without .jvp does not compile.
#define IN(...) 0 |
#define IN_OPT(...) 0 |
#define INS(...) 0 |
#define OUT(...) 1 |
#define OUTS(...) 1 |
#define ATTR(...) 0 |
#define ATTR_OPT(...) 0 |
#define REGION(...) 0 |
constexpr bool states_derivative(RowFacts facts) { return facts.jvp || facts.elementwise != ElementwiseKind::None; }
#define OP(Name, slots, ...)                                                   \
  static_assert((slots 0) == 0 || states_derivative(RowFacts{__VA_ARGS__}), \
                "gir." #Name " states no .jvp; jvp_none is that of an op without operands of floats");
#include OPS_FILE
#undef OP
#undef IN
#undef IN_OPT
#undef INS
#undef OUT
#undef OUTS
#undef ATTR
#undef ATTR_OPT
#undef REGION

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
