// Ops that give the same elements in other registers of the same thread: nothing moves. Conversions may move them
// between the lanes of a warp.

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/layout/conversion.h"
#include "ir/layout/register_map.h"
#include "ir/target/ops.h"
#include "ir/tile/axes.h"
#include "ir/tile/ops.h"
#include "passes/tile/nv/nv_lowering.h"
#include "support/check.h"

namespace tessera {

using layout::Layout;
using layout::Point;

std::vector<int64_t> NvLowering::register_map(const Layout& from, const Layout& to, const std::vector<int>& axes,
                                              const Point& start) {
  std::optional<std::vector<int64_t>> map = layout::register_map(from, to, axes, start);
  TSR_CHECK(map, "two tiles' elements are held by different threads");
  return *map;
}

Value* NvLowering::pick(Value* reg, const std::vector<int64_t>& lanes) {
  bool all = int64_t(lanes.size()) == reg->type()->lanes;
  for (size_t i = 0; all && i < lanes.size(); ++i) all = lanes[i] == int64_t(i);
  return all ? reg : b_.shuffle(reg, reg, lanes);
}

Value* NvLowering::concat(const std::vector<Value*>& parts) {
  if (parts.size() == 1 && parts[0]->type()->is(TypeKind::Reg)) return parts[0];
  int64_t lanes = 0;
  for (Value* part : parts) lanes += part->type()->is(TypeKind::Reg) ? part->type()->lanes : 1;
  Type type = b_.context().reg(parts[0]->type()->dtype, lanes);
  return b_.at().value(target::info(target::OpKind::Concat), {parts}, type);
}

void NvLowering::lower_same_elements(Op* op) {
  Point start{};
  if (op->is(tile::info(tile::OpKind::Slice)))
    std::ranges::copy(op->attr(tile::attr::Slice::offsets), start.begin());
  std::vector<int64_t> map = register_map(layout_of(op->operand(0)->type()), layout_of(op->result()->type()),
                                          *tile::axes_in_result(op), start);
  define(op->result(), pick(value(op->operand(0)), map));
}

void NvLowering::lower_iota(Op* op) {
  const Layout& layout = layout_of(op->result()->type());
  int axis = int(op->attr(common::Along::axis));
  Type scalar = b_.context().scalar(op->result()->type()->dtype);
  Value* first = b_.index(0);
  if (Value* start = op->in(tile::in::Iota::start)) first = value(start);
  if (Value* own = thread_coordinate(layout, axis)) first = b_.add(first, b_.cast(own, DType::I64));
  first = b_.cast(first, scalar->dtype);
  std::vector<Value*> parts;
  for (int r = 0; r < layout.registers_per_thread(); ++r) {
    int64_t part = layout.register_offset(r)[size_t(axis)];
    parts.push_back(part ? b_.add(first, b_.integer(scalar, part)) : first);
  }
  define(op->result(), concat(parts));
}

void NvLowering::lower_merge(Op* op) {
  Value *a = value(op->in(tile::in::Merge::a)), *b = value(op->in(tile::in::Merge::b));
  std::vector<Value*> limits = op->ins(tile::in::Merge::limits);
  auto merged = [&] {
    Value* there = below_limits(op->result()->type(), limits);
    return there ? b_.select(there, a, b) : a;
  };
  Value* cuts = is_cut(op, limits);
  if (!cuts) return define(op->result(), merged());
  Block *cut = b_.new_block(), *join = b_.new_block();
  define(op->result(), join->add_arg(a->type()));
  b_.cond_branch(cuts, cut, {}, join, {a});
  b_.at().set_end(cut);
  b_.branch(join, {merged()});
  b_.at().set_end(join);
}

void NvLowering::lower_convert(Op* op) {
  const Layout& to = layout_of(op->result()->type());
  layout::Conversion plan = layout::plan_conversion(layout_of(op->operand(0)->type()), to);
  Value* from = value(op->operand(0));
  switch (plan.kind) {
    case layout::ConversionKind::Nothing: return define(op->result(), from);
    case layout::ConversionKind::Registers:
      return define(op->result(), pick(from, {plan.registers.begin(), plan.registers.end()}));
    case layout::ConversionKind::Shuffles:
      return define(op->result(), exchange_lanes(from, plan, to.registers_per_thread()));
    case layout::ConversionKind::Shared:
      TSR_UNREACHABLE("a conversion between warps must have been written with shared memory");
  }
}

/// True in the lanes of the mask.
Value* NvLowering::in_lanes(uint32_t mask) {
  Value* bits = b_.op(ElementwiseKind::Shr, b_.integer(b_.context().scalar(DType::U32), mask),
                      b_.cast(threads_.lane, DType::U32));
  return b_.op(ElementwiseKind::Ne, b_.cast(b_.bit_and(bits, b_.integer(bits->type(), 1)), DType::I32), i32(0));
}

namespace {

/// Lanes by the register that each names; those that name none are left out.
std::map<int, uint32_t> lanes_by_register(const std::vector<int>& registers) {
  std::map<int, uint32_t> lanes;
  for (size_t lane = 0; lane < registers.size(); ++lane) {
    if (registers[lane] >= 0) lanes[registers[lane]] |= uint32_t(1) << lane;
  }
  return lanes;
}

}  // namespace

/// In each round a lane offers one register and keeps what it receives as one of the result's.
Value* NvLowering::exchange_lanes(Value* from, const layout::Conversion& plan, int registers) {
  Context& context = b_.context();
  DType dtype = from->type()->dtype;
  bool narrow = byte_size(dtype) < 4 || dtype == DType::Bool;
  DType carried = narrow ? (is_float(dtype) ? DType::F32 : DType::I32) : dtype;
  from = b_.cast(from, carried);  // exact
  std::vector<Value*> results(size_t(registers), b_.zero(context.scalar(carried)));
  for (const layout::ShuffleRound& round : plan.rounds) {
    Value* offered = nullptr;
    for (auto [reg, lanes] : lanes_by_register(round.source)) {
      Value* own = b_.extract(from, reg);
      offered = offered ? b_.select(in_lanes(lanes), own, offered) : own;
    }
    Value* received = shuffled(offered, plan, round);
    for (auto [reg, lanes] : lanes_by_register(round.destination)) {
      Value*& result = results[size_t(reg)];
      result = lanes == UINT32_MAX ? received : b_.select(in_lanes(lanes), received, result);
    }
  }
  return b_.cast(concat(results), dtype);
}

/// What each lane's sender offers.
Value* NvLowering::shuffled(Value* offered, const layout::Conversion& plan, const layout::ShuffleRound& round) {
  Context& context = b_.context();
  if (plan.lane_bases.empty()) {
    if (round.lane_xor == 0) return offered;
    return b_.at().value(target::info(target::OpKind::ShuffleXor), {{offered}}, offered->type(),
                         {target::attr::ShuffleXor::mask(context, round.lane_xor)});
  }
  Value* sender = i32(round.lane_xor);
  for (size_t bit = 0; bit < plan.lane_bases.size(); ++bit) {
    Value* set = b_.bit_and(b_.shr(threads_.lane, int64_t(bit)), i32(1));
    sender = b_.bit_xor(sender, b_.mul(set, i32(plan.lane_bases[bit])));
  }
  return b_.at().value(target::info(target::OpKind::ShuffleIndex), {{offered}, {sender}}, offered->type());
}

}  // namespace tessera
