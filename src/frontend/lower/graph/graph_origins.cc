// Finds where the size of an axis comes from. For `h = x @ w` a message says that the last axis of
// `h` is as long as an axis of `w`, with the place where `w` is declared. The source is found by
// following the ops back. A result has an extent from the operand that has the same one, at the
// same position counted from the right if possible; a matmul has its columns from the right
// operand. Where two axes are possible the search ends, and the op is the place.

#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/origins.h"
#include "ir/graph/ops.h"

namespace tessera::frontend {

namespace {

/// Ops are followed this far.
constexpr int most_steps = 64;

/// The axis of an operand that has the extent; null when it is none or may be any of several.
ValueAxis axis_with(const Value* operand, Dim extent, size_t from_right) {
  if (!operand->type()->is(TypeKind::Tensor)) return {};
  const std::vector<Dim>& dims = operand->type()->dims;
  if (from_right < dims.size() && dims[dims.size() - 1 - from_right] == extent) {
    return {operand, dims.size() - 1 - from_right};
  }
  size_t count = size_t(std::count(dims.begin(), dims.end(), extent));
  if (count != 1) return {};
  return {operand, size_t(std::find(dims.begin(), dims.end(), extent) - dims.begin())};
}

/// The axis of an operand that an axis of a result has its extent from.
ValueAxis before(const ValueAxis& here) {
  const Op* op = here.value->def();
  if (!op) return {entering(here.value), here.axis};
  if (op->operand_count() == 0 || op->region_count() != 0) return {};
  const std::vector<Dim>& dims = here.value->type()->dims;
  size_t from_right = dims.size() - 1 - here.axis;
  Dim extent = dims[here.axis];
  bool is_matmul = op->is(graph::info(graph::OpKind::Gemm));
  if (is_matmul && from_right == 0) return axis_with(op->operand(1), extent, 0);
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    if (ValueAxis found = axis_with(op->operand(i), extent, from_right); found.value) return found;
  }
  return {};
}

}  // namespace

ValueAxis GraphBuilder::declared_axis(const IrValue& value, size_t axis) const {
  ValueAxis at{value.value, axis};
  for (int step = 0; at.value && step < most_steps; ++step) {
    auto written = function_.dim_places.find(at.value);
    if (written != function_.dim_places.end() && at.axis < written->second.size()) return at;
    at = before(at);
  }
  return {};
}

Loc GraphBuilder::declared_at(const Value* value) const {
  auto written = function_.dim_places.find(value);
  if (written != function_.dim_places.end() && !written->second.empty()) return written->second.back();
  auto type = function_.type_places.find(value);
  return type == function_.type_places.end() ? Loc{} : type->second;
}

Loc GraphBuilder::place_of(const IrValue& value, size_t axis) const {
  ValueAxis declared = declared_axis(value, axis);
  return declared.value ? function_.dim_places.at(declared.value)[declared.axis] : value.origin;
}

/// Where a value is made that a loop changes; else the value's own place.
Loc GraphBuilder::made_at(const IrValue& value) const {
  const Value* first = value.value;
  for (int step = 0; first && !first->def() && step < most_steps; ++step) {
    const Value* before = entering(first);
    if (!before) break;
    first = before;
  }
  bool is_carried = first != value.value && first->def() && !session().is_builtin(first->def()->loc());
  return is_carried ? first->def()->loc() : value.origin;
}

DimPlace GraphBuilder::place(const IrValue& value, size_t axis, std::string_view otherwise) const {
  std::string what = dimension_of(axis, subject(value, otherwise));
  const std::vector<Dim>& dims = value.value->type()->dims;
  DimPlace result{dims[axis], made_at(value), std::move(what), "", {}, to_text(dims)};
  ValueAxis declared = declared_axis(value, axis);
  if (!declared.value) return result;
  result.loc = function_.dim_places.at(declared.value)[declared.axis];
  for (const auto& [declaration, argument] : function_.params) {
    if (argument == declared.value) result.instance = declaration->instance;
  }
  std::string from = dimension_of(declared.axis, fmt::format("'{}'", declared.value->name()));
  if (declared.value != value.value && from != result.what) result.from = std::move(from);
  return result;
}

}  // namespace tessera::frontend
