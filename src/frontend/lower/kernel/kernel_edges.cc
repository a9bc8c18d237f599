// Masks the elements past the end of an axis in ops that combine elements along it, whatever tile
// they are in.
//
// For loads and gathers propagate_masks finds the ends. This file finds those of other tiles:
// coordinates end where their axis ends, memory where the tile stored in it ends, and a tile filled
// with one number where this program's tile of its axis ends, or the iteration's in a loop over
// that axis. A number alone says little: the tiles that it is combined with decide. Where several
// tiles are possible, no end is guessed.

#include <algorithm>

#include "frontend/lower/kernel/kernel_builder.h"
#include "ir/core/common_attributes.h"
#include "ir/core/rematerialise.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace attr = schedule::attr;
namespace in = schedule::in;

/// The axes that the extents of a shape were asked of.
std::vector<const KernelAxis*> KernelBuilder::axes_of(const Datum& shape) const {
  if (!shape.is_sequence()) return {shape.axis()};
  std::vector<const KernelAxis*> axes;
  for (const Datum& extent : shape.elements()) axes.push_back(extent.axis());
  return axes;
}

/// Notes along which axes a tile repeats what has none of them.
Datum KernelBuilder::made(Datum tile, std::vector<const KernelAxis*> axes) {
  if (!tile.is_ir()) return tile;
  Value* value = tile.as_ir().value;
  Op* def = value->def();
  bool repeats = def && def->is(info(OpKind::Broadcast));
  for (size_t i = 0; repeats && i < axes.size(); ++i) {
    if (!def->operand(0)->type()->dims[i]->is_constant(1)) axes[i] = nullptr;
  }
  bool is_new = repeats || !def || def->operand_count() == 0 || def->is(info(OpKind::Splat));
  if (is_new) kernel_.origins.made[value] = std::move(axes);
  return tile;
}

/// The coordinates of the elements of a tile of an axis.
Value* KernelBuilder::numbered(const TilePlace& place, Loc loc) {
  Value* tile = ops_.coordinates(place.tile, place.index, loc);
  kernel_.origins.numbered[tile] = place;
  return tile;
}

/// The axis whose tile this one is, as far as that is known.
const KernelAxis* KernelBuilder::axis_along(Value* tile, size_t axis) {
  EdgeSearch search(kernel_.origins, kernel_.op);
  search.visit(tile, axis);
  for (const TilePlace& place : search.places()) {
    const KernelAxis* found = axis_of_index(place.index);
    if (found && found->tile == place.tile && found->extent == place.extent) return found;
  }
  return search.axes().empty() ? nullptr : search.axes()[0];
}

/// The index of the tile of an axis that `user` is about: that of the innermost loop over it, or the program's.
Value* KernelBuilder::tile_of(const KernelAxis& axis, Op* user) const {
  for (Block* block = user->block(); block && block->parent_op(); block = block->parent_op()->block()) {
    auto loop = block->arg_count() ? kernel_.loop_axes.find(block->arg(0)) : kernel_.loop_axes.end();
    if (loop != kernel_.loop_axes.end() && loop->second == &axis) return block->arg(0);
  }
  return axis.index;
}

/// Whether there is such a tile wherever its index is computed.
bool KernelBuilder::is_counted(const TilePlace& place) const {
  const KernelAxis* axis = place.index ? axis_of_index(place.index) : nullptr;
  return axis && axis->tile == place.tile && axis->extent == place.extent;
}

/// How many elements of the tile there are, at `user`; null where that is known in a loop alone. A tile before the
/// first is as empty as one past the last.
Value* KernelBuilder::limit_of(const TilePlace& place, Op* user) {
  bool is_whole = place.tile == place.extent && (!place.index || is_counted(place));
  std::map<Value*, Value*> copies;
  Value* index = place.index ? available_before(place.index, user, copies) : nullptr;
  if (!index && !is_whole) return nullptr;
  Builder& builder = ops_.builder();
  builder.set_before(user);
  builder.set_loc(user->loc());
  Type scalar = context().scalar(DType::I64);
  auto size = [&](Dim dim) { return ops_.index(Datum::dim(dim), user->loc(), "an extent"); };
  auto op = [&](ElementwiseKind kind, Value* a, Value* b) { return builder.value(info(kind), {{a}, {b}}, scalar); };
  if (is_whole) return size(place.extent);
  Value* first = op(ElementwiseKind::Mul, index, size(place.tile));
  Value* limit = op(ElementwiseKind::Sub, size(place.extent), first);
  if (is_counted(place)) return limit;
  Value* zero = ops_.index_constant(0);
  Value* before = builder.value(info(ElementwiseKind::Lt), {{index}, {zero}}, context().scalar(DType::Bool));
  limit = op(ElementwiseKind::Max, limit, zero);
  return builder.value(info(ElementwiseKind::Select), {{before}, {zero}, {limit}}, scalar);
}

namespace {

std::string name_of(Op* op) {
  if (op->is(info(OpKind::Reduce))) return "tile." + std::string(op->attr(attr::Reduce::kind));
  if (op->is(info(OpKind::Scatter)))
    return op->attr(attr::Scatter::add) ? "tile.atomic_add" : "tile.scatter";
  return "tile" + std::string(op->name().substr(op->name().find('.')));
}

}  // namespace

bool KernelBuilder::is_whole(const TilePlace& place) const { return is_counted(place) && !place.is_cut(); }

/// Whether a tile is made of two tiles of one axis, such as one and the next. Where one has ended, and gives its fill
/// if it is loaded, the other may have elements.
bool KernelBuilder::end_apart(const std::vector<TilePlace>& places) const {
  for (const TilePlace& a : places) {
    for (const TilePlace& b : places) {
      bool is_one_axis = a.extent == b.extent && a.tile == b.tile && a.tile != a.extent;
      if (is_one_axis && a.index && b.index && !(is_whole(a) && is_whole(b)) && !is_same_index(a.index, b.index))
        return true;
    }
  }
  return false;
}

/// How many elements there are of what is made of several tiles: as far as one of those of an axis has them, and each
/// axis. Null where that is not known here.
Value* KernelBuilder::filled_limit(const std::vector<TilePlace>& places, Op* user) {
  Value* least = nullptr;
  auto combined = [&](ElementwiseKind kind, Value* a, Value* b) {
    return a ? ops_.builder().value(info(kind), {{a}, {b}}, b->type()) : b;
  };
  std::set<std::pair<Dim, Dim>> done;
  for (const TilePlace& place : places) {
    if (!done.insert({place.extent, place.tile}).second) continue;
    Value* furthest = nullptr;
    for (const TilePlace& other : places) {
      if (other.extent != place.extent || other.tile != place.tile) continue;
      Value* limit = limit_of(other, user);
      if (!limit) return nullptr;
      furthest = combined(ElementwiseKind::Max, furthest, limit);
    }
    least = combined(ElementwiseKind::Min, least, furthest);
  }
  return least;
}

/// Refuses what is one tile of an axis or another: of one of two branches, or the one that the iteration before loaded
/// for this one. A tile that the iteration before had itself counts as far as this iteration's has elements.
bool KernelBuilder::check_yielded(Op* op, const std::vector<TilePlace>& places) {
  bool apart = end_apart(places);
  auto is_unclear = [&](const TilePlace& place) {
    return place.tile != place.extent && ((place.stale && !is_counted(place)) || (place.yielded && apart));
  };
  auto found = std::ranges::find_if(places, is_unclear);
  if (found == places.end()) return true;
  report(diag::unknown_edge, op->loc(), name_of(op), fmt::format("an axis of {} elements", found->extent->text))
      .help("it may be a tile that the iteration before or a branch has loaded: combine each tile where it is loaded");
  return false;
}

/// Limits an operand along each of its axes that has sources: the tiles, each with its axis, that
/// are combined there.
bool KernelBuilder::limit_operand(Op* op, unsigned operand,
                                  const std::vector<std::vector<std::pair<Value*, size_t>>>& sources) {
  Value* value = op->operand(operand);
  std::vector<Value*> limits(sources.size());
  std::vector<int64_t> filled;
  auto limit = [&](const TilePlace& place, size_t i, const std::string& axis) {
    Value* here = limit_of(place, op);
    if (!here && is_print(op)) return true;  // all of it is shown
    if (!here) {
      report(diag::unknown_edge, op->loc(), name_of(op), axis)
          .help("mask the elements past the end where the tile is known: tile.where(tile.col_index(k) < K, x, 0)");
      return false;
    }
    Type scalar = here->type();
    limits[i] = limits[i] ? ops_.builder().value(info(ElementwiseKind::Min), {{limits[i]}, {here}}, scalar) : here;
    return true;
  };
  for (size_t i = 0; i < sources.size(); ++i) {
    EdgeSearch search(kernel_.origins, kernel_.op);
    for (auto [tile, axis] : sources[i]) search.visit(tile, axis);
    bool is_placed = !search.places().empty();
    if (common::is_along_axis(op)) {
      if (!check_yielded(op, search.places())) return false;
      if (end_apart(search.places())) limits[i] = filled_limit(search.places(), op);
    }
    if (limits[i]) {
      filled.push_back(int64_t(i));
      continue;
    }
    for (const TilePlace& place : search.places()) {
      if (place.loaded || is_whole(place)) continue;
      if (!limit(place, i, fmt::format("an axis of {} elements", place.extent->text))) return false;
    }
    if (!is_placed && search.unplaced() && is_print(op)) continue;
    if (!is_placed && search.unplaced()) {
      report(diag::unknown_edge, op->loc(), name_of(op), "an axis")
          .label(search.unplaced()->loc(), "the memory that is loaded here may hold one of several tiles")
          .help("let slot i hold tile i, or choose blocks that divide the axis");
      return false;
    }
    for (size_t n = 0; !is_placed && n < search.axes().size(); ++n) {
      const KernelAxis& axis = *search.axes()[n];
      TilePlace place{tile_of(axis, op), axis.tile, axis.extent};
      if (place.is_cut() && !limit(place, i, fmt::format("axis '{}'", axis.name))) return false;
    }
  }
  if (std::ranges::none_of(limits, [](Value* each) { return each; })) return true;
  ops_.builder().set_before(op);
  for (size_t i = 0; i < limits.size(); ++i) {
    if (!limits[i]) limits[i] = ops_.index(Datum::dim(value->type()->dims[i]), op->loc(), "an extent");
  }
  Value* within = ops_.builder().value(info(OpKind::Within), {{value}, limits}, value->type());
  if (!filled.empty()) within->def()->set(attr::Within::filled, filled);
  op->set_operand(operand, within);
  return true;
}

std::vector<Op*> KernelBuilder::combining_ops() const {
  std::vector<Op*> combining;
  walk(kernel_.op, [&](Op* op) {
    bool combines = common::is_along_axis(op) || op->is(info(OpKind::Dot));
    if (combines || op->is(info(OpKind::Scatter))) combining.push_back(op);
  });
  return combining;
}

/// The axes that elements are combined along though each program has one of them, as nothing else asks for more.
std::set<std::string> KernelBuilder::combined_single_axes() {
  std::set<std::string> found;
  for (Op* op : combining_ops()) {
    if (op->is(info(OpKind::Scatter))) continue;
    EdgeSearch search(kernel_.origins, kernel_.op, true);
    search.visit(op->operand(0),
                 op->is(info(OpKind::Dot)) ? 1 : size_t(op->attr(common::Along::axis)));
    if (op->is(info(OpKind::Dot))) search.visit(op->in(in::Dot::b), 0);
    for (const KernelAxis* axis : search.axes()) found.insert(axis->name);
  }
  return found;
}

/// Gives what combines elements the ends of axes that it cannot see.
bool KernelBuilder::limit_tiles() {
  Builder end = ops_.builder();
  for (Op* op : combining_ops()) {
    Value* first = op->operand(0);
    std::vector<std::vector<std::pair<Value*, size_t>>> sources(first->type()->rank());
    if (op->is(info(OpKind::Scatter))) {
      for (size_t i = 0; i < sources.size(); ++i) {
        sources[i].emplace_back(first, i);
        for (Value* index : op->ins(in::Scatter::index)) sources[i].emplace_back(index, i);
      }
    } else if (op->is(info(OpKind::Dot))) {
      Value* second = op->in(in::Dot::b);
      // Past an edge copies are 0, and so are the results of dots.
      if (is_copied(kernel_.op, first) && is_copied(kernel_.op, second)) continue;
      sources[1] = {{first, 1}, {second, 0}};
    } else {
      size_t axis = size_t(op->attr(common::Along::axis));
      bool adds = op->is(info(OpKind::Reduce)) && op->attr(attr::Reduce::kind) == "sum";
      if (adds && is_copied(kernel_.op, first)) continue;
      sources[axis].emplace_back(first, axis);
    }
    if (!limit_operand(op, 0, sources)) return false;
  }
  count_means();
  ops_.builder() = end;
  return true;
}

/// How many elements of a tile lie before the end of its axis, where the axis may end within it; null where all do.
Value* KernelBuilder::elements_along(Value* tile, size_t axis, Op* user) {
  EdgeSearch search(kernel_.origins, kernel_.op);
  search.visit(tile, axis);
  std::vector<TilePlace> places = search.places();
  for (size_t n = 0; search.places().empty() && n < search.axes().size(); ++n) {
    const KernelAxis& of = *search.axes()[n];
    places.push_back({tile_of(of, user), of.tile, of.extent});
  }
  auto within = [&](Value* limit, Value* bound) {
    return bound ? ops_.builder().value(info(ElementwiseKind::Min), {{limit}, {bound}}, limit->type()) : limit;
  };
  auto all = [&](Dim extent) { return ops_.index(Datum::dim(extent), user->loc(), "an extent"); };
  if (end_apart(places)) {
    Value* limit = filled_limit(places, user);
    return limit ? within(limit, all(tile->type()->dims[axis])) : nullptr;
  }
  Value* least = nullptr;
  for (const TilePlace& place : places) {
    bool is_first = place.index && place.index->def() && place.index->def()->is(info(OpKind::Constant)) &&
                    place.index->def()->attr(schedule::attr::Constant::value)->integer == 0;
    bool is_all = place.tile == place.extent && (!place.index || is_first || is_counted(place));
    if (is_all || is_whole(place)) continue;
    // Where the tile is not known the sum has been refused.
    Value* here = limit_of(place, user);
    if (!here) continue;
    least = within(within(here, all(place.tile)), least);
  }
  return least;
}

/// A mean ignores elements past an edge: divides by the number of the others.
void KernelBuilder::count_means() {
  for (const KernelFunction::Mean& mean : kernel_.means) {
    Value* count = nullptr;
    Dim others = dims().constant(1);
    for (int64_t axis : mean.axes) {
      Value* here = elements_along(mean.tile, size_t(axis), mean.quotient);
      if (!here) others = dims().mul(others, mean.tile->type()->dims[size_t(axis)]);
      else count = count ? ops_.builder().value(info(ElementwiseKind::Mul), {{count}, {here}}, here->type()) : here;
    }
    if (!count) continue;
    Builder& builder = ops_.builder();
    Value* rest = ops_.index(Datum::dim(others), mean.quotient->loc(), "an extent");
    count = builder.value(info(ElementwiseKind::Mul), {{count}, {rest}}, count->type());
    Type type = mean.quotient->operand(1)->type();
    count = ops_.convert(count, type->dtype);
    if (type->is(TypeKind::Tile)) count = builder.value(info(OpKind::Splat), {{count}}, type);
    mean.quotient->set_operand(1, count);
  }
}

}  // namespace tessera::frontend
