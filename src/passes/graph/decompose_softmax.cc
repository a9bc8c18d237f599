// Writes a softmax along another axis than the last as what it means.
//
// The source's softmax(x, axis=0) is a transpose, gir.softmax of the rows, and a transpose back. Rows of a kernel are
// contiguous, so both transposes would be copies. As maxima, exponentials and sums along the axis, where x lies, they
// are one generated kernel for a CPU, which reads and writes lines of memory. A row of -inf gives 0, as that of
// gir.softmax.

#include <limits>

#include "ir/graph/build.h"
#include "ir/graph/ops.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using graph::OpKind;
using Axes = std::vector<int64_t>;

Axes permutation(Op* transpose) { return transpose->attr(graph::attr::Transpose::perm); }

/// Whether one transpose undoes the other.
bool undoes(const Axes& outer, const Axes& inner) {
  for (size_t i = 0; i < outer.size(); ++i) {
    if (inner[size_t(outer[i])] != int64_t(i)) return false;
  }
  return true;
}

/// Whether the rows of a softmax lie across memory in its operand, and in all that read its result.
bool lies_across(Op* softmax) {
  Op* before = softmax->operand(0)->def();
  if (!before || !before->is(graph::info(OpKind::Transpose))) return false;
  Axes inner = permutation(before);
  if (inner.back() + 1 == int64_t(inner.size()) || !softmax->result()->first_use()) return false;
  for (Use* use = softmax->result()->first_use(); use; use = use->next()) {
    Op* behind = use->owner();
    if (!behind->is(graph::info(OpKind::Transpose)) || !undoes(permutation(behind), inner)) return false;
  }
  return true;
}

/// exp(x - max(x)) / sum of that, along an axis.
Value* softmax_along(Builder& b, Value* x, int64_t axis) {
  DType dtype = x->type()->dtype;
  const std::vector<Dim>& all = x->type()->dims;
  auto like = [&](double value, Value* to) { return graph::full(b, value, to->type()->dims, dtype); };
  auto equals = [&](Value* a, double value) { return graph::elementwise(b, ElementwiseKind::Eq, {a, like(value, a)}); };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value* top = graph::reduce(b, x, "max", {axis}, true);
  top = graph::select(b, equals(top, -infinity), like(0, top), top);
  Value* terms = graph::elementwise(b, ElementwiseKind::Exp, {graph::sub(b, x, graph::broadcast_to(b, top, all))});
  Value* total = graph::reduce(b, terms, "sum", {axis}, true);
  total = graph::select(b, equals(total, 0), like(1, total), total);
  return graph::div(b, terms, graph::broadcast_to(b, total, all));
}

void decompose(Op* softmax) {
  Op* before = softmax->operand(0)->def();
  Builder builder(*softmax->module());
  builder.set_before(softmax);
  builder.set_loc(softmax->loc());
  Value* result = softmax_along(builder, before->operand(0), permutation(before).back());
  while (Use* use = softmax->result()->first_use()) {
    Op* behind = use->owner();
    result->set_name(behind->result()->name());
    behind->result()->replace_all_uses(result);
    behind->erase();
  }
  softmax->erase();
}

}  // namespace

Status decompose_softmax(Module& module, PassContext& context) {
  // On GPUs sums of columns are cut into parts, each with kernels for many sizes: more of them than copies would cost.
  if (context.machine && context.machine->is_gpu()) return success;
  std::vector<Op*> found;
  for (Op* function : *module.body()) {
    walk(function, [&](Op* op) {
      if (op->is(graph::info(OpKind::Softmax)) && lies_across(op)) found.push_back(op);
    });
  }
  for (Op* op : found) decompose(op);
  return success;
}

}  // namespace tessera
