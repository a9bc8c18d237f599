#include "ir/graph/derive/term.h"

#include <algorithm>
#include <optional>

#include "ir/graph/constants.h"
#include "ir/graph/ops.h"

namespace tessera::graph {

DType derivative_dtype(DType dtype) {
  return dtype == DType::F64 ? DType::F64 : DType::F32;
}

Term wide(Builder& builder, Value* value) {
  return {&builder, cast(builder, value, derivative_dtype(value->type()->dtype))};
}

bool is_zero(Value* value) {
  std::optional<Element> element = uniform_element(value);
  return element && is_float(value->type()->dtype) && element->f == 0;
}

Value* sum(Builder& builder, Value* x, const std::vector<int64_t>& axes, bool keep) {
  if (axes.empty()) return x;
  return cast(builder, reduce(builder, wide(builder, x).value, "sum", axes, keep), x->type()->dtype);
}

Value* spread(Builder& builder, Value* x, const std::vector<int64_t>& axes, std::vector<Dim> dims) {
  std::vector<Dim> kept = dims;
  for (int64_t axis : axes) kept[size_t(axis)] = builder.context().dims().constant(1);
  return broadcast_to(builder, reshape(builder, x, std::move(kept)), std::move(dims));
}

namespace {

/// Zeros of x's dims but for the extent along an axis; null for none.
Value* zeros_along(Builder& builder, Value* x, int64_t axis, Dim extent) {
  if (extent->is_constant(0)) return nullptr;
  std::vector<Dim> dims = x->type()->dims;
  dims[size_t(axis)] = extent;
  return full(builder, 0, std::move(dims), x->type()->dtype);
}

/// x with step - 1 zeros behind each element along an axis, cut to `extent`.
Value* dilated(Builder& builder, Value* x, int64_t axis, int64_t step, Dim extent) {
  DimTable& table = builder.context().dims();
  std::vector<Dim> dims = x->type()->dims, single = dims;
  single.insert(single.begin() + axis + 1, table.constant(1));
  Value* column = reshape(builder, x, single);
  Value* spaced = concat(builder, {column, zeros_along(builder, column, axis + 1, table.constant(step - 1))}, axis + 1);
  dims[size_t(axis)] = table.mul(dims[size_t(axis)], table.constant(step));
  Value* whole = reshape(builder, spaced, dims);
  if (dims[size_t(axis)] == extent) return whole;
  dims[size_t(axis)] = extent;
  return slice(builder, whole, std::vector<Dim>(dims.size(), table.constant(0)), std::vector<int64_t>(dims.size(), 1),
               dims);
}

/// What a gir.concat puts in a place along its axis.
struct Piece {
  Value* value;
  Dim start, stop;
};

/// Parts that are not zeros; nothing for other ops, or where parts lie along another axis.
std::optional<std::vector<Piece>> pieces_of(DimTable& table, Value* value, int64_t axis) {
  Op* op = value->def();
  if (!op || !op->is(info(OpKind::Concat)) || op->attr(attr::Concat::axis) != axis) return std::nullopt;
  std::vector<Piece> found;
  Dim start = table.constant(0);
  for (Value* part : op->ins(in::Concat::parts)) {
    Dim stop = table.add(start, part->type()->dims[size_t(axis)]);
    if (!is_zero(part)) found.push_back({part, start, stop});
    start = stop;
  }
  return found;
}

/// The piece that begins at a place; else the first one behind it, if all places are known; null where it is not known.
const Piece* next_piece(const std::vector<Piece>& pieces, Dim place) {
  auto here = std::ranges::find(pieces, place, &Piece::start);
  if (here != pieces.end()) return &*here;
  const Piece* first = nullptr;
  for (const Piece& each : pieces) {
    if (!each.start->constant() || !place->constant() || *each.start->constant() < *place->constant()) return nullptr;
    if (!first || *each.start->constant() < *first->start->constant()) first = &each;
  }
  return first;
}

}  // namespace

Value* total(Builder& builder, Value* a, Value* b) {
  DimTable& table = builder.context().dims();
  Op* concat_of_a = a->def();
  if (!concat_of_a || !concat_of_a->is(info(OpKind::Concat))) return add(builder, a, b);
  int64_t axis = concat_of_a->attr(attr::Concat::axis);
  auto pieces = pieces_of(table, a, axis), others = pieces_of(table, b, axis);
  if (!pieces || !others) return add(builder, a, b);
  pieces->insert(pieces->end(), others->begin(), others->end());
  if (pieces->empty()) return a;
  std::vector<Value*> parts;
  Dim place = table.constant(0), extent = a->type()->dims[size_t(axis)];
  auto fill_to = [&](Dim stop) {
    if (Value* zeros = zeros_along(builder, a, axis, table.sub(stop, place))) parts.push_back(zeros);
  };
  while (!pieces->empty()) {
    const Piece* next = next_piece(*pieces, place);
    if (!next) return add(builder, a, b);
    fill_to(next->start);
    parts.push_back(next->value);
    place = next->stop;
    pieces->erase(pieces->begin() + (next - pieces->data()));
  }
  fill_to(extent);
  return concat(builder, parts, axis);
}

Value* scattered(Builder& builder, Value* x, int64_t axis, Dim start, int64_t step, Dim extent) {
  DimTable& table = builder.context().dims();
  Dim room = table.sub(extent, start), length = x->type()->dims[size_t(axis)];
  if (step != 1) {
    // The zeros behind the last element may be more than there is room for.
    length = table.min(table.mul(length, table.constant(step)), room);
    x = dilated(builder, x, axis, step, length);
  }
  std::vector<Value*> parts;
  if (Value* before = zeros_along(builder, x, axis, start)) parts.push_back(before);
  parts.push_back(x);
  if (Value* after = zeros_along(builder, x, axis, table.sub(room, length))) parts.push_back(after);
  Value* all = parts.size() == 1 ? x : concat(builder, parts, axis);
  std::vector<Dim> dims = all->type()->dims;
  dims[size_t(axis)] = extent;
  return reshape(builder, all, dims);
}

}  // namespace tessera::graph
