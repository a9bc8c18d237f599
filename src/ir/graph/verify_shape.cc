#include <algorithm>
#include <cmath>

#include "ir/core/dim_facts.h"
#include "ir/graph/op_facts.h"
#include "ir/graph/verify.h"

namespace tessera::graph {

bool expect_dtype_of(Op* op, OpVerifier& verifier, Value* operand) {
  DType wanted = operand->type()->dtype, dtype = op->result()->type()->dtype;
  if (dtype == wanted) return true;
  verifier.error("the result has dtype {}, not {}", to_string(dtype), to_string(wanted));
  return false;
}

bool expect_inferred(Op* op, OpVerifier& verifier) {
  Type wanted = facts(op).infer(op, 0);
  return expect_result(op, verifier, wanted->dims, wanted->dtype);
}

namespace {

/// True if an integer can be stored in the dtype. All of i64 stands for the 64 bits of a u64.
bool fits(DType dtype, int64_t value) {
  unsigned bits = dtype_info(dtype).bits;
  if (dtype == DType::Bool) return value == 0 || value == 1;
  if (bits == 64) return true;
  if (dtype_info(dtype).cls == DTypeClass::Unsigned) return value >= 0 && value >> bits == 0;
  return value >> (bits - 1) == 0 || value >> (bits - 1) == -1;
}

void check_element(Attr value, DType dtype, OpVerifier& verifier) {
  if (is_float(dtype)) {
    if (value->is(AttrKind::Float) || value->is(AttrKind::Int)) return;
    verifier.error("'{}' is not a number", value->text);
  } else if (dtype == DType::Bool && value->is(AttrKind::Bool)) {
    return;
  } else if (!value->is(AttrKind::Int) || !fits(dtype, value->integer)) {
    verifier.error("'{}' is not a value of {}", value->text, to_string(dtype));
  }
}

}  // namespace

void verify_full(Op* op, OpVerifier& verifier) {
  DType dtype = op->result()->type()->dtype;
  Attr value = op->attr(attr::Full::value);
  if (is_float(dtype)) return;
  bool whole = value->is(AttrKind::Int) || std::trunc(value->number) == value->number;
  bool in_range = value->is(AttrKind::Int) || std::fabs(value->number) <= 0x1p53;
  int64_t integer = value->is(AttrKind::Int) ? value->integer
                    : in_range               ? int64_t(value->number)
                                             : 0;
  if (!whole || !in_range || !fits(dtype, integer)) {
    verifier.error("'{}' is not a value of {}", value->text, to_string(dtype));
  }
}

void verify_constant(Op* op, OpVerifier& verifier) {
  Type type = op->result()->type();
  Dim count = element_count(op->module()->context().dims(), type->dims);
  const std::vector<Attr>& values = op->attr(attr::Constant::values);
  if (!count->constant())
    return verifier.error("its dims must be numbers, not {}", to_text(type->dims));
  if (*count->constant() != int64_t(values.size())) {
    return verifier.error("{} elements do not make a {}", values.size(), type->text);
  }
  for (Attr value : values) {
    check_element(value, type->dtype, verifier);
    if (verifier.failed()) return;
  }
}

void verify_iota(Op* op, OpVerifier& verifier) {
  Type type = op->result()->type();
  int64_t axis = op->attr(attr::Iota::axis);
  if (axis < 0 || axis >= int64_t(type->rank())) {
    verifier.error("axis {} is outside 0 to {}", axis, int64_t(type->rank()) - 1);
  }
  if (!is_integer(type->dtype))
    verifier.error("coordinates are integers, not {}", to_string(type->dtype));
}

void verify_dim(Op* op, OpVerifier& verifier) {
  expect_inferred(op, verifier);
}

void verify_broadcast(Op* op, OpVerifier& verifier) {
  Value* a = op->in(in::Broadcast::a);
  const std::vector<Dim>& from = a->type()->dims;
  const std::vector<Dim>& to = op->result()->type()->dims;
  if (!expect_dtype_of(op, verifier, a)) return;
  if (from.size() > to.size()) {
    return verifier.error("the operand's rank {} is more than the result's {}", from.size(),
                          to.size());
  }
  for (size_t i = 0; i < from.size(); ++i) {
    Dim extent = to[to.size() - from.size() + i];
    if (from[i] == extent || from[i]->is_constant(1)) continue;
    return verifier.error("{} does not repeat to {} along axis {}", from[i]->text, extent->text, i);
  }
}

void verify_reshape(Op* op, OpVerifier& verifier) {
  Context& context = op->module()->context();
  Value* a = op->in(in::Reshape::a);
  if (!expect_dtype_of(op, verifier, a)) return;
  Dim from = element_count(context.dims(), a->type()->dims);
  Dim to = element_count(context.dims(), op->result()->type()->dims);
  if (from->overflow || to->overflow)
    return verifier.error("the number of elements overflows 64 bits");
  if (from == to) return;
  std::vector<DimFact> known = facts_around(op);
  bool equal = one_form(context.dims(), from, known) == one_form(context.dims(), to, known);
  if (!equal) verifier.error("{} elements do not make {}", from->text, to->text);
}

void verify_transpose(Op* op, OpVerifier& verifier) {
  Value* a = op->in(in::Transpose::a);
  std::vector<int64_t> perm = op->attr(attr::Transpose::perm), sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool each_once = sorted.size() == a->type()->rank();
  for (size_t i = 0; each_once && i < sorted.size(); ++i) each_once = sorted[i] == int64_t(i);
  if (!each_once) return verifier.error("'perm' must name each axis of {} once", a->type()->text);
  expect_inferred(op, verifier);
}

namespace {

/// Reports elements that certainly lie outside the operand; cases that depend on dims are checked
/// when it is run.
void check_slice_axis(Op* op, size_t axis, Dim start, int64_t step, OpVerifier& verifier) {
  DimTable& dims = op->module()->context().dims();
  Dim extent = op->in(in::Slice::a)->type()->dims[axis];
  Dim count = op->result()->type()->dims[axis];
  if (step < 1)
    return verifier.error("the step along axis {} is {}, which is not positive", axis, step);
  if (interval(start).high.value_or(0) < 0) {
    return verifier.error("the start along axis {} is below 0: {}", axis, start->text);
  }
  // The last element is start + (count-1)*step; with no element there is nothing to check.
  Dim last = dims.add(start, dims.mul(dims.sub(count, dims.constant(1)), dims.constant(step)));
  bool some = interval(count).low.value_or(0) > 0;
  if (some && proves_le(dims, extent, last)) {
    verifier.error("element {} along axis {} is outside an extent of {}", last->text, axis,
                   extent->text);
  }
}

}  // namespace

void verify_slice(Op* op, OpVerifier& verifier) {
  Value* a = op->in(in::Slice::a);
  AttrList starts = op->attr(attr::Slice::starts);
  AttrList steps = op->attr(attr::Slice::steps);
  size_t rank = a->type()->rank();
  if (!expect_dtype_of(op, verifier, a)) return;
  if (starts.size() != rank || steps.size() != rank || op->result()->type()->rank() != rank) {
    return verifier.error("starts, steps and dims must be {} each", rank);
  }
  for (size_t i = 0; i < rank && !verifier.failed(); ++i) {
    check_slice_axis(op, i, starts[i], steps[i], verifier);
  }
}

void verify_windows(Op* op, OpVerifier& verifier) {
  DimTable& table = op->module()->context().dims();
  Value* a = op->in(in::Windows::a);
  const std::vector<Dim>& from = a->type()->dims;
  const std::vector<Dim>& to = op->result()->type()->dims;
  int64_t axis = op->attr(attr::Windows::axis), step = op->attr(attr::Windows::step),
          dilation = op->attr(attr::Windows::dilation);
  if (!expect_dtype_of(op, verifier, a)) return;
  if (axis < 0 || axis >= int64_t(from.size())) {
    return verifier.error("axis {} is outside 0 to {}", axis, int64_t(from.size()) - 1);
  }
  if (step < 1 || dilation < 1) {
    return verifier.error("step and dilation must be positive, not {} and {}", step, dilation);
  }
  std::vector<Dim> others(to.begin(), to.end() - (to.empty() ? 0 : 1));
  if (others.size() == from.size()) others[size_t(axis)] = from[size_t(axis)];
  if (others != from) {
    return verifier.error("{} does not become {} by windows along axis {}", to_text(from), to_text(to), axis);
  }
  // The last element of the last window.
  Dim one = table.constant(1);
  Dim count = to[size_t(axis)], size = to.back();
  Dim last = table.add(table.mul(table.sub(count, one), table.constant(step)),
                       table.mul(table.sub(size, one), table.constant(dilation)));
  bool some = interval(count).low.value_or(0) > 0 && interval(size).low.value_or(0) > 0;
  if (some && proves_le(table, from[size_t(axis)], last)) {
    verifier.error("element {} along axis {} is outside an extent of {}", last->text, axis, from[size_t(axis)]->text);
  }
}

void verify_concat(Op* op, OpVerifier& verifier) {
  if (op->operand_count() == 0) return verifier.error("it needs a part");
  Type first = op->operand(0)->type();
  int64_t axis = op->attr(attr::Concat::axis);
  if (axis < 0 || axis >= int64_t(first->rank())) {
    return verifier.error("axis {} is outside 0 to {}", axis, int64_t(first->rank()) - 1);
  }
  for (unsigned i = 1; i < op->operand_count(); ++i) {
    Type part = op->operand(i)->type();
    std::vector<Dim> others = part->dims;
    if (others.size() == first->rank()) others[size_t(axis)] = first->dims[size_t(axis)];
    if (others != first->dims || part->dtype != first->dtype) {
      return verifier.error("part {} is {}, which does not continue {} along axis {}", i,
                            part->text, first->text, axis);
    }
  }
  expect_inferred(op, verifier);
}

}  // namespace tessera::graph
