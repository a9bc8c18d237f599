// Tensors without elements, where types say that they have none. What they are computed from, and how, has no say; what
// is computed from them is a number that the op's definition gives. So a kernel sees an extent of 0 only at run time.

#include <limits>

#include "ir/graph/constants.h"
#include "ir/graph/empty.h"
#include "ir/graph/eval_ops.h"
#include "passes/graph/canonicalize/patterns.h"

namespace tessera::canonical {

namespace {

using graph::OpKind;

bool replace_with(Op* op, Element element, Rewriter& rewriter) {
  Type type = op->result()->type();
  Attr value = graph::attribute_of(rewriter.context(), type->dtype, element);
  rewriter.replace(op, graph::uniform(rewriter, value, type));
  return true;
}

/// A value without elements. Views stay: a gir.slice may be out of bounds, which must not be forgotten.
bool no_elements(Op* op, Rewriter& rewriter) {
  return graph::computes_nothing(op) && replace_with(op, {.i = 0}, rewriter);
}

/// What a reduction, or a matmul along k, makes of no element.
bool combines_nothing(Op* op, Rewriter& rewriter) {
  if (!graph::combines_nothing(op)) return false;
  bool reduces = graph::kind_of(op) == OpKind::Reduce;
  DType dtype = dtype_of(op->result());
  return replace_with(
      op, graph::reduction(reduces ? op->attr(graph::attr::Reduce::kind) : "sum", dtype).identity,
      rewriter);
}

/// The loss of a row without classes: no target is one of them.
bool no_classes(Op* op, Rewriter& rewriter) {
  return graph::has_no_classes(op) && replace_with(op, {.f = std::numeric_limits<double>::quiet_NaN()}, rewriter);
}

/// Parts of a concat that add nothing to it.
bool empty_part(Op* op, Rewriter& rewriter) {
  if (!graph::has_empty_part(op)) return false;
  std::vector<Value*> parts = op->ins(graph::in::Concat::parts);
  std::erase_if(parts, graph::is_empty);
  rewriter.replace(
      op, rewriter.value(graph::info(OpKind::Concat), {parts}, op->result()->type(),
                         {graph::attr::Concat::axis(op->node(graph::attr::Concat::axis))}));
  return true;
}

/// An update without elements.
bool empty_update(Op* op, Rewriter& rewriter) {
  return graph::kind_of(op) == OpKind::UpdateSlice && graph::is_empty(op->in(graph::in::UpdateSlice::update)) &&
         replace_by(op, op->in(graph::in::UpdateSlice::buffer), rewriter);
}

}  // namespace

std::span<const Pattern> empty_patterns() {
  static constexpr Pattern patterns[] = {
      {"no_elements", no_elements},
      {"combines_nothing", combines_nothing},
      {"no_classes", no_classes},
      {"empty_part", empty_part},
      {"empty_update", empty_update},
  };
  return patterns;
}

}  // namespace tessera::canonical
