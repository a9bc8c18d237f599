// Reductions: within a thread, then between lanes by shuffles, then between warps through shared memory. The order is
// that of layout::plan_reduction, the same on every run.

#include "ir/core/common_attributes.h"
#include "ir/layout/reduction.h"
#include "ir/target/ops.h"
#include "ir/tile/build.h"
#include "passes/analysis/loop_bounds.h"
#include "passes/tile/nv/emit_where.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
using layout::InputDim;
namespace attr = tile::attr;
namespace in = tile::in;

Value* NvLowering::combine(Kind kind, std::vector<Value*> values) {
  Value* all = values[0];
  for (size_t i = 1; i < values.size(); ++i) all = b_.op(kind, all, values[i]);
  return all;
}

Value* NvLowering::mask_past_limit(Op* op, Value* limit, Value* reg) {
  if (!limit) return reg;
  size_t axis = size_t(op->attr(common::Along::axis));
  Type tile = op->operand(0)->type();
  std::vector<Value*> limits(tile->rank(), nullptr);
  limits[axis] = limit;
  Value* there = below_limits(tile, limits);
  if (!there) return reg;
  Attr identity =
      tile::reduction_identity(b_.context(), op->attr(common::Along::kind), tile->dtype);
  return b_.select(there, reg, b_.full(reg->type(), identity));
}

void NvLowering::lower_reduce(Op* op) {
  Type tile = op->operand(0)->type();
  const layout::Layout& from = layout_of(tile);
  layout::Reduction plan = layout::plan_reduction(from, int(op->attr(common::Along::axis)),
                                                  op->attr(attr::Reduce::keep));
  TSR_CHECK(plan.result == layout_of(op->result()->type()), "a reduction's result has another layout than its plan");
  Kind kind = tile::reduction_op(op->attr(common::Along::kind));
  Value* partial = within_thread(op, plan, kind);
  for (int mask : plan.lane_masks) {
    Value* other = b_.at().value(target::info(target::OpKind::ShuffleXor), {{partial}}, partial->type(),
                                 {target::attr::ShuffleXor::mask(b_.context(), mask)});
    partial = b_.op(kind, partial, other);
  }
  if (plan.slot_count() > 1) partial = across_warps(op, plan, kind, partial);
  define(op->result(), partial);
}

/// Combines what each thread holds, without masks where the tile is not partial.
Value* NvLowering::within_thread(Op* op, const layout::Reduction& plan, Kind kind) {
  Value* limit = op->in(in::Reduce::limit);
  Value* reg = value(op->operand(0));
  std::vector<Value*> limits(op->operand(0)->type()->rank(), nullptr);
  limits[size_t(op->attr(attr::Reduce::axis))] = limit;
  Value* cuts = is_cut(op, limits);
  if (!cuts) return combine_registers(plan, kind, mask_past_limit(op, limit, reg));
  Block *cut = b_.new_block(), *whole = b_.new_block(), *join = b_.new_block();
  b_.cond_branch(cuts, cut, {}, whole, {});
  b_.at().set_end(cut);
  Value* partial = combine_registers(plan, kind, mask_past_limit(op, limit, reg));
  Value* joined = join->add_arg(partial->type());
  b_.branch(join, {partial});
  b_.at().set_end(whole);
  b_.branch(join, {combine_registers(plan, kind, reg)});
  b_.at().set_end(join);
  return joined;
}

Value* NvLowering::combine_registers(const layout::Reduction& plan, Kind kind, Value* reg) {
  // The first elements to combine of every result, then the second, … are whole registers groups.
  size_t most = 0;
  for (const std::vector<int>& sources : plan.registers) most = std::max(most, sources.size());
  std::vector<Value*> terms;
  for (size_t n = 0; n < most; ++n) {
    std::vector<int64_t> lanes;
    for (const std::vector<int>& sources : plan.registers) {
      TSR_CHECK(sources.size() == most, "elements of a reduction's result combine different numbers of registers");
      lanes.push_back(sources[n]);
    }
    terms.push_back(pick(reg, lanes));
  }
  return combine(kind, std::move(terms));
}

/// Partial results go to [slot][element of the result] in shared memory, from where every thread combines its own.
Value* NvLowering::across_warps(Op* op, const layout::Reduction& plan, Kind kind, Value* partial) {
  const layout::Layout& from = layout_of(op->operand(0)->type());
  Type element = b_.context().reg(partial->type()->dtype, 1);
  int64_t bytes = byte_size(element->dtype);
  Value* scratch = b_.offset(shared_base_, i32(op->required(attr::Reduce::shared_offset)));
  // The place of an element of the result, row-major.
  Value* own = nullptr;
  std::vector<int64_t> stride(size_t(plan.result.rank()), 1);
  for (int axis = plan.result.rank(); axis-- > 0;) {
    if (axis + 1 < plan.result.rank()) stride[size_t(axis)] = stride[size_t(axis) + 1] * plan.result.extent(axis + 1);
    Value* coordinate = thread_coordinate(plan.result, axis);
    if (!coordinate) continue;
    Value* step = b_.mul(coordinate, i32(stride[size_t(axis)] * bytes));
    own = own ? b_.add(own, step) : step;
  }
  int64_t slot_bytes = plan.result.element_count() * bytes;
  auto place = [&](Value* base, int r) {
    int64_t at = 0;
    for (int axis = 0; axis < plan.result.rank(); ++axis) {
      at += plan.result.register_offset(r)[size_t(axis)] * stride[size_t(axis)] * bytes;
    }
    return b_.offset(base, i32(at));
  };
  Value* base = own ? b_.offset(scratch, own) : scratch;

  Value* writes = is_zero(threads_.lane, plan.result.free_fields(InputDim::Lane));
  if (Value* warp = is_zero(threads_.warp, from.free_fields(InputDim::Warp))) {
    writes = writes ? b_.bit_and(writes, warp) : warp;
  }
  Value* slot = nullptr;
  int64_t weight = 1;
  for (const layout::IndexField& digit : plan.warp_fields) {
    Value* step = b_.mul(field(threads_.warp, digit), i32(weight * slot_bytes));
    slot = slot ? b_.add(slot, step) : step;
    weight *= digit.count;
  }
  if (is_in_loop(op)) lower_barrier();  // the last iteration's partials have been read
  where(writes, [&] {
    Value* mine = b_.offset(base, slot);
    for (int r = 0; r < plan.result.registers_per_thread(); ++r) b_.store(pick(partial, {r}), place(mine, r));
  });
  lower_barrier();
  std::vector<Value*> terms;
  for (int n = 0; n < plan.slot_count(); ++n) {
    Value* from_slot = b_.offset(base, i32(n * slot_bytes));
    std::vector<Value*> parts;
    for (int r = 0; r < plan.result.registers_per_thread(); ++r) parts.push_back(b_.load(place(from_slot, r), element));
    terms.push_back(concat(parts));
  }
  return combine(kind, std::move(terms));
}

}  // namespace tessera
