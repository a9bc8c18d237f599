// Tiles in shared memory: addresses follow from the memory's layout.

#include "ir/layout/access.h"
#include "ir/target/ops.h"
#include "ir/tile/ops.h"
#include "ir/tile/shared_memory.h"
#include "passes/tile/nv/emit_where.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
using layout::Point;
using layout::SharedLayout;
namespace attr = tile::attr;
namespace in = tile::in;

void NvLowering::lower_alloc_shared(Op* op) {
  Value* base = b_.offset(shared_base_, i32(op->required(attr::AllocShared::offset)));
  memories_[op->result()] = {base, op->result()->type()};
}

void NvLowering::lower_slot(Op* op) {
  Memory ring = memories_.at(op->in(in::Slot::memory));
  Type type = op->result()->type();
  int64_t bytes = type->layout.empty() ? byte_size(type->dtype) : tile::slot_bytes(shared_layout_of(type));
  int64_t slots = *ring.type->dims[0]->constant();
  // Iteration numbers fit in 31 bits. Remainders of 64 bits take many instructions, signed ones
  // more.
  Value* iteration = slots == 1 ? nullptr : b_.cast(as_i32(value(op->in(in::Slot::index))), DType::U32);
  Value* index = iteration ? as_i32(b_.op(Kind::Mod, iteration, b_.integer(iteration->type(), slots))) : i32(0);
  memories_[op->result()] = {b_.offset(ring.base, b_.mul(index, i32(bytes))), type};
}

/// The offset (i32) of the element at these coordinates; null coordinates are 0.
Value* NvLowering::shared_offset(const SharedLayout& shared, const std::vector<Value*>& coordinates) {
  Value* linear = nullptr;
  for (const layout::AddressTerm& term : shared.terms()) {
    Value* coordinate = coordinates[size_t(term.axis)];
    if (!coordinate) continue;
    if (term.divisor > 1) coordinate = b_.op(Kind::FloorDiv, coordinate, i32(term.divisor));
    if (term.count) coordinate = b_.op(Kind::Mod, coordinate, i32(term.count));
    Value* step = term.step == 1 ? coordinate : b_.mul(coordinate, i32(term.step));
    linear = linear ? b_.add(linear, step) : step;
  }
  if (!linear) return nullptr;
  if (shared.swizzle_mask() == 0) return linear;
  Value* line = b_.bit_and(b_.shr(linear, 7), i32(shared.swizzle_mask()));
  return b_.bit_xor(linear, b_.shl(line, 4));
}

/// The addresses of registers 0, width, 2*width, … of a tile that fills the memory. Of `few`, which take registers for
/// as long as any access needs them, most accesses are an immediate away.
std::vector<Value*> NvLowering::shared_addresses(Memory memory, const layout::Layout& layout, int width,
                                                 bool few) {
  const SharedLayout& shared = shared_layout_of(memory.type);
  if (context_.accessed) context_.accessed({kernel_, current_, layout, shared, width});
  std::vector<Value*> own;
  for (int axis = 0; axis < layout.rank(); ++axis) own.push_back(thread_coordinate(layout, axis));
  Value* offset = shared_offset(shared, own);
  Value* start = offset ? b_.offset(memory.base, offset) : memory.base;
  std::map<int64_t, Value*> permuted;
  std::vector<Value*> addresses;
  for (int r = 0; r < layout.registers_per_thread(); r += width) {
    layout::AddressStep step = layout::register_address(layout, shared, r);
    if (step.kind == layout::AddressStep::Add) {
      addresses.push_back(b_.offset(start, i32(step.value)));
    } else if (step.kind == layout::AddressStep::Xor && offset) {
      int64_t flipped = few ? step.value : step.value | step.add;
      Value*& moved = permuted[flipped];
      if (!moved) moved = b_.offset(memory.base, b_.bit_xor(offset, i32(flipped)));
      addresses.push_back(few ? b_.offset(moved, i32(step.add)) : moved);
    } else {
      std::vector<Value*> coordinates = own;
      Point part = layout.register_offset(r);
      for (size_t axis = 0; axis < coordinates.size(); ++axis) {
        if (part[axis] == 0) continue;
        Value* constant = i32(part[axis]);
        coordinates[axis] = coordinates[axis] ? b_.add(coordinates[axis], constant) : constant;
      }
      addresses.push_back(b_.offset(memory.base, shared_offset(shared, coordinates)));
    }
  }
  return addresses;
}

namespace {

/// Of 16-bit elements and memory whose rows a warp reads 8 x 8 at a time, if that is so.
std::optional<layout::MatrixAccess> by_matrices(const layout::Layout& layout, const SharedLayout& shared, Type tile) {
  if (byte_size(tile->dtype) != 2) return std::nullopt;
  return layout::matrix_access(layout, shared);
}

}  // namespace

Value* NvLowering::load_shared(Memory memory, Type tile) {
  const layout::Layout& layout = layout_of(tile);
  const SharedLayout& shared = shared_layout_of(memory.type);
  if (auto matrices = by_matrices(layout, shared, tile)) return load_matrices(memory, tile, *matrices);
  layout::VectorAccess access = layout::vector_access(layout, shared);
  Type part = b_.context().reg(tile->dtype, access.width);
  std::vector<Value*> parts;
  for (Value* address : shared_addresses(memory, access.layout, access.width, !access.registers.empty())) {
    Op* load = b_.load(address, part)->def();
    load->set(target::attr::Load::align, access.width * byte_size(tile->dtype));
    parts.push_back(load->result());
  }
  return access.registers.empty() ? concat(parts) : pick(concat(parts), access.registers);
}

void NvLowering::store_shared(Value* stored, Memory memory, Type tile) {
  const layout::Layout& layout = layout_of(tile);
  const SharedLayout& shared = shared_layout_of(memory.type);
  if (machine_.gpu.has_stmatrix && !layout.is_replicated()) {
    if (auto matrices = by_matrices(layout, shared, tile)) return store_matrices(stored, memory, *matrices);
  }
  int width = layout::shared_vector_width(layout, shared);
  std::vector<Value*> addresses = shared_addresses(memory, layout, width);
  where(is_canonical(layout), [&] {
    for (size_t i = 0; i < addresses.size(); ++i) {
      std::vector<int64_t> lanes;
      for (int n = 0; n < width; ++n) lanes.push_back(int64_t(i) * width + n);
      b_.at().op(target::info(target::OpKind::Store), {{pick(stored, lanes)}, {addresses[i]}}, {},
                 {target::attr::Store::align(b_.context(), width * byte_size(tile->dtype))});
    }
  });
}

Value* NvLowering::load_matrices(Memory memory, Type tile, const layout::MatrixAccess& access) {
  Context& context = b_.context();
  std::vector<Value*> addresses = shared_addresses(memory, access.rows, 8);
  Type part = context.reg(tile->dtype, 2 * access.count);
  std::vector<Value*> parts;
  std::vector<int64_t> place(access.registers.size() * access.registers[0].size());
  for (size_t i = 0; i < access.registers.size(); ++i) {
    for (size_t n = 0; n < access.registers[i].size(); ++n) {
      place[size_t(access.registers[i][n])] = int64_t(i * access.registers[i].size() + n);
    }
    parts.push_back(b_.at().value(target::info(target::OpKind::Ldmatrix), {{addresses[i]}}, part,
                                  {target::attr::Ldmatrix::count(context, access.count),
                                   target::attr::Ldmatrix::transpose(context, access.transpose)}));
  }
  return pick(concat(parts), place);
}

void NvLowering::store_matrices(Value* stored, Memory memory, const layout::MatrixAccess& access) {
  Context& context = b_.context();
  std::vector<Value*> addresses = shared_addresses(memory, access.rows, 8);
  for (size_t i = 0; i < access.registers.size(); ++i) {
    std::vector<int64_t> lanes(access.registers[i].begin(), access.registers[i].end());
    b_.at().op(target::info(target::OpKind::Stmatrix), {{pick(stored, lanes)}, {addresses[i]}}, {},
               {target::attr::Stmatrix::count(context, access.count),
                target::attr::Stmatrix::transpose(context, access.transpose)});
  }
}

}  // namespace tessera
