// Loads, stores and gathers of fragments: where they lie in memory and how far they reach.

#include <algorithm>

#include "passes/tile/cpu/fragment_emitter.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

FragmentMemory FragmentEmitter::memory_of(Op* access, unsigned memory_slot, unsigned offsets_slot,
                                          unsigned limits_slot, Value* tile) {
  Value* memory = access->in(memory_slot);
  FragmentMemory found;
  found.type = memory->type();
  if (memory->def() && memory->def()->is(tile::info(OpKind::View))) memory = memory->def()->operand(0);
  found.memory = memory->def() && !find(memory) ? own_memory(memory) : find(memory)->value;
  if (found.type->is(TypeKind::Tensor)) {
    found.type =
        context().contiguous_view(found.type->dims, found.type->dtype, MemorySpace::Global);
  }
  size_t lead = found.type->rank() - tile->type()->rank();
  found.axes.assign(found.type->rank(), -1);
  found.limits.assign(found.type->rank(), nullptr);
  found.local.assign(found.type->rank(), false);
  found.offsets = access->ins(offsets_slot);
  for (size_t i = 0; i < tile->type()->rank(); ++i) {
    found.axes[lead + i] = axes_.of(tile, i);
    found.limits[lead + i] = tile_limit(access, limits_slot, i, tile->type()->dims[i]);
  }
  return found;
}

/// The memory of an old alloc.
Value* FragmentEmitter::own_memory(Value* alloc) {
  Dim elements = context().dims().constant(1);
  for (Dim dim : alloc->type()->dims) elements = context().dims().mul(elements, dim);
  Value* made = scratch(elements, alloc->type()->dtype);
  scopes_[0].known[alloc] = {made, 0};
  return made;
}

Value* FragmentEmitter::window(const FragmentMemory& memory, const std::vector<int>& order) {
  bool in_order = order.size() == memory.axes.size();
  std::vector<Dim> dims, strides;
  for (size_t i = 0; i < order.size(); ++i) {
    in_order &= order[i] == int(i);
    Dim one = context().dims().constant(1);
    dims.push_back(order[i] < 0 ? one : memory.type->dims[size_t(order[i])]);
    strides.push_back(order[i] < 0 ? one : memory.type->strides[size_t(order[i])]);
  }
  Type own = memory.memory->type();
  if (own->is(TypeKind::Tensor))
    own = context().contiguous_view(own->dims, own->dtype, MemorySpace::Global);
  if (in_order && own == memory.type) return memory.memory;
  Type type =
      context().view(dims, memory.type->dtype, strides, memory.type->offset, memory.type->space);
  auto [it, inserted] = views_.try_emplace({memory.memory, type}, nullptr);
  if (inserted) it->second = view(memory.memory, dims, strides, memory.type->offset);
  return it->second;
}

Value* FragmentEmitter::fragment_limit(int axis, Value* old_limit, size_t& level) {
  if (axis < 0) {
    if (!old_limit) return nullptr;
    Known limit = resolve(old_limit);
    level = std::max(level, limit.level);
    return limit.value;
  }
  const AxisBinding& b = binding(axis);
  level = std::max(level, b.level);
  if (!old_limit || old_limit == b.domain) return b.rest;
  Known limit = resolve(old_limit);
  level = std::max(level, limit.level);
  enter(level);
  Value* left = tile::sub(builder_, limit.value, b.start);
  left = tile::elementwise(builder_, ElementwiseKind::Max, {left, zero_});
  return b.rest ? tile::min(builder_, left, b.rest) : left;
}

void FragmentEmitter::limit_by_one(Value* (&limits)[2], Type fragment, Value* limit) {
  for (size_t i = 0; i < 2; ++i) {
    if (!fragment->dims[i]->is_constant(1)) continue;
    limits[i] = limits[i] ? tile::min(builder_, limits[i], limit) : limit;
    return;
  }
  Value* all = limits[1] ? limits[1] : index(*fragment->dims[1]->constant());
  Value* there = tile::elementwise(builder_, ElementwiseKind::Gt, {limit, zero_});
  limits[1] = tile::elementwise(builder_, ElementwiseKind::Select, {there, all, zero_});
}

FragmentEmitter::Access FragmentEmitter::access(const FragmentMemory& memory, Type fragment) {
  // The dims that the fragment spans; one of a single element may stand anywhere.
  auto spanned = [&](int axis) {
    if (axis < 0 || !bindings_.contains(axis) || binding(axis).extent == 1) return -1;
    auto it = std::find(memory.axes.begin(), memory.axes.end(), axis);
    return it == memory.axes.end() ? -1 : int(it - memory.axes.begin());
  };
  int row = spanned(row_), column = spanned(column_), rank = int(memory.axes.size());
  std::vector<int> order;
  bool as_it_is = rank >= 2 && (column == rank - 1 || (column < 0 && row != rank - 1)) &&
                  (row == rank - 2 || (row < 0 && column != rank - 2));
  for (int i = 0; i < rank; ++i) {
    if (as_it_is || (i != row && i != column)) order.push_back(i);
  }
  if (!as_it_is) order.insert(order.end(), {row, column});
  Access found{window(memory, order), {}, {}, level_of(memory.axes)};
  Value* limits[2] = {nullptr, nullptr};
  Values ones;  // limits of dims of one element
  for (int i : order) {
    Value* offset = i < 0 ? nullptr : memory.offsets[size_t(i)];
    Known at{zero_, 0};
    if (offset) at = resolve(offset);
    found.level = std::max(found.level, at.level);
    int axis = i < 0 ? -1 : memory.axes[size_t(i)];
    // What holds the fragment at hand alone is counted from there, also where a part of it is at hand.
    Value* start = axis < 0 ? nullptr : memory.local[size_t(i)] ? binding(axis).within : binding(axis).start;
    enter(found.level);
    found.offsets.push_back(start ? tile::add(builder_, at.value, start) : at.value);
    if (i < 0 || memory.local[size_t(i)]) continue;
    Value* limit = fragment_limit(axis, memory.limits[size_t(i)], found.level);
    if (!limit) continue;
    enter(found.level);
    if (i != row && i != column) {
      ones.push_back(limit);
    } else {
      size_t which = i == column ? 1 : 0;
      limits[which] = limits[which] ? tile::min(builder_, limits[which], limit) : limit;
    }
  }
  enter(found.level);
  for (Value* limit : ones) limit_by_one(limits, fragment, limit);
  if (limits[0] || limits[1]) {
    for (size_t i = 0; i < 2; ++i) {
      found.limits.push_back(limits[i] ? limits[i] : index(*fragment->dims[i]->constant()));
    }
  }
  return found;
}

FragmentEmitter::Known FragmentEmitter::write_memory_load(const FragmentMemory& memory, Type type,
                                                          Attr fill) {
  Access a = access(memory, type);
  enter(a.level);
  return {tile::load(builder_, a.memory, a.offsets, a.limits, type, fill), a.level};
}

FragmentEmitter::Known FragmentEmitter::write_load(Op* op) {
  FragmentMemory memory =
      memory_of(op, in::Load::memory, in::Load::offsets, in::Load::limits, op->result());
  return write_memory_load(memory, fragment_type(op->result()), op->attr(attr::Load::fill));
}

void FragmentEmitter::store(Value* value, const FragmentMemory& memory) {
  Access a = access(memory, value->type());
  tile::store(builder(), value, a.memory, a.offsets, a.limits);
}

Value* FragmentEmitter::load_here(Op* load) {
  Type type = fragment_type(load->result());
  Access a = access(memory_of(load, in::Load::memory, in::Load::offsets, in::Load::limits, load->result()), type);
  return tile::load(builder(), a.memory, a.offsets, a.limits, type, load->attr(attr::Load::fill));
}

/// A parameter, or a view of one, as it is.
Value* FragmentEmitter::whole_memory(Value* memory) {
  if (!memory->def()) return find(memory)->value;
  Value* parameter = find(memory->def()->operand(0))->value;
  std::vector<int> order;
  for (size_t i = 0; i < memory->type()->rank(); ++i) order.push_back(int(i));
  return window({parameter, memory->type(), std::vector<int>(order.size(), -1), {}, {}, {}}, order);
}

FragmentEmitter::Known FragmentEmitter::write_take(Op* op) {
  size_t level = level_of(axes_.of(op->result()));
  Values index;
  for (Value* coordinate : op->ins(in::Take::index)) {
    Known known = resolve(coordinate);
    level = std::max(level, known.level);
    index.push_back(known.value);
  }
  Value* memory = whole_memory(op->in(in::Take::memory));
  Type type = fragment_type(op->result());
  enter(level);
  return {builder_.value(tile::info(OpKind::Take), {{memory}, index}, type), level};
}

void FragmentEmitter::scatter(Op* op) {
  Value* stored = op->in(in::Scatter::value);
  Value* value = demand(stored);
  Values index, limits;
  for (Value* coordinate : op->ins(in::Scatter::index)) index.push_back(demand(coordinate));
  Value* memory = whole_memory(op->in(in::Scatter::memory));
  Value* ends[2] = {nullptr, nullptr};
  Values ones;
  for (size_t i = 0; i < stored->type()->rank(); ++i) {
    int axis = axes_.of(stored, i);
    size_t level = 0;
    Value* limit = fragment_limit(axis, tile_limit(op, in::Scatter::limits, i, stored->type()->dims[i]), level);
    if (!limit) continue;
    if (axis < 0 || (axis != column_ && axis != row_)) {
      ones.push_back(limit);
    } else {
      size_t which = axis == column_ ? 1 : 0;
      ends[which] = ends[which] ? tile::min(builder(), ends[which], limit) : limit;
    }
  }
  for (Value* limit : ones) limit_by_one(ends, value->type(), limit);
  if (ends[0] || ends[1]) {
    for (size_t i = 0; i < 2; ++i) {
      limits.push_back(ends[i] ? ends[i] : this->index(*value->type()->dims[i]->constant()));
    }
  }
  std::vector<OpAttr> attributes(op->attributes().begin(), op->attributes().end());
  builder().op(tile::info(OpKind::Scatter), {{value}, {memory}, index, limits}, {}, std::move(attributes));
}

FragmentEmitter::Known FragmentEmitter::write_gather(Op* op) {
  Type type = fragment_type(op->result());
  Value* table = op->in(in::Gather::table);
  if (table->def()) {
    Value* memory = find(table->def()->operand(0))->value;
    table = window({memory, table->type(), {-1, -1}, {}, {}, {}}, {0, 1});
  } else {
    table = find(table)->value;
  }
  int columns = axes_.of(op->result(), 1), rows = axes_.of(op->result(), 0);
  bool transposed = (columns >= 0 && columns == row_ && binding(columns).extent > 1) ||
                (rows >= 0 && rows == column_ && binding(rows).extent > 1);
  Known which = resolve(op->in(in::Gather::rows)), first = resolve(op->in(in::Gather::column));
  size_t level = std::max({which.level, first.level, level_of(axes_.of(op->result()))});
  Value* row_limit = fragment_limit(
      rows, tile_limit(op, in::Gather::limits, 0, op->result()->type()->dims[0]), level);
  Value* column_limit = fragment_limit(
      columns, tile_limit(op, in::Gather::limits, 1, op->result()->type()->dims[1]), level);
  enter(level);
  Value* column =
      columns < 0 ? first.value : tile::add(builder_, first.value, binding(columns).start);
  std::vector<OpAttr> filled;
  if (op->has(attr::Gather::fill)) filled.push_back(attr::Gather::fill(op->attr(attr::Gather::fill)));
  if (transposed) {
    // Rows that lie along the columns of the fragment are taken element by element.
    Value* numbers = tile::broadcast(builder_, which.value, type->dims);
    Type places = context().with_dtype(type, DType::I64);
    Value* along = coordinates(columns, column, places);
    Value* taken = builder_.value(tile::info(OpKind::Take), {{table}, {numbers, along}}, type, filled);
    if (!row_limit && !column_limit) return {taken, level};
    Values limits{column_limit ? column_limit : index(*type->dims[0]->constant()),
                  row_limit ? row_limit : index(*type->dims[1]->constant())};
    enter(level);
    Value* none = tile::full(builder_, type, tile::reduction_identity(context(), "sum", type->dtype));
    return {tile::merge(builder_, taken, none, limits), level};
  }
  Values limits;
  if (row_limit || column_limit) {
    limits.push_back(row_limit ? row_limit : index(*type->dims[0]->constant()));
    limits.push_back(column_limit ? column_limit : index(*type->dims[1]->constant()));
  }
  enter(level);
  return {builder_.value(tile::info(OpKind::Gather),
                         {{table}, {which.value}, {column}, limits}, type, filled),
          level};
}

}  // namespace tessera
