// Constants: one form for each, and arithmetic on them done now.
//
// Elementwise ops are folded by the function that defines them (evaluate_elementwise), but only
// those whose result IEEE 754 or integer arithmetic fixes: an exponential or a sine would bring the
// last bit of this machine's library into the bundle.

#include "ir/graph/constants.h"

#include <algorithm>

#include "ir/numbers/elementwise.h"
#include "passes/graph/canonicalize/patterns.h"

namespace tessera::canonical {

namespace {

using graph::OpKind;

/// Larger constants are left to the program: folding them would make the bundle grow.
constexpr size_t most_elements = 1024;

/// A cast whose type asks for more than rounding is left alone.
bool is_foldable(Op* op) {
  ElementwiseKind kind = op->info().elementwise;
  if (kind == ElementwiseKind::None || is_transcendental(kind)) return false;
  const Policies& policies = op->result()->type()->policies;
  if (kind == ElementwiseKind::Cast && (policies.saturate || policies.stochastic_round))
    return false;
  return true;
}

/// The element at place `i` of a value that is the same everywhere or a gir.constant.
Element element_at(Value* value, size_t i) {
  if (std::optional<Element> everywhere = graph::uniform_element(value)) return *everywhere;
  return graph::element_of(value->def()->attr(graph::attr::Constant::values)[i],
                           value->type()->dtype);
}

Attr folded(Op* op, size_t i) {
  Element operands[3];
  for (unsigned o = 0; o < op->operand_count(); ++o) operands[o] = element_at(op->operand(o), i);
  DType from = op->operand(op->operand_count() - 1)->type()->dtype;
  DType to = op->result()->type()->dtype;
  Element result =
      evaluate_elementwise(op->info().elementwise, from, to, {operands, op->operand_count()});
  return graph::attribute_of(op->module()->context(), to, result);
}

/// An elementwise op on constants is a constant.
bool fold_elementwise(Op* op, Rewriter& rewriter) {
  if (op->operand_count() == 0 || !is_foldable(op)) return false;
  size_t count = 1;  // stays 1 when every operand is the same everywhere
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    Value* operand = op->operand(i);
    if (graph::uniform_value(operand)) continue;
    Op* constant = def_of(operand, OpKind::Constant);
    if (!constant || constant->attr(graph::attr::Constant::values).size() > most_elements)
      return false;
    count = constant->attr(graph::attr::Constant::values).size();
  }
  Type type = op->result()->type();
  if (count == 1) {
    rewriter.replace(op, graph::uniform(rewriter, folded(op, 0), type));
    return true;
  }
  std::vector<Attr> values;
  for (size_t i = 0; i < count; ++i) values.push_back(folded(op, i));
  rewriter.replace(
      op, rewriter.value(graph::info(OpKind::Constant), {}, type,
                         {graph::attr::Constant::values(rewriter.context(), std::move(values))}));
  return true;
}

/// A constant of equal elements is a gir.full.
bool uniform_constant(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Constant) return false;
  Attr value = graph::uniform_value(op->result());
  if (!value || !graph::is_full_value(value, op->result()->type()->dtype)) return false;
  rewriter.replace(op, graph::uniform(rewriter, value, op->result()->type()));
  return true;
}

/// The value of a gir.full is a Float for float dtypes and an Int for others.
bool full_value(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Full) return false;
  Context& context = rewriter.context();
  DType dtype = op->result()->type()->dtype;
  Attr value = op->attr(graph::attr::Full::value);
  Attr wanted = is_float(dtype)
                    ? context.number(value->number)
                    : graph::attribute_of(context, dtype, graph::element_of(value, dtype));
  if (value == wanted) return false;
  op->set_node(graph::attr::Full::value, wanted);
  rewriter.changed(op);
  return true;
}

/// The value of a dimension expression that is a number.
bool constant_dim(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Dim) return false;
  std::optional<int64_t> value = op->attr(graph::attr::Dim::value)->constant();
  if (!value) return false;
  rewriter.replace(
      op, graph::uniform(rewriter, rewriter.context().integer(*value), op->result()->type()));
  return true;
}

/// Along an axis of extent 1 the only coordinate is 0.
bool single_coordinate(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Iota) return false;
  Type type = op->result()->type();
  if (!type->dims[size_t(op->attr(graph::attr::Iota::axis))]->is_constant(1)) return false;
  rewriter.replace(op, graph::uniform(rewriter, rewriter.context().integer(0), type));
  return true;
}

/// Another view of equal elements is the same elements under other dims.
bool view_of_uniform(Op* op, Rewriter& rewriter) {
  switch (graph::kind_of(op)) {
    case OpKind::Broadcast:
    case OpKind::Reshape:
    case OpKind::Transpose:
      break;
    default:
      return false;  // a gir.slice may be out of bounds, which must not be forgotten
  }
  Attr value = graph::uniform_value(op->operand(0));
  if (!value || !graph::is_full_value(value, op->result()->type()->dtype)) return false;
  rewriter.replace(op, graph::uniform(rewriter, value, op->result()->type()));
  return true;
}

}  // namespace

std::span<const Pattern> constant_patterns() {
  static constexpr Pattern patterns[] = {
      {"uniform_constant", uniform_constant}, {"full_value", full_value},
      {"constant_dim", constant_dim},         {"single_coordinate", single_coordinate},
      {"view_of_uniform", view_of_uniform},   {"fold_elementwise", fold_elementwise},
  };
  return patterns;
}

}  // namespace tessera::canonical
