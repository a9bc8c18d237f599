#include "passes/graph/to_schedule/split_places.h"

#include <algorithm>
#include <optional>

#include "ir/core/common_attributes.h"
#include "ir/graph/build.h"
#include "passes/graph/to_schedule/reduction_parts.h"

namespace tessera {

namespace {

using graph::OpKind;
using Kind = ElementwiseKind;

/// A reduction to places, and what it is made of.
struct Places {
  Op* reduce = nullptr;
  Op* extreme = nullptr;  ///< the reduction of x
  bool finds_nan = false;
};

Value* unrepeated(Value* value) {
  while (value->def() && value->def()->is(graph::info(OpKind::Broadcast))) value = value->def()->operand(0);
  return value;
}

/// Whether all elements are the size, which is one of an integer dtype.
bool is_size(Value* value, Dim size) {
  Op* op = unrepeated(value)->def();
  while (op && op->is(graph::info(Kind::Cast)) && is_integer(op->result()->type()->dtype))
    op = unrepeated(op->operand(0))->def();
  if (!op) return false;
  if (op->is(graph::info(OpKind::Dim))) return op->attr(graph::attr::Dim::value) == size;
  Attr number = nullptr;
  if (op->is(graph::info(OpKind::Full))) number = op->attr(graph::attr::Full::value);
  if (op->is(graph::info(OpKind::Constant)) && op->attr(graph::attr::Constant::values).size() == 1)
    number = op->attr(graph::attr::Constant::values)[0];
  return number && number->is(AttrKind::Int) && size->is_constant(number->integer);
}

bool is_nan_test(Op* op, Value* x) {
  return op && op->is(graph::info(Kind::Ne)) && op->operand(0) == x && op->operand(1) == x;
}

/// The reduction along the same axis whose result, repeated along it, the op compares its operand with.
Op* compared_extreme(Op* equal, Op* reduce) {
  if (!equal || !equal->is(graph::info(Kind::Eq))) return nullptr;
  for (unsigned i = 0; i < 2; ++i) {
    Op* extreme = unrepeated(equal->operand(i))->def();
    bool fits = extreme && extreme->is(graph::info(OpKind::Reduce)) && extreme->block() == reduce->block() &&
                extreme->operand(0) == equal->operand(1 - i) &&
                extreme->node(graph::attr::Reduce::axes) == reduce->node(graph::attr::Reduce::axes);
    if (!fits) continue;
    std::string_view kind = extreme->attr(common::Along::kind);
    bool repeats_along = extreme->result()->type()->rank() == reduce->operand(0)->type()->rank();
    if (repeats_along && (kind == "max" || kind == "min")) return extreme;
  }
  return nullptr;
}

std::optional<Places> places_of(Op* reduce) {
  const std::vector<int64_t> axes = reduce->attr(graph::attr::Reduce::axes);
  Op* select = reduce->operand(0)->def();
  bool fits = axes.size() == 1 && reduce->attr(common::Along::kind) == "min" && select &&
              select->is(graph::info(Kind::Select)) && is_integer(reduce->result()->type()->dtype);
  if (!fits) return std::nullopt;
  size_t axis = size_t(axes[0]);
  Dim size = select->result()->type()->dims[axis];
  if (!numbers_along(select->operand(1), axis) || !is_size(select->operand(2), size)) return std::nullopt;
  Places places{reduce};
  Op* condition = select->operand(0)->def();
  if (condition && condition->is(graph::info(Kind::Or))) {
    for (unsigned i = 0; i < 2 && !places.extreme; ++i) {
      places.extreme = compared_extreme(condition->operand(i)->def(), reduce);
      bool fits_other = places.extreme && is_nan_test(condition->operand(1 - i)->def(), places.extreme->operand(0));
      if (!fits_other) places.extreme = nullptr;
    }
    places.finds_nan = true;
  } else {
    places.extreme = compared_extreme(condition, reduce);
  }
  return places.extreme ? std::optional(places) : std::nullopt;
}

class SplitPlaces {
 public:
  explicit SplitPlaces(const Places& places)
      : places_(places),
        builder_(*places.reduce->module()),
        table_(builder_.context().dims()),
        extreme_(builder_, places.extreme),
        first_(builder_, places.reduce) {}

  void run() {
    builder_.set_before(places_.extreme);
    builder_.set_loc(places_.reduce->loc());
    Found parts = find(extreme_.whole(elements_of_part)), rest = find(extreme_.rest(elements_of_part));
    bool has_rest = !extreme_.rest(elements_of_part).count->is_constant(0);
    std::vector<Dim> line = extreme_.around({table_.constant(1)});
    Value* top = graph::reduce(builder_, parts.extreme, extreme_.kind(), {extreme_.axis()}, true);
    if (has_rest) top = extreme_.combined(top, rest.extreme);
    Value* place = graph::reduce(builder_, of_equal(parts, top), "min", {extreme_.axis()}, true);
    if (has_rest) place = first_.combined(place, of_equal(rest, top));
    first_.replace(place);
    extreme_.replace(top);
  }

 private:
  /// The results of parts, [rows, parts].
  struct Found {
    Value* extreme;
    Value* place;  ///< in the row, i64
  };

  /// Where x is the extreme, or NaN.
  Value* holds(Value* x, Value* extreme) {
    Value* equal = graph::elementwise(builder_, Kind::Eq, {x, graph::broadcast_to(builder_, extreme, x->type()->dims)});
    if (!places_.finds_nan) return equal;
    return graph::elementwise(builder_, Kind::Or, {equal, graph::elementwise(builder_, Kind::Ne, {x, x})});
  }

  Found find(const ReducedPart& part) {
    Value* x = extreme_.read(places_.extreme->operand(0), part);
    const std::vector<Dim> dims = x->type()->dims;
    int64_t last = extreme_.axis() + int64_t(part.extents.size()) - 1;
    Value* extreme = graph::reduce(builder_, x, extreme_.kind(), {last}, true);
    // Every part has its extreme. One without elements, a rest, may have any place behind the others.
    Value* place = graph::iota(builder_, last, dims, DType::I32);
    Value* none = graph::full(builder_, double(elements_of_part), dims, DType::I32);
    place = graph::reduce(builder_, graph::select(builder_, holds(x, extreme), place, none), "min", {last});
    Dim one = table_.constant(1);
    bool is_rest = part.extents.size() == 1;
    std::vector<Dim> found = extreme_.around({is_rest ? one : part.extents[0]});
    return {graph::reshape(builder_, extreme, found), in_row(graph::reshape(builder_, place, found), part)};
  }

  /// Places in parts as places in the row.
  Value* in_row(Value* place, const ReducedPart& part) {
    const std::vector<Dim>& dims = place->type()->dims;
    Value* start = graph::broadcast_to(builder_, graph::dim(builder_, part.start), dims);
    if (part.extents.size() > 1) {
      Value* length = graph::broadcast_to(builder_, graph::dim(builder_, part.extents[1]), dims);
      Value* number = graph::iota(builder_, extreme_.axis(), dims, DType::I64);
      start = graph::add(builder_, start, graph::mul(builder_, number, length));
    }
    return graph::add(builder_, start, graph::cast(builder_, place, DType::I64));
  }

  /// The places of parts that have the row's extreme; the length of the row elsewhere.
  Value* of_equal(const Found& found, Value* top) {
    const std::vector<Dim>& dims = found.place->type()->dims;
    Value* none = graph::broadcast_to(builder_, graph::dim(builder_, extreme_.length()), dims);
    return graph::select(builder_, holds(found.extreme, top), found.place, none);
  }

  Places places_;
  Builder builder_;
  DimTable& table_;
  ReductionParts extreme_, first_;
};

}  // namespace

std::vector<Op*> split_places(const std::vector<Op*>& reductions) {
  std::vector<Op*> left = reductions;
  for (Op* reduce : reductions) {
    std::optional<Places> places = places_of(reduce);
    bool is_left = places && std::ranges::count(left, places->extreme) == 1 && std::ranges::count(left, reduce) == 1;
    if (!is_left) continue;
    std::erase(left, reduce);
    std::erase(left, places->extreme);
    SplitPlaces(*places).run();
  }
  return left;
}

}  // namespace tessera
