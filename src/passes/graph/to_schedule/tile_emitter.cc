#include "passes/graph/to_schedule/tile_emitter.h"

#include <algorithm>
#include <limits>

#include "ir/graph/ops.h"
#include "ir/schedule/ops.h"
#include "support/check.h"

namespace tessera {

namespace {

using graph::OpKind;
using ScheduleOp = schedule::OpKind;

/// A constant of the op table's kind: integers are given as integers.
Attr number_of(Context& context, Attr value, DType dtype) {
  if (value->is(AttrKind::Bool)) return context.integer(value->boolean ? 1 : 0);
  if (is_float(dtype) || value->is(AttrKind::Int)) return value;
  return context.integer(int64_t(value->number));
}

}  // namespace

TileEmitter::TileEmitter(Builder& builder, const GraphReads& reads, const FusionGroup& group,
                         const KernelSpace& space, std::vector<Dim> blocks,
                         std::vector<Value*> indices)
    : builder_(builder),
      context_(builder.context()),
      reads_(reads),
      group_(group),
      space_(space),
      blocks_(std::move(blocks)),
      indices_(std::move(indices)) {}

void TileEmitter::emit(Op* member) {
  builder_.set_loc(member->loc());
  std::vector<Dim> shape = shape_of(group_.maps.at(member->result()));
  Value*& made = tiles_[member->result()];
  if (graph_role(member) == GraphRole::Source) {
    made = source(member, group_.maps.at(member->result()), shape);
  } else if (graph_role(member) == GraphRole::View) {
    made = widen(operand(member, 0), shape);
  } else if (graph::kind_of(member) == OpKind::Reduce) {
    made = reduce(member);
  } else {
    made = elementwise(member, std::move(shape));
  }
}

Value* TileEmitter::elementwise(Op* member, std::vector<Dim> shape) {
  std::vector<Value*> tiles;
  for (unsigned i = 0; i < reads_.operand_count(member); ++i) tiles.push_back(operand(member, i));
  // The tile of an anchor may be larger than 1 along an axis of extent 1, which is no iteration
  // axis.
  for (Value* tile : tiles) {
    for (size_t k = 0; k < shape.size(); ++k) {
      if (shape[k]->is_constant(1)) shape[k] = tile->type()->dims[k];
    }
  }
  Type result = member->result()->type();
  if (result->policies.saturate) tiles[0] = clamped(tiles[0], result->dtype);
  std::vector<std::vector<Value*>> operands;
  for (Value* tile : tiles) operands.push_back({widen(tile, shape)});
  return builder_.value(schedule::info(member->info().elementwise), operands,
                        tile_type(shape, member->result()->type()->dtype));
}

/// The operand of a saturating cast within what the dtype can hold. Floats are of a dtype that has all values of both;
/// the cast of a float to an integer clamps by itself, and any number but 0 is true.
Value* TileEmitter::clamped(Value* tile, DType dtype) {
  if (dtype == DType::Bool) return tile;
  DType from = tile->type()->dtype;
  if (!is_float(from)) {
    IntegerRange all = integer_range(from), kept = integer_range(dtype);
    if (kept.greatest < all.greatest) tile = bounded(tile, ElementwiseKind::Min, int64_t(kept.greatest));
    return kept.least > all.least ? bounded(tile, ElementwiseKind::Max, kept.least) : tile;
  }
  if (!is_float(dtype)) return tile;
  Type type = tile_type(tile->type()->dims, from == DType::F64 || dtype == DType::F64 ? DType::F64 : DType::F32);
  if (tile->type() != type) tile = builder_.value(schedule::info(ElementwiseKind::Cast), {{tile}}, type);
  double greatest = decode_float(dtype, encode_float(dtype, std::numeric_limits<double>::infinity(), true));
  return bounded(bounded(tile, ElementwiseKind::Min, greatest), ElementwiseKind::Max, -greatest);
}

/// Each element or the bound: the lesser or the greater of the two.
template <typename Number>
Value* TileEmitter::bounded(Value* tile, ElementwiseKind kind, Number bound) {
  Value* limit = builder_.value(schedule::info(ScheduleOp::Full), {}, tile->type(),
                                {schedule::attr::Full::value(context_, bound)});
  return builder_.value(schedule::info(kind), {{tile}, {limit}}, tile->type());
}

Value* TileEmitter::operand(Op* member, unsigned position) {
  const Read& read = reads_.read(member, position);
  AxisMap map = operand_map(group_, member, position);
  Value* tile = nullptr;
  if (reads_group_value(group_, read)) {
    tile = tiles_.at(read.base);
  } else if (Op* op = read_source(reads_, read)) {
    // A uniform source takes the reader's shape at once. Its base's axes are known only when it is
    // relabelled.
    AxisMap axes = read.relabels ? base_map(read, map) : AxisMap(read.base->type()->rank(), -1);
    tile = source(op, axes, shape_of(map));
  } else {
    tile = load(
        collapse(reads_.dims(), space_, group_,
                 {read.base, iteration_strides(reads_.dims(), read, map, group_.extents.size()),
                  read.access.offset}));
  }
  for (DType dtype : read.casts) {
    Value*& cast = casts_[{tile, dtype}];
    if (!cast) {
      cast = builder_.value(schedule::info(ElementwiseKind::Cast), {{tile}},
                            tile_type(tile->type()->dims, dtype));
    }
    tile = cast;
  }
  return tile;
}

Value* TileEmitter::source(Op* op, const AxisMap& map, const std::vector<Dim>& shape) {
  Type type = tile_type(shape, op->result()->type()->dtype);
  auto full = [&](Attr value) {
    return builder_.value(schedule::info(ScheduleOp::Full), {}, type,
                          {schedule::attr::Full::value(number_of(context_, value, type->dtype))});
  };
  switch (graph::kind_of(op)) {
    case OpKind::Full:
      return full(op->attr(graph::attr::Full::value));
    case OpKind::Constant:
      return full(op->attr(graph::attr::Constant::values)[0]);
    case OpKind::Dim: {
      Dim value = op->attr(graph::attr::Dim::value);
      if (auto constant = value->constant()) return full(context_.integer(*constant));
      Value* scalar =
          builder_.value(schedule::info(ScheduleOp::Dim), {}, context_.scalar(DType::I64),
                         {schedule::attr::Dim::value(context_, value)});
      return builder_.value(schedule::info(ScheduleOp::Splat), {{scalar}}, type);
    }
    case OpKind::Iota:
      return coordinate(op, map);
    default:
      TSR_UNREACHABLE("not a source: " + std::string(op->name()));
  }
}

Value* TileEmitter::coordinate(Op* iota, const AxisMap& map) {
  DType dtype = iota->result()->type()->dtype;
  int axis = map[size_t(iota->attr(graph::attr::Iota::axis))];
  std::vector<Dim> shape(space_.rank(), reads_.dims().constant(1));
  if (axis < 0) {
    return builder_.value(schedule::info(ScheduleOp::Full), {}, tile_type(shape, dtype),
                          {schedule::attr::Full::value(context_, 0)});
  }
  int kernel_axis = space_.axis_of[size_t(axis)];
  Dim block = blocks_[size_t(kernel_axis)];
  shape[size_t(kernel_axis)] = block;
  Type wide = tile_type(shape, DType::I64);
  Value* tile = builder_.value(schedule::info(ScheduleOp::Iota), {}, wide,
                               {schedule::attr::Iota::axis(context_, kernel_axis)});
  if (Value* program = indices_[size_t(kernel_axis)]) {
    Type index = context_.scalar(DType::I64);
    Value* size = builder_.value(schedule::info(ScheduleOp::Dim), {}, index,
                                 {schedule::attr::Dim::value(context_, block)});
    Value* first = builder_.value(schedule::info(ElementwiseKind::Mul), {{program}, {size}}, index);
    Value* base = builder_.value(schedule::info(ScheduleOp::Splat), {{first}}, wide);
    tile = builder_.value(schedule::info(ElementwiseKind::Add), {{tile}, {base}}, wide);
  }
  if (dtype == DType::I64) return tile;
  return builder_.value(schedule::info(ElementwiseKind::Cast), {{tile}}, tile_type(shape, dtype));
}

Value* TileEmitter::load(const BufferAccess& access) {
  size_t number = 0;
  while (number < memories_.size() && !(memories_[number].first == access)) ++number;
  TSR_CHECK(number < memories_.size(), "a load without memory");
  Value*& tile = loaded_[number];
  if (tile) return tile;
  const TileMemory& memory = memories_[number].second;
  std::vector<Value*> indices;
  for (int axis : memory.axes) indices.push_back(index(axis));
  if (memory.axes.empty()) indices.push_back(index(-1));
  Type type = tile_type(memory_shape(memory), memory.memory->type()->dtype);
  tile = builder_.value(schedule::info(ScheduleOp::Load), {{memory.memory}, indices}, type);
  std::vector<Dim> shape(space_.rank(), reads_.dims().constant(1));
  for (int axis : memory.axes) shape[size_t(axis)] = blocks_[size_t(axis)];
  return tile = reshape(tile, std::move(shape));
}

Value* TileEmitter::reduce(Op* member) {
  AxisMap map = operand_map(group_, member, 0);
  Value* tile = widen(operand(member, 0), shape_of(map));
  std::vector<Dim> shape = tile->type()->dims;
  std::vector<Dim> reduced = shape;
  std::vector<Dim> kept = shape_of(group_.maps.at(member->result()));
  for (size_t k = space_.rank(); k-- > 0;) {
    if (shape[k] == kept[k]) continue;
    reduced.erase(reduced.begin() + std::ptrdiff_t(k));
    shape[k] = reads_.dims().constant(1);
    tile = builder_.value(schedule::info(ScheduleOp::Reduce), {{tile}},
                          tile_type(reduced, tile->type()->dtype),
                          {schedule::attr::Reduce::kind(member->node(graph::attr::Reduce::kind)),
                           schedule::attr::Reduce::axis(context_, int64_t(k))});
  }
  return reshape(tile, shape);
}

Value* TileEmitter::part(Op* concat, unsigned position) {
  return widen(operand(concat, position), shape_of(group_.parts[position]));
}

void TileEmitter::store(Value* tile, const TileMemory& memory) {
  // What is equal along an axis may have a tile of 1 there; its memory has all of it.
  std::vector<Dim> shape = tile->type()->dims;
  for (int axis : memory.axes) shape[size_t(axis)] = blocks_[size_t(axis)];
  tile = reshape(widen(tile, shape), memory_shape(memory));
  std::vector<Value*> indices;
  for (int axis : memory.axes) indices.push_back(index(axis));
  if (memory.axes.empty()) indices.push_back(index(-1));
  builder_.op(schedule::info(ScheduleOp::Store), {{tile}, {memory.memory}, indices}, {});
}

/// Where the update goes along its axis, for this program.
Value* TileEmitter::place(Op* update) {
  Type index = context_.scalar(DType::I64);
  Value* start = operand(update, graph::in::UpdateSlice::start);
  Value* at = builder_.value(schedule::info(ScheduleOp::Extract), {{start}}, index);
  if (!update->attr(graph::attr::UpdateSlice::wrap)) return at;
  if (int axis = stepping_axis(group_); axis >= 0) {
    Value* step = indices_[size_t(space_.axis_of[size_t(axis)])];
    at = builder_.value(schedule::info(ElementwiseKind::Add), {{at}, {step}}, index);
  }
  Dim extent = update->result()->type()->dims[size_t(update->attr(graph::attr::UpdateSlice::axis))];
  Value* places = builder_.value(schedule::info(ScheduleOp::Dim), {}, index,
                                 {schedule::attr::Dim::value(context_, extent)});
  return builder_.value(schedule::info(ElementwiseKind::Mod), {{at}, {places}}, index);
}

void TileEmitter::store_update(Op* update, const TileMemory& memory) {
  builder_.set_loc(update->loc());
  Value* tile = widen(operand(update, graph::in::UpdateSlice::update), shape_of(group_.maps.at(update->result())));
  tile = reshape(tile, memory_shape(memory));
  std::vector<Value*> indices = {place(update)};
  for (int axis : memory.axes) indices.push_back(index(axis));
  if (memory.axes.empty()) indices.push_back(index(-1));
  builder_.op(schedule::info(ScheduleOp::Store), {{tile}, {memory.memory}, indices}, {});
}

Value* TileEmitter::widen(Value* tile, const std::vector<Dim>& shape) {
  if (tile->type()->dims == shape) return tile;
  Type type = tile_type(shape, tile->type()->dtype);
  Value*& wide = widened_[{tile, type}];
  if (!wide) wide = builder_.value(schedule::info(ScheduleOp::Broadcast), {{tile}}, type);
  return wide;
}

Value* TileEmitter::reshape(Value* tile, std::vector<Dim> shape) {
  if (tile->type()->dims == shape) return tile;
  Op* def = tile->def();
  if (def && def->is(schedule::info(ScheduleOp::Reshape)) &&
      def->operand(0)->type()->dims == shape) {
    return def->operand(0);
  }
  return builder_.value(schedule::info(ScheduleOp::Reshape), {{tile}},
                        tile_type(shape, tile->type()->dtype));
}

Value* TileEmitter::index(int axis) {
  if (axis >= 0 && indices_[size_t(axis)]) return indices_[size_t(axis)];
  if (!zero_) {
    zero_ = builder_.value(schedule::info(ScheduleOp::Dim), {}, context_.scalar(DType::I64),
                           {schedule::attr::Dim::value(context_, reads_.dims().constant(0))});
  }
  return zero_;
}

std::vector<Dim> TileEmitter::shape_of(const AxisMap& map) const {
  std::vector<Dim> shape(space_.rank(), reads_.dims().constant(1));
  for (int axis : map) {
    if (axis < 0) continue;
    size_t kernel_axis = size_t(space_.axis_of[size_t(axis)]);
    shape[kernel_axis] = blocks_[kernel_axis];
  }
  return shape;
}

std::vector<Dim> TileEmitter::memory_shape(const TileMemory& memory) const {
  std::vector<Dim> shape;
  for (int axis : memory.axes) shape.push_back(blocks_[size_t(axis)]);
  if (shape.empty()) shape.push_back(reads_.dims().constant(1));
  if (memory.placed) shape.insert(shape.begin(), reads_.dims().constant(1));
  return shape;
}

}  // namespace tessera
