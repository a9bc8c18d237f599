// Signs, bounds, comparisons and reductions whose order has no say. All hold bit by bit for every operand; where a law
// is one of integers or of floats alone, the pattern says why.

#include <algorithm>

#include "ir/graph/build.h"
#include "ir/graph/constants.h"
#include "passes/graph/canonicalize/patterns.h"

namespace tessera::canonical {

namespace {

using Kind = ElementwiseKind;
using graph::OpKind;

/// x * -1 and x / -1 change the sign. The least integer stays itself all three ways.
bool minus_one(Op* op, Rewriter& rewriter) {
  if (!is(op, Kind::Mul) && !is(op, Kind::Div)) return false;
  std::optional<Element> factor = graph::uniform_element(op->operand(1));
  if (!factor) return false;
  DType dtype = dtype_of(op->result());
  bool minus = is_float(dtype) ? factor->f == -1 : factor->i == -1;
  if (!minus || dtype_info(dtype).cls == DTypeClass::Unsigned) return false;
  return replace_with_op(op, Kind::Neg, {op->operand(0)}, rewriter);
}

/// -a * -b is a * b; -a / -b is a / b of floats (the least integer has no opposite to divide by).
bool two_signs(Op* op, Rewriter& rewriter) {
  bool divides = is(op, Kind::Div) && is_float(dtype_of(op->result()));
  if (!is(op, Kind::Mul) && !divides) return false;
  Op *a = def_of(op->operand(0), Kind::Neg), *b = def_of(op->operand(1), Kind::Neg);
  if (!a || !b) return false;
  return replace_with_op(op, op->info().elementwise, {a->operand(0), b->operand(0)}, rewriter);
}

/// min(min(x, c), d) is min(x, min(c, d)), of floats too: NaN wins in any order, and zeros are ordered.
bool two_bounds(Op* op, Rewriter& rewriter) {
  Kind kind = op->info().elementwise;
  if (kind != Kind::Min && kind != Kind::Max) return false;
  Op* inner = def_of(op->operand(0), kind);
  if (!inner) return false;
  std::optional<Element> c = graph::uniform_element(inner->operand(1));
  std::optional<Element> d = graph::uniform_element(op->operand(1));
  if (!c || !d) return false;
  DType dtype = dtype_of(op->result());
  Element both[2] = {*c, *d};
  Attr value = graph::attribute_of(rewriter.context(), dtype, evaluate_elementwise(kind, dtype, dtype, both));
  Value* bound = graph::uniform(rewriter, value, op->operand(1)->type());
  return replace_with_op(op, kind, {inner->operand(0), bound}, rewriter);
}

/// x < x holds nowhere; x <= x and x == x hold everywhere but for NaN.
bool compared_with_itself(Op* op, Rewriter& rewriter) {
  if (op->operand_count() != 2 || op->operand(0) != op->operand(1)) return false;
  bool is_int = !is_float(dtype_of(op->operand(0)));
  bool truth = false;
  switch (op->info().elementwise) {
    case Kind::Lt:
    case Kind::Gt:
      break;
    case Kind::Ne:
      if (!is_int) return false;
      break;
    case Kind::Eq:
    case Kind::Le:
    case Kind::Ge:
      if (!is_int) return false;
      truth = true;
      break;
    default:
      return false;
  }
  Type type = op->result()->type();
  Attr value = graph::attribute_of(rewriter.context(), DType::Bool, {.i = truth});
  rewriter.replace(op, graph::uniform(rewriter, value, type));
  return true;
}

/// Where a condition chooses between true and false, it is the condition or its opposite.
bool choice_of_truths(Op* op, Rewriter& rewriter) {
  if (!is(op, Kind::Select) || dtype_of(op->result()) != DType::Bool) return false;
  std::optional<Element> a = graph::uniform_element(op->operand(1)), b = graph::uniform_element(op->operand(2));
  if (!a || !b || a->i == b->i) return false;
  if (a->i) return replace_by(op, op->operand(0), rewriter);
  return replace_with_op(op, Kind::Not, {op->operand(0)}, rewriter);
}

/// |relu(x)| is relu(x); relu(|x|) is |x| of floats (the absolute value of the least integer is negative).
bool sign_is_known(Op* op, Rewriter& rewriter) {
  if (is(op, Kind::Abs)) {
    Op* inner = def_of(op->operand(0), Kind::Relu);
    return inner && replace_by(op, inner->result(), rewriter);
  }
  if (!is(op, Kind::Relu) || !is_float(dtype_of(op->result()))) return false;
  Op* inner = def_of(op->operand(0), Kind::Abs);
  return inner && replace_by(op, inner->result(), rewriter);
}

/// True if the elements may be combined in any order: the extremes of all dtypes, sums and products of integers.
bool any_order(Op* reduce) {
  std::string_view kind = reduce->attr(graph::attr::Reduce::kind);
  return kind == "max" || kind == "min" || !is_float(dtype_of(reduce->result()));
}

/// A reduction of what a reduction of the same kind gives to nobody else combines along the axes of both.
bool reduce_of_reduce(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Reduce || op->attr(graph::attr::Reduce::keep) || !any_order(op))
    return false;
  Op* inner = def_of(op->operand(0), OpKind::Reduce);
  bool fits = inner && !inner->attr(graph::attr::Reduce::keep) && inner->result()->has_one_use() &&
              inner->attr(graph::attr::Reduce::kind) == op->attr(graph::attr::Reduce::kind);
  if (!fits) return false;
  std::vector<int64_t> axes = inner->attr(graph::attr::Reduce::axes), left;
  for (size_t i = 0; i < inner->operand(0)->type()->rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), int64_t(i)) == axes.end()) left.push_back(int64_t(i));
  }
  for (int64_t axis : op->attr(graph::attr::Reduce::axes)) axes.push_back(left[size_t(axis)]);
  std::sort(axes.begin(), axes.end());
  op->set(graph::attr::Reduce::axes, axes);
  rewriter.set_operand(op, 0, inner->operand(0));
  return true;
}

/// Along axes of one element there is nothing to combine; but a sum of -0 alone is +0.
bool reduce_of_ones(Op* op, Rewriter& rewriter) {
  if (graph::kind_of(op) != OpKind::Reduce) return false;
  bool float_sum = op->attr(graph::attr::Reduce::kind) == "sum" && is_float(dtype_of(op->result()));
  std::vector<int64_t> axes = op->attr(graph::attr::Reduce::axes);
  const std::vector<Dim>& dims = op->operand(0)->type()->dims;
  bool ones = std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return dims[size_t(axis)]->is_constant(1); });
  if (float_sum || !ones) return false;
  Type type = op->result()->type();
  if (type->dims == dims) return replace_by(op, op->operand(0), rewriter);
  rewriter.replace(op, rewriter.value(graph::info(OpKind::Reshape), {{op->operand(0)}}, type));
  return true;
}

}  // namespace

std::span<const Pattern> order_patterns() {
  static constexpr Pattern patterns[] = {
      {"minus_one", minus_one},
      {"two_signs", two_signs},
      {"two_bounds", two_bounds},
      {"compared_with_itself", compared_with_itself},
      {"choice_of_truths", choice_of_truths},
      {"sign_is_known", sign_is_known},
      {"reduce_of_reduce", reduce_of_reduce},
      {"reduce_of_ones", reduce_of_ones},
  };
  return patterns;
}

}  // namespace tessera::canonical
