// Checks of accesses on a GPU. Offsets and limits are the same in all threads of a program, so one of
// them reports; rows of a gather are each thread's own. The access then happens with a limit of 0:
// leaving the program instead would make the other warps wait for ever. Copies by tensor maps stay
// within their tensor whatever their coordinates are.

#include "ir/core/common_attributes.h"
#include "ir/target/ops.h"
#include "ir/tile/ops.h"
#include "passes/tile/nv/emit_where.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

std::vector<CheckedRange> NvLowering::checked_ranges(Value* memory, Type tile, const std::vector<Value*>& offsets,
                                                     const std::vector<Value*>& limits) {
  Value* root = memory;
  while (root->def() && root->def()->is(tile::info(OpKind::View))) root = root->def()->operand(0);
  AccessedMemory accessed{memory->type(), root->type()};
  return ranges_of(b_, sizes_, accessed, tile, values(offsets), values(limits));
}

void NvLowering::check_access(Op* op) {
  int64_t site = op->required(common::Access::site);
  std::vector<CheckedRange> ranges;
  switch (tile::kind_of(op)) {
    case OpKind::Load:
      ranges = checked_ranges(op->in(in::Load::memory), op->result()->type(), op->ins(in::Load::offsets),
                              op->ins(in::Load::limits));
      break;
    case OpKind::Store:
      ranges = checked_ranges(op->in(in::Store::memory), op->in(in::Store::value)->type(),
                              op->ins(in::Store::offsets), op->ins(in::Store::limits));
      break;
    case OpKind::CopyAsync:
      ranges = checked_ranges(op->in(in::CopyAsync::from), op->in(in::CopyAsync::to)->type(),
                              op->ins(in::CopyAsync::offsets), op->ins(in::CopyAsync::limits));
      break;
    case OpKind::StoreAsync:
      ranges = checked_ranges(op->in(in::StoreAsync::to), op->in(in::StoreAsync::from)->type(),
                              op->ins(in::StoreAsync::offsets), op->ins(in::StoreAsync::limits));
      break;
    case OpKind::Gather: return check_rows(op);
    default: TSR_UNREACHABLE("no check of " + std::string(op->name()));
  }
  AccessCheck check(b_, std::move(ranges));
  Value* violation = check.violation();
  if (!violation) return;
  where(violation, [&] { in_one_thread([&] { check.record(log_, b_.index(site), block_number()); }); });
  allowed_ = b_.op(Kind::Not, violation);
}

/// Rows that are no rows of the table read as NaN: they are reported only.
void NvLowering::check_rows(Op* gather) {
  Value* rows = gather->in(in::Gather::rows);
  std::vector<Value*> limits = gather->ins(in::Gather::limits), row_limits;
  if (!limits.empty()) {
    row_limits.assign(rows->type()->rank(), nullptr);
    row_limits[0] = limits[0];
  }
  Access edge = edges(rows->type(), row_limits);
  Value* numbers = b_.cast(value(rows), DType::I64);
  Value* height = dim(gather->in(in::Gather::table)->type()->dims[0]);
  std::vector<CheckedRange> ranges;
  for (int r = 0; r < edge.layout.registers_per_thread(); ++r) {
    Value* there = is_there(edge, edge.layout.register_offset(r));
    Value* count = there ? b_.select(there, b_.index(1), b_.index(0)) : b_.index(1);
    ranges.push_back({0, b_.extract(numbers, r), count, height});
  }
  AccessCheck check(b_, std::move(ranges));
  Value* violation = check.any_violation();
  if (!violation) return;
  where(violation, [&] {
    check.record(log_, b_.index(gather->required(attr::Gather::site)), block_number());
  });
}

}  // namespace tessera
