#include "ir/graph/ops.h"

#include "ir/graph/op_facts.h"
#include "ir/graph/verify.h"

namespace tessera::graph {

#define OPS_FILE "ir/graph/ops.def"
#define OPS_LEVEL Level::Graph
#define OP_PREFIX "gir."
#define HAS_ROW_FACTS
#include "ir/core/op_table.inc"

// An op with results states its derivative, and one with operands what it is for many examples: a row without .jvp or
// .vmap does not compile.
constexpr bool states_derivative(RowFacts facts) { return facts.jvp || facts.elementwise != ElementwiseKind::None; }
constexpr bool states_examples(RowFacts facts) {
  return facts.vmap || facts.elementwise != ElementwiseKind::None || (facts.traits & Terminator);
}
#define IN(...) 0, 1,
#define IN_OPT(...) 0, 1,
#define INS(...) 0, 1,
#define OUT(...) 1, 0,
#define OUTS(...) 1, 0,
#define ATTR(...) 0, 0,
#define ATTR_OPT(...) 0, 0,
#define REGION(...) 0, 0,
/// Whether a row has results, the first of each pair, or operands, the second.
template <size_t count>
constexpr bool has_any(const int (&pairs)[count], size_t which) {
  for (size_t i = which; i < count; i += 2) {
    if (pairs[i]) return true;
  }
  return false;
}
#define OP(Name, slots, ...)                                                             \
  static_assert(!has_any({slots 0, 0}, 0) || states_derivative(RowFacts{__VA_ARGS__}),   \
                "gir." #Name " states no .jvp; jvp_none is that of an op without operands of floats"); \
  static_assert(!has_any({slots 0, 0}, 1) || states_examples(RowFacts{__VA_ARGS__}),     \
                "gir." #Name " states no .vmap; vmap_loop serves any op");
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
                                    .transpose = transpose_elementwise, .vmap = vmap_leading};
  bool is_elementwise = row.elementwise != ElementwiseKind::None;
  return is_elementwise ? elementwise : op_rows()[row.kind].facts;
}

const OpInfo* info(ElementwiseKind kind) {
  // The shared rows come first in the table, in the order of ElementwiseKind, which starts with
  // None.
  return &op_table()[size_t(kind) - 1];
}

}  // namespace tessera::graph
