// Accesses by coordinates (take, scatter): each register of a thread has an address of its own, but for neighbours.

#include <algorithm>
#include <numeric>

#include "ir/target/ops.h"
#include "ir/tile/build.h"
#include "passes/tile/nv/emit_where.h"

namespace tessera {

using Kind = ElementwiseKind;
namespace attr = tile::attr;
namespace in = tile::in;

/// The address of register r's element, and whether there is one.
std::pair<Value*, Value*> NvLowering::place_of(Memory memory, const std::vector<Value*>& index, int64_t r) {
  std::vector<Dim> strides = tile::strides_of(b_.context(), memory.type);
  DType dtype = memory.type->dtype;
  Value* address = memory.base;
  if (memory.type->is(TypeKind::View)) address = b_.offset(address, stride_bytes(memory.type->offset, dtype, 1));
  Value* inside = nullptr;
  for (size_t i = 0; i < index.size(); ++i) {
    Value* number = b_.cast(b_.extract(value(index[i]), r), DType::I64);
    Value* within = b_.bit_and(b_.op(Kind::Ge, number, b_.index(0)),
                               b_.op(Kind::Lt, number, dim(memory.type->dims[i])));
    inside = inside ? b_.bit_and(inside, within) : within;
    address = b_.offset(address, b_.mul(number, stride_bytes(strides[i], dtype, 1)));
  }
  return {address, inside};
}

int NvLowering::neighbours(Memory memory, Type tile, const std::vector<Value*>& index,
                           const std::vector<Value*>& limits) {
  std::vector<Dim> strides = tile::strides_of(b_.context(), memory.type);
  if (index.empty() || !strides.back()->is_constant(1)) return 1;
  int64_t aligned = widest_access / byte_size(tile->dtype);
  auto divided_by = [&](int64_t number) { aligned = std::gcd(aligned, number); };
  divided_by(divisibility_.of(memory.type->dims.back()));
  for (size_t i = 0; i + 1 < index.size(); ++i) divided_by(divisibility_.of(strides[i]));
  if (memory.type->is(TypeKind::View)) divided_by(divisibility_.of(memory.type->offset));
  const layout::Layout& layout = layout_of(tile);
  int widest = 1;
  for (int axis = 0; axis < layout.rank(); ++axis) {
    int64_t along = std::gcd(aligned, neighbours_.counting(index.back(), axis));
    for (size_t i = 0; i + 1 < index.size(); ++i) along = std::gcd(along, neighbours_.equal(index[i], axis));
    Value* limit = limits.empty() ? nullptr : limits[size_t(axis)];
    if (limit) along = std::gcd(along, divisibility_.of(limit));
    widest = std::max(widest, layout.vector_width(axis, along));
  }
  return widest;
}

std::vector<int64_t> NvLowering::registers(int64_t first, int count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

void NvLowering::lower_take(Op* op) {
  Memory memory = memories_.at(op->in(in::Take::memory));
  Type tile = op->result()->type();
  bool is_bool = tile->dtype == DType::Bool;
  int width = neighbours(memory, tile, op->ins(in::Take::index), {});
  Type part = b_.context().reg(is_bool ? DType::U8 : tile->dtype, width);
  Value* outside = b_.full(part, tile::outside_of(op));
  std::vector<Value*> parts;
  for (int r = 0; r < layout_of(tile).registers_per_thread(); r += width) {
    auto [address, inside] = place_of(memory, op->ins(in::Take::index), r);
    Value* loaded = inside ? b_.load_masked(address, b_.splat(inside, width), outside) : b_.load(address, part);
    parts.push_back(aligned(loaded->def())->result());
  }
  Value* taken = concat(parts);
  define(op->result(), is_bool ? b_.cast(taken, DType::Bool) : taken);
}

void NvLowering::lower_scatter(Op* op) {
  Memory memory = memories_.at(op->in(in::Scatter::memory));
  Value* tile_value = op->in(in::Scatter::value);
  Type tile = tile_value->type();
  Value* stored = value(tile_value);
  if (tile->dtype == DType::Bool) stored = b_.cast(stored, DType::U8);
  const layout::Layout& layout = layout_of(tile);
  std::vector<Value*> limits = op->ins(in::Scatter::limits);
  Access edge = edges(tile, limits);
  Value* owner = is_canonical(layout);
  bool adds = op->attr(attr::Scatter::add);
  int width = neighbours(memory, tile, op->ins(in::Scatter::index), limits);
  if (adds && (tile->dtype != DType::F32 || !machine_.gpu.has_vector_reduction)) width = 1;
  for (int r = 0; r < layout.registers_per_thread(); r += width) {
    auto [address, inside] = place_of(memory, op->ins(in::Scatter::index), r);
    Value* wanted = owner;
    for (Value* condition : {inside, is_there(edge, layout.register_offset(r))}) {
      if (condition) wanted = wanted ? b_.bit_and(wanted, condition) : condition;
    }
    Value* part = pick(stored, registers(r, width));
    if (adds) {
      Value* mask = wanted ? wanted : b_.integer(b_.context().scalar(DType::Bool), 1);
      b_.at().op(target::info(target::OpKind::ReduceAdd), {{part}, {address}, {mask}}, {});
    } else {
      aligned(wanted ? b_.store_masked(part, address, b_.splat(wanted, width)) : b_.store(part, address));
    }
  }
}

}  // namespace tessera
