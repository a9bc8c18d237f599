// Checks of accesses on a CPU. A program is one thread's: where a check fails it is left, and the next
// one follows.

#include "ir/core/common_attributes.h"
#include "ir/tile/ops.h"
#include "passes/tile/x86/kernel_lowering.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

std::vector<CheckedRange> KernelLowering::checked_ranges(Value* memory, Type tile,
                                                         const std::vector<Value*>& offsets,
                                                         const std::vector<Value*>& limits) {
  Value* root = memory;
  while (root->def() && root->def()->is(tile::info(OpKind::View))) root = root->def()->operand(0);
  std::vector<Value*> firsts, ends;
  for (Value* offset : offsets) firsts.push_back(scalar(offset));
  for (Value* limit : limits) ends.push_back(scalar(limit));
  return ranges_of(b_, sizes_, {memory->type(), root->type()}, tile, firsts, ends);
}

std::vector<CheckedRange> KernelLowering::gathered_ranges(Op* gather) {
  Type table = gather->in(in::Gather::table)->type(), tile = gather->result()->type();
  Fragment rows = fragment(gather->in(in::Gather::rows));
  std::vector<Value*> limits = gather->ins(in::Gather::limits);
  bool column_of_rows = rows.shape.extents.size() == 2;
  std::vector<CheckedRange> ranges;
  for (int64_t i = 0; i < shape_of(tile).extents[0]; ++i) {
    Value* number = b_.cast(column_of_rows ? element(rows, i, 0) : element(rows, 0, i), DType::I64);
    Value* count = b_.index(1);
    if (!limits.empty()) {
      Value* wanted = b_.op(Kind::Lt, b_.index(i), scalar(limits[0]));
      count = b_.select(wanted, count, b_.index(0));
    }
    ranges.push_back({0, number, count, dim(table->dims[0])});
  }
  Value* columns = dim(tile->dims[1]);
  if (!limits.empty()) columns = b_.min(columns, scalar(limits[1]));
  ranges.push_back({1, scalar(gather->in(in::Gather::column)), columns, dim(table->dims[1])});
  return ranges;
}

void KernelLowering::check_access(Op* op) {
  std::vector<CheckedRange> ranges;
  bool gathers = op->is(tile::info(OpKind::Gather));
  if (gathers) {
    ranges = gathered_ranges(op);
  } else if (op->is(tile::info(OpKind::Load))) {
    ranges = checked_ranges(op->in(in::Load::memory), op->result()->type(), op->ins(in::Load::offsets),
                            op->ins(in::Load::limits));
  } else if (op->is(tile::info(OpKind::Store))) {
    ranges = checked_ranges(op->in(in::Store::memory), op->in(in::Store::value)->type(),
                            op->ins(in::Store::offsets), op->ins(in::Store::limits));
  } else {
    TSR_UNREACHABLE("no check of " + std::string(op->name()));
  }
  AccessCheck check(b_, std::move(ranges));
  Value* violation = gathers ? check.any_violation() : check.violation();
  if (!violation) return;
  Block* fail = b_.new_block();
  Block* fine = b_.new_block();
  b_.cond_branch(violation, fail, {}, fine, {});
  b_.at().set_end(fail);
  check.record(log_, b_.index(op->required(common::Access::site)), program_);
  b_.branch(latch_);
  b_.at().set_end(fine);
}

}  // namespace tessera
