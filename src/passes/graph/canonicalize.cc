// Brings every op into its one accepted form, so that equal things look equal to the passes after
// it, and does what can be done at compile time.
//
// What may change is bounded by what the language promises: numerics are in the types, never in the
// optimiser. A pattern therefore holds for every operand bit by bit: NaN, infinities, both zeros
// and denormals included; x * 1 is x, but x + 0.0 is not (-0.0 + 0.0 is 0.0) and x * 0 is not 0.
// Nothing is reassociated but integers, whose arithmetic wraps. No cast is added, and one is
// dropped only where it is shown to round nothing. tests/unit/passes/canonicalize_test.cc runs each
// pattern against the interpreter.
//
// The patterns are plain functions, in sets by subject under canonicalize/; the driver is
// ir/core/rewrite.h.

#include "passes/graph/canonicalize/patterns.h"
#include "passes/pass.h"

namespace tessera {

namespace canonical {

bool may_stand_for(Op* op, Value* value) {
  Value* result = op->result();
  if (result->type() == value->type()) return true;
  for (Use* use = result->first_use(); use; use = use->next()) {
    if (use->owner()->is_terminator()) return false;
  }
  return same_dims(result->type(), value->type()) && result->type()->dtype == value->type()->dtype;
}

bool replace_by(Op* op, Value* value, Rewriter& rewriter) {
  if (!may_stand_for(op, value)) return false;
  rewriter.replace(op, value);
  return true;
}

bool replace_with_op(Op* op, ElementwiseKind kind, std::initializer_list<Value*> operands, Rewriter& rewriter) {
  std::vector<std::vector<Value*>> slots;
  for (Value* value : operands) slots.push_back({value});
  rewriter.replace(op, rewriter.value(graph::info(kind), std::move(slots), op->result()->type()));
  return true;
}

}  // namespace canonical

Status canonicalize(Module& module, PassContext&) {
  std::vector<Pattern> patterns;
  for (auto set : {canonical::constant_patterns(), canonical::empty_patterns(), canonical::cast_patterns(),
                   canonical::algebra_patterns(), canonical::order_patterns(),
                   canonical::view_patterns()}) {
    patterns.insert(patterns.end(), set.begin(), set.end());
  }
  for (Op* function : *module.body()) rewrite(function, patterns);
  return success;
}

}  // namespace tessera
