// Loads and stores of distributed tiles.
//
// A thread's elements lie at base + sum(register part * stride), where the base holds its own part
// of the coordinates and the tile's offsets. Registers that are neighbours in memory, whatever their
// numbers, are moved together, up to 16 bytes at a time, as far as addresses and limits are known to be
// multiples of that. An access that may reach past a limit is guarded by one condition.

#include <numeric>

#include "ir/core/common_attributes.h"
#include "ir/layout/access.h"
#include "ir/target/ops.h"
#include "ir/tile/build.h"
#include "passes/analysis/loop_bounds.h"
#include "passes/tile/nv/emit_where.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
using layout::Point;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

/// From this many masked registers on it pays to test first whether the tile is partial.
constexpr int fewest_masks = 16;

/// What memory holds: a byte for a bool.
Type in_memory(Context& context, Type type) {
  return type->dtype == DType::Bool ? context.with_dtype(type, DType::U8) : type;
}

}  // namespace

Op* aligned(Op* access) {
  Type moved = access->result_count() ? access->result()->type() : access->operand(0)->type();
  access->set(common::Access::align, moved->lanes * byte_size(moved->dtype));
  return access;
}

void NvLowering::lower_view(Op* op) {
  Memory memory = memories_.at(op->operand(0));
  memories_[op->result()] = {memory.base, op->result()->type()};
}

Value* NvLowering::stride_bytes(Dim stride, DType dtype, int64_t count) {
  DimTable& table = b_.context().dims();
  return dim(table.mul(stride, table.constant(count * byte_size(dtype))));
}

/// What a tile's limits (null: none) leave to the registers of this thread. Beyond the extent a limit says nothing
/// more, so that 32 bits are enough.
NvLowering::Access NvLowering::edges(Type tile, const std::vector<Value*>& limits) {
  Access access(layout_of(tile), tile->dtype);
  access.allowed = allowed_;
  access.remaining.assign(tile->rank(), nullptr);
  access.grain.assign(tile->rank(), 1);
  for (size_t i = 0; i < limits.size(); ++i) {
    if (!limits[i]) continue;
    Value* exact = value(limits[i]);
    std::optional<int64_t> known = b_.as_constant(exact);
    int64_t extent = *tile->dims[i]->constant();
    if (known && *known >= extent) continue;
    Value* limit = as_i32(b_.min(exact, b_.index(extent)));
    access.grain[i] = access.layout.vector_width(int(i), std::gcd(layout::max_extent, divisibility_.of(limits[i])));
    Value* own = thread_coordinate(access.layout, int(i));
    access.remaining[i] = own ? b_.sub(limit, own) : limit;
  }
  return access;
}

/// Which registers are below the limits; null when all are.
/// True where a limit cuts the op's first operand off. The blocks that a loop takes are whole but for the last one, and
/// need no masks; null where that cannot be said of the limits, or where masks are few.
Value* NvLowering::is_cut(Op* op, const std::vector<Value*>& limits) {
  Type tile = op->operand(0)->type();
  if (!is_in_iteration(op) || layout_of(tile).registers_per_thread() < fewest_masks) return nullptr;
  Value* cuts = nullptr;
  for (size_t i = 0; i < limits.size(); ++i) {
    int64_t extent = *tile->dims[i]->constant();
    if (!limits[i] || tile::known_index(limits[i]).value_or(-1) >= extent) continue;
    if (limits[i]->parent_block() != op->block()) return nullptr;
    Value* limit = value(limits[i]);
    Value* below = b_.op(Kind::Lt, limit, b_.integer(limit->type(), extent));
    cuts = cuts ? b_.bit_or(cuts, below) : below;
  }
  return cuts;
}

Value* NvLowering::below_limits(Type tile, const std::vector<Value*>& limits) {
  Access access = edges(tile, limits);
  std::vector<Value*> conditions;
  for (int r = 0; r < access.layout.registers_per_thread(); ++r) {
    Value* condition = is_there(access, access.layout.register_offset(r));
    if (!condition) return nullptr;
    conditions.push_back(condition);
  }
  return concat(conditions);
}

std::vector<Value*> NvLowering::values(const std::vector<Value*>& tile_values) const {
  std::vector<Value*> lowered;
  for (Value* tile_value : tile_values) lowered.push_back(value(tile_value));
  return lowered;
}

NvLowering::Access NvLowering::global_access(Memory memory, Type tile, const std::vector<Value*>& offsets,
                                             const std::vector<Value*>& limits) {
  DimTable& table = b_.context().dims();
  Access access = edges(tile, limits);
  TSR_CHECK(access.layout.warps() == threads_.warps || threads_.single, "a layout of other threads: " + tile->text);
  std::vector<Dim> strides = tile::strides_of(b_.context(), memory.type);
  size_t lead = strides.size() - tile->rank();
  access.strides.assign(strides.begin() + int64_t(lead), strides.end());
  access.base = memory.base;
  if (memory.type->is(TypeKind::View)) {
    Dim start = table.mul(memory.type->offset, table.constant(byte_size(tile->dtype)));
    access.base = b_.offset(access.base, dim(start));
  }
  Value* elements = b_.index(0);
  for (size_t i = 0; i < strides.size(); ++i) {
    Value* index = value(offsets[i]);
    Value* own = i >= lead ? thread_coordinate(access.layout, int(i - lead)) : nullptr;
    if (own) index = b_.add(index, b_.cast(own, DType::I64));
    elements = b_.add(elements, b_.mul(index, stride_bytes(strides[i], tile->dtype, 1)));
  }
  access.base = b_.offset(access.base, elements);
  for (size_t i = 0; i < tile->rank(); ++i) {
    if (access.strides[i]->is_constant(1) && tile->dims[i]->constant() != 1) access.axis = int(i);
  }
  if (access.axis < 0) return access;
  int64_t alignment = access_alignment(access, memory, offsets, limits);
  layout::VectorAccess vectors = layout::vector_access(access.layout, access.axis, alignment);
  access.layout = vectors.layout;
  access.width = vectors.width;
  access.registers = vectors.registers;
  return access;
}

/// How many elements one access can move at most: neighbours in memory, aligned, and all of them below the limit or
/// none.
int64_t NvLowering::access_alignment(const Access& access, Memory memory, const std::vector<Value*>& offsets,
                                     const std::vector<Value*>& limits) {
  // Parameters are 16-byte aligned; each offset moves the start by a multiple of offset * stride.
  int64_t multiple = widest_access / byte_size(access.dtype);
  std::vector<Dim> strides = tile::strides_of(b_.context(), memory.type);
  size_t lead = strides.size() - access.strides.size();
  if (memory.type->is(TypeKind::View)) multiple = std::gcd(multiple, divisibility_.of(memory.type->offset));
  for (size_t i = 0; i < strides.size(); ++i) {
    int64_t stride = divisibility_.of(strides[i]);
    // Along the contiguous axis the layout takes care of its own part; along others any index of the tile may occur.
    bool is_offset = i < lead || i == lead + size_t(access.axis) || access.layout.extent(int(i - lead)) == 1;
    int64_t index = is_offset ? divisibility_.of(offsets[i]) : 1;
    multiple = std::gcd(multiple, index == 0 ? 0 : index * stride);
  }
  if (access.remaining[size_t(access.axis)]) {
    multiple = std::gcd(multiple, divisibility_.of(limits[size_t(access.axis)]));
  }
  return multiple;
}

/// The address of the element at the thread's base plus a register's part.
Value* NvLowering::address(Access& access, const Point& part) {
  std::vector<int32_t> row;
  for (size_t i = 0; i < access.strides.size(); ++i) row.push_back(int(i) == access.axis ? 0 : part[i]);
  auto [it, inserted] = access.rows.try_emplace(row);
  if (inserted) {
    Value* start = access.base;
    for (size_t i = 0; i < row.size(); ++i) {
      if (row[i] != 0) start = b_.offset(start, stride_bytes(access.strides[i], access.dtype, row[i]));
    }
    it->second = start;
  }
  if (access.axis < 0) return it->second;
  return b_.offset(it->second, b_.index(int64_t(part[size_t(access.axis)]) * byte_size(access.dtype)));
}

/// Whether the element at a register's part is below all limits; null where it surely is.
Value* NvLowering::is_there(Access& access, const Point& part) {
  Value* all = access.allowed;
  for (size_t i = 0; i < access.remaining.size(); ++i) {
    if (!access.remaining[i]) continue;
    int32_t first = part[i] / access.grain[i] * access.grain[i];
    auto [it, inserted] = access.below.try_emplace({int(i), first});
    if (inserted) it->second = b_.op(Kind::Lt, i32(first), access.remaining[i]);
    all = all ? b_.bit_and(all, it->second) : it->second;
  }
  return all;
}

void NvLowering::lower_load(Op* op) {
  Memory memory = memories_.at(op->in(in::Load::memory));
  Type tile = op->result()->type();
  auto define_as = [&](Value* loaded) {
    define(op->result(), tile->dtype == DType::Bool ? b_.cast(loaded, DType::Bool) : loaded);
  };
  if (has_layout(memory.type)) return define_as(load_shared(memory, in_memory(b_.context(), tile)));
  Access access = global_access(memory, tile, op->ins(in::Load::offsets), op->ins(in::Load::limits));
  Type part = in_memory(b_.context(), b_.context().reg(tile->dtype, access.width));
  Attr fill_value = op->attr(attr::Load::fill);
  Value* fill = fill_value ? b_.full(part, fill_value) : b_.zero(part);
  std::vector<Value*> parts;
  for (int r = 0; r < access.layout.registers_per_thread(); r += access.width) {
    Point point = access.layout.register_offset(r);
    Value* from = address(access, point);
    Value* there = is_there(access, point);
    Value* loaded = there ? b_.load_masked(from, b_.splat(there, access.width), fill) : b_.load(from, part);
    parts.push_back(aligned(loaded->def())->result());
  }
  define_as(access.registers.empty() ? concat(parts) : pick(concat(parts), access.registers));
}

void NvLowering::lower_store(Op* op) {
  Memory memory = memories_.at(op->in(in::Store::memory));
  Value* tile_value = op->in(in::Store::value);
  Type tile = tile_value->type();
  Value* stored = value(tile_value);
  if (tile->dtype == DType::Bool) stored = b_.cast(stored, DType::U8);
  if (has_layout(memory.type)) return store_shared(stored, memory, in_memory(b_.context(), tile));
  Access access = global_access(memory, tile, op->ins(in::Store::offsets), op->ins(in::Store::limits));
  Value* owner = is_canonical(access.layout);
  std::vector<int64_t> order(size_t(access.layout.registers_per_thread()));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = 0; i < access.registers.size(); ++i) order[size_t(access.registers[i])] = int64_t(i);
  for (int r = 0; r < access.layout.registers_per_thread(); r += access.width) {
    Point point = access.layout.register_offset(r);
    Value* part = pick(stored, {order.begin() + r, order.begin() + r + access.width});
    Value* there = is_there(access, point);
    if (owner) there = there ? b_.bit_and(there, owner) : owner;
    Value* to = address(access, point);
    aligned(there ? b_.store_masked(part, to, b_.splat(there, access.width)) : b_.store(part, to));
  }
}

void NvLowering::lower_gather(Op* op) {
  Memory memory = memories_.at(op->in(in::Gather::table));
  Value* rows = op->in(in::Gather::rows);
  Type tile = op->result()->type();
  const layout::Layout& layout = layout_of(tile);
  std::vector<Dim> strides = tile::strides_of(b_.context(), memory.type);
  std::vector<Value*> limits = op->ins(in::Gather::limits);
  // The columns are an access of their own; the row of each element comes from its number.
  std::vector<int64_t> row_register = register_map(layout_of(rows->type()), layout, {0, -1});
  Value* numbers = b_.cast(value(rows), DType::I64);
  Value* own = thread_coordinate(layout, 1);
  Value* column = value(op->in(in::Gather::column));
  if (own) column = b_.add(column, b_.cast(own, DType::I64));
  Value* base = b_.offset(memory.base, b_.mul(column, stride_bytes(strides[1], tile->dtype, 1)));
  if (memory.type->is(TypeKind::View)) base = b_.offset(base, stride_bytes(memory.type->offset, tile->dtype, 1));
  Access edge = edges(tile, limits);
  int width = 1;
  if (strides[1]->is_constant(1)) {
    int64_t multiple = widest_access / byte_size(tile->dtype);
    multiple = std::gcd(multiple, divisibility_.of(strides[0]));
    multiple = std::gcd(multiple, divisibility_.of(op->in(in::Gather::column)));
    if (memory.type->is(TypeKind::View)) multiple = std::gcd(multiple, divisibility_.of(memory.type->offset));
    if (!limits.empty()) multiple = std::gcd(multiple, divisibility_.of(limits[1]));
    width = layout.vector_width(1, multiple);
  }
  Type part_type = b_.context().reg(tile->dtype, width);
  Value* zero = b_.zero(part_type);
  Value* outside = b_.full(part_type, tile::outside_of(op));
  std::map<int64_t, std::pair<Value*, Value*>> row_of;  // its address and whether it is a row of the table
  std::vector<Value*> parts;
  for (int r = 0; r < layout.registers_per_thread(); r += width) {
    Point point = layout.register_offset(r);
    auto [it, inserted] = row_of.try_emplace(row_register[size_t(r)]);
    if (inserted) {
      Value* number = b_.extract(numbers, row_register[size_t(r)]);
      // As numbers without a sign, those below 0 lie past all.
      Value* height = b_.bitcast(dim(memory.type->dims[0]), DType::U64);
      Value* inside = b_.op(Kind::Lt, b_.bitcast(number, DType::U64), height);
      it->second = {b_.offset(base, b_.mul(number, stride_bytes(strides[0], tile->dtype, 1))), inside};
    }
    auto [row, inside] = it->second;
    Value* from = b_.offset(row, stride_bytes(strides[1], tile->dtype, point[1]));
    Value* there = is_there(edge, point);
    Value* fill = there && outside != zero ? b_.select(b_.splat(there, width), outside, zero) : outside;
    Value* wanted = there ? b_.bit_and(there, inside) : inside;
    parts.push_back(aligned(b_.load_masked(from, b_.splat(wanted, width), fill)->def())->result());
  }
  define(op->result(), concat(parts));
}

}  // namespace tessera
