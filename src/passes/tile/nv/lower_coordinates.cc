// Accesses by coordinates (take, scatter): each register of a thread has an address of its own.

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

void NvLowering::lower_take(Op* op) {
  Memory memory = memories_.at(op->in(in::Take::memory));
  Type tile = op->result()->type();
  bool is_bool = tile->dtype == DType::Bool;
  Type part = b_.context().reg(is_bool ? DType::U8 : tile->dtype, 1);
  Value* outside = b_.full(part, tile::outside_of(op));
  std::vector<Value*> parts;
  for (int r = 0; r < layout_of(tile).registers_per_thread(); ++r) {
    auto [address, inside] = place_of(memory, op->ins(in::Take::index), r);
    parts.push_back(inside ? b_.load_masked(address, b_.splat(inside, 1), outside) : b_.load(address, part));
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
  Access edge = edges(tile, op->ins(in::Scatter::limits));
  Value* owner = is_canonical(layout);
  for (int r = 0; r < layout.registers_per_thread(); ++r) {
    auto [address, inside] = place_of(memory, op->ins(in::Scatter::index), r);
    Value* wanted = owner;
    for (Value* condition : {inside, is_there(edge, layout.register_offset(r))}) {
      if (condition) wanted = wanted ? b_.bit_and(wanted, condition) : condition;
    }
    Value* element = b_.extract(stored, r);
    if (op->attr(attr::Scatter::add)) {
      where(wanted, [&, address = address] {
        b_.at().value(target::info(target::OpKind::AtomicAdd), {{address}, {element}}, element->type());
      });
    } else if (wanted) {
      b_.store_masked(b_.splat(element, 1), address, b_.splat(wanted, 1));
    } else {
      b_.store(b_.splat(element, 1), address);
    }
  }
}

}  // namespace tessera
