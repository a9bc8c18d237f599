// Tensors without elements, where types say that they have none. What they are computed from, and how, has no say; what
// is computed from them is a number that the op's definition gives. So no kernel meets an extent of 0 but at run time.

#include <algorithm>
#include <limits>

#include "ir/graph/constants.h"
#include "ir/graph/eval_ops.h"
#include "passes/graph/canonicalize/patterns.h"

namespace tessera::canonical {

namespace {

using graph::OpKind;

bool is_empty(Value* value) {
  return std::ranges::any_of(value->type()->dims, [](Dim dim) { return dim->is_constant(0); });
}

bool replace_with(Op* op, Element element, Rewriter& rewriter) {
  Type type = op->result()->type();
  Attr value = graph::attribute_of(rewriter.context(), type->dtype, element);
  rewriter.replace(op, graph::uniform(rewriter, value, type));
  return true;
}

/// A value without elements. Views stay: a gir.slice may be out of bounds, which must not be forgotten.
bool no_elements(Op* op, Rewriter& rewriter) {
  bool computes = op->info().elementwise != ElementwiseKind::None;
  switch (graph::kind_of(op)) {
    case OpKind::Reduce:
    case OpKind::Gemm:
    case OpKind::Softmax:
    case OpKind::Rmsnorm:
    case OpKind::Embedding:
    case OpKind::CrossEntropy:
    case OpKind::Concat:
    case OpKind::PhiloxUniform:
    case OpKind::PhiloxNormal:
      computes = true;
      break;
    default:
      break;
  }
  return computes && is_empty(op->result()) && replace_with(op, {.i = 0}, rewriter);
}

/// What a reduction, or a matmul along k, makes of no element.
bool combines_nothing(Op* op, Rewriter& rewriter) {
  bool reduces = graph::kind_of(op) == OpKind::Reduce;
  if ((!reduces && graph::kind_of(op) != OpKind::Gemm) || !is_empty(op->operand(0))) return false;
  DType dtype = dtype_of(op->result());
  return replace_with(
      op, graph::reduction(reduces ? op->attr(graph::attr::Reduce::kind) : "sum", dtype).identity,
      rewriter);
}

/// The loss of a row without classes: no target is one of them.
bool no_classes(Op* op, Rewriter& rewriter) {
  bool none = graph::kind_of(op) == OpKind::CrossEntropy && is_empty(op->in(graph::in::CrossEntropy::logits));
  return none && replace_with(op, {.f = std::numeric_limits<double>::quiet_NaN()}, rewriter);
}

/// Parts of a concat that add nothing to it.
bool empty_part(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Concat) return false;
  std::vector<Value*> parts = op->ins(graph::in::Concat::parts);
  if (std::erase_if(parts, is_empty) == 0 || parts.empty()) return false;
  rewriter.replace(
      op, rewriter.value(graph::info(OpKind::Concat), {parts}, op->result()->type(),
                         {graph::attr::Concat::axis(op->node(graph::attr::Concat::axis))}));
  return true;
}

/// An update without elements.
bool empty_update(Op* op, Rewriter& rewriter) {
  return graph::kind_of(op) == OpKind::UpdateSlice && is_empty(op->in(graph::in::UpdateSlice::update)) &&
         replace_by(op, op->in(graph::in::UpdateSlice::buffer), rewriter);
}

constexpr Pattern patterns[] = {
    {"no_elements", no_elements},
    {"combines_nothing", combines_nothing},
    {"no_classes", no_classes},
    {"empty_part", empty_part},
    {"empty_update", empty_update},
};

}  // namespace

std::span<const Pattern> empty_patterns() {
  return patterns;
}

}  // namespace tessera::canonical
