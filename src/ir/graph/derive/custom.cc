// Calls of functions that have derivatives of their own, which the level above knows.

#include <set>

#include "ir/graph/derive/backward.h"
#include "ir/graph/derive/term.h"
#include "ir/graph/op_facts.h"

namespace tessera::graph {

namespace {

bool is_linear_elementwise(Op* op, const std::vector<bool>& linear) {
  switch (op->info().elementwise) {
    case ElementwiseKind::Neg:
    case ElementwiseKind::Cast:
      return true;
    case ElementwiseKind::Add:
    case ElementwiseKind::Sub:
      return (linear[0] || is_zero(op->operand(0))) && (linear[1] || is_zero(op->operand(1)));
    case ElementwiseKind::Mul: return linear[0] != linear[1];
    case ElementwiseKind::Div: return !linear[1];
    case ElementwiseKind::Select:
      return (linear[1] || is_zero(op->operand(1))) && (linear[2] || is_zero(op->operand(2)));
    default: return false;
  }
}

}  // namespace

Op* find_not_linear(const std::vector<Op*>& ops, const std::vector<Value*>& inputs) {
  std::set<const Value*> known(inputs.begin(), inputs.end());
  for (Op* op : ops) {
    bool depends = false;
    for_each_operand(op, [&](Value* value) { depends = depends || known.count(value); });
    bool has_float = false;
    for (unsigned i = 0; i < op->result_count(); ++i) has_float |= is_float(op->result(i)->type()->dtype);
    if (!depends || !has_float) continue;
    std::vector<bool> linear;
    for (unsigned i = 0; i < op->operand_count(); ++i) linear.push_back(known.count(op->operand(i)) != 0);
    bool is_hidden = op->region_count() > 0 || op->is(info(OpKind::KernelCall));
    bool fits = is_hidden || facts(op).transpose;
    if (op->info().elementwise != ElementwiseKind::None) fits = is_linear_elementwise(op, linear);
    if (op->is(info(OpKind::Gemm))) fits = linear[0] != linear[1];
    if (op->is(info(OpKind::Reduce))) fits = op->attr(attr::Reduce::kind) == "sum";
    if (!fits) return op;
    for (unsigned i = 0; i < op->result_count(); ++i) known.insert(op->result(i));
  }
  return nullptr;
}

void jvp_custom_call(Op* op, Forward& forward) { forward.library().push(op, forward); }

// It belongs to the record of a derivative, which no value depends on.
void jvp_custom_tangent(Op*, Forward&) {}

void transpose_custom_tangent(Op* op, Backward& backward) { backward.library().pull(op, backward); }

void jvp_kernel_call(Op* op, Forward& forward) { forward.refuse(op, "has no derivative yet"); }

// No operand is a float, so that it is never asked.
void jvp_none(Op* op, Forward& forward) { forward.refuse(op, "has no derivative"); }

}  // namespace tessera::graph
