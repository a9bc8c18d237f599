#include "passes/tile/x86/kernel_lowering.h"

#include "ir/core/common_attributes.h"
#include "ir/target/ops.h"
#include "ir/tile/ops.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
using tile::OpKind;

namespace {

/// The bytes of an element that fill a register in parts of a fragment: 4, or 2 where a kernel has no tiles but of that
/// size, as one that copies has. Scans go in groups of 16.
unsigned bytes_of_lanes(Op* kernel) {
  bool narrow = false, wide = false;
  walk(kernel, [&](Op* op) {
    wide |= op->is(tile::info(OpKind::Scan));
    for (unsigned i = 0; i < op->result_count(); ++i) {
      Type type = op->result(i)->type();
      if (type->is(TypeKind::Tile)) (byte_size(type->dtype) == 2 ? narrow : wide) = true;
    }
  });
  return narrow && !wide ? 2 : 4;
}

}  // namespace

KernelLowering::KernelLowering(Op* kernel, Op* func, const Machine& machine)
    : kernel_(kernel),
      machine_(machine),
      b_(*kernel->module(), func),
      lanes_(machine.lanes(bytes_of_lanes(kernel))),
      func_(func) {}

namespace {

enum Parameter : unsigned { Buffers, Dims, First, Last, Scratch };

}  // namespace

// The entry block loads addresses and sizes; then a loop runs the programs first … last-1:
//
//   entry: …; if first < last goto program(first) else goto exit
//   program(p): <body for p>; goto latch
//   latch: if p + 1 < last goto program(p + 1) else goto exit
//
// Without checks the latch is the end of the program's blocks.
void KernelLowering::run() {
  Block* entry = func_->region()->front();
  make_entry();
  find_pair_operands();
  find_tile_dots();
  bool tiles = !accumulators_.empty();
  if (tiles) machine_op(target::OpKind::TileConfig, {}, {});
  Block* body = b_.new_block();
  Block* exit = b_.new_block();
  program_ = body->add_arg(b_.context().scalar(DType::I64), kernel_->module()->intern("program"));
  latch_ = log_ ? b_.new_block() : nullptr;
  Value* last = entry->arg(Last);
  Value* some = b_.op(Kind::Lt, entry->arg(First), last);
  b_.cond_branch(some, body, {entry->arg(First)}, exit, {});
  sizes_.compute_before(some->def());

  b_.at().set_end(body);
  program_ids_ = decode_program(b_, sizes_, kernel_->attr(common::Kernel::grid), program_);
  lower_block(kernel_->region()->front());
  if (latch_) {
    b_.branch(latch_);
    b_.at().set_end(latch_);
  }
  Value* next = b_.add(program_, b_.index(1));
  b_.cond_branch(b_.op(Kind::Lt, next, last), body, {next}, exit, {});

  b_.at().set_end(exit);
  if (tiles) machine_op(target::OpKind::TileRelease, {}, {});
  b_.at().op(target::info(target::OpKind::Return), {}, {});
  func_->region()->move_to_end(exit);
}

void KernelLowering::make_entry() {
  Block* entry = func_->region()->front();
  scratch_ = entry->arg(Scratch);
  Type address = b_.context().ptr();
  Block* parameters = kernel_->region()->front();
  for (unsigned i = 0; i < parameters->arg_count(); ++i) {
    Value* parameter = parameters->arg(i);
    Value* slot = b_.offset(entry->arg(Buffers), b_.index(int64_t(i) * 8));
    Value* base = b_.load(slot, address, true);
    base->set_name(parameter->name());
    memories_[parameter] = {base, parameter->type()};
  }
  if (kernel_->has(common::Kernel::checks)) {
    log_ = b_.load(b_.offset(entry->arg(Buffers), b_.index(int64_t(parameters->arg_count()) * 8)), address, true);
  }
  int64_t n = 0;
  for (std::string_view name : func_->attr(target::attr::Func::dims)) {
    Value* slot = b_.offset(entry->arg(Dims), b_.index(n++ * 8));
    Value* value = b_.load(slot, b_.context().scalar(DType::I64), true);
    value->set_name(kernel_->module()->intern(name));
    sizes_.bind(value->name(), value);
  }
}

void KernelLowering::lower_block(Block* block) {
  for (Op* op : *block) {
    b_.at().set_loc(op->loc());
    if (log_ && op->has(common::Access::site)) check_access(op);
    lower(op);
  }
}

void KernelLowering::lower(Op* op) {
  switch (tile::kind_of(op)) {
#define ELEMENTWISE(Name, ...) case OpKind::Name:
#include "ir/numbers/elementwise.def"
      return lower_elementwise(op);
    case OpKind::Return:
    case OpKind::Yield: return;
    case OpKind::For: return lower_for(op);
    case OpKind::If: return lower_if(op);
    case OpKind::ProgramId:
      return define(op->result(), {program_ids_[size_t(op->attr(tile::attr::ProgramId::axis))]});
    case OpKind::Dim: return define(op->result(), {dim(op->attr(tile::attr::Dim::value))});
    case OpKind::Constant:
    case OpKind::Full: return lower_constant(op);
    case OpKind::Splat: return lower_splat(op);
    case OpKind::Extract: return define(op->result(), {scalar(op->operand(0))});
    case OpKind::View: return lower_view(op);
    case OpKind::Alloc: return lower_alloc(op);
    case OpKind::Load: return lower_load(op);
    case OpKind::Store: return lower_store(op);
    case OpKind::Gather: return lower_gather(op);
    case OpKind::Take: return lower_take(op);
    case OpKind::Scatter: return lower_scatter(op);
    case OpKind::Iota: return lower_iota(op);
    case OpKind::Broadcast: return lower_broadcast(op);
    case OpKind::Reshape: return lower_reshape(op);
    case OpKind::Transpose: return lower_transpose(op);
    case OpKind::Reduce: return lower_reduce(op);
    case OpKind::Scan: return lower_scan(op);
    case OpKind::Merge: return lower_merge(op);
    case OpKind::Dot: return lower_dot(op);
    case OpKind::PairRows: return lower_pair_rows(op);
    case OpKind::DotPairs: return lower_dot_pairs(op);
    // None is left by the properties that tile_to_x86 needs: MasksPropagated, OneThread, OpsDecomposed.
    case OpKind::Kernel: case OpKind::Within: case OpKind::WorkerId: case OpKind::WorkerCount:
    case OpKind::ConvertLayout: case OpKind::Slice: case OpKind::Role: case OpKind::AllocShared: case OpKind::Slot:
    case OpKind::CopyAsync: case OpKind::CopyCommit: case OpKind::CopyWait: case OpKind::StoreAsync:
    case OpKind::StoreWait: case OpKind::Channel: case OpKind::ChannelAcquire: case OpKind::ChannelWait:
    case OpKind::ChannelRelease: case OpKind::Barriers: case OpKind::BarrierExpect: case OpKind::BarrierArrive:
    case OpKind::BarrierWait: case OpKind::Barrier: case OpKind::ClusterBarrier: case OpKind::FenceAsync:
    case OpKind::Mma: case OpKind::MmaWait: case OpKind::OrderWait: case OpKind::OrderArrive:
#define COMPOSED_OP(Name, ...) case OpKind::Name:
#include "ir/tile/composed_ops.inc"
      break;
  }
  TSR_UNREACHABLE("no lowering for " + std::string(op->name()));
}

void KernelLowering::lower_constant(Op* op) {
  std::vector<Value*> parts;
  for (Type type : part_types(op->result())) parts.push_back(b_.full(type, op->attr(common::Constant::value)));
  define(op->result(), std::move(parts));
}

void KernelLowering::lower_splat(Op* op) {
  std::vector<Value*> parts;
  Value* value = scalar(op->operand(0));
  for (Type type : part_types(op->result())) {
    parts.push_back(type->is(TypeKind::Reg) ? b_.splat(value, type->lanes) : value);
  }
  define(op->result(), std::move(parts));
}

void KernelLowering::lower_elementwise(Op* op) {
  Value* result = op->result();
  std::vector<Type> types = part_types(result);
  std::vector<Value*> parts;
  for (size_t i = 0; i < types.size(); ++i) {
    std::vector<Value*> operands;
    for (unsigned n = 0; n < op->operand_count(); ++n) operands.push_back(values_.at(op->operand(n))[i]);
    if (operands.size() == 2) {
      parts.push_back(b_.op(op->info().elementwise, operands[0], operands[1]));
      continue;
    }
    if (op->info().elementwise == Kind::Bits) {
      parts.push_back(b_.bitcast(operands[0], result->type()->dtype));
      continue;
    }
    std::vector<std::vector<Value*>> slots;
    for (Value* operand : operands) slots.push_back({operand});
    parts.push_back(b_.at().value(target::info(op->info().elementwise), std::move(slots), types[i]));
  }
  define(result, std::move(parts));
}

FragmentShape KernelLowering::shape_of(Type tile) const {
  FragmentShape shape{{}, lanes_};
  for (Dim extent : tile->dims) shape.extents.push_back(*extent->constant());
  return shape;
}

FragmentShape KernelLowering::shape_of(Value* tile_value) const {
  FragmentShape shape = shape_of(tile_value->type());
  if (only_multiplies(tile_value)) shape.chunk = 1;
  return shape;
}

Fragment KernelLowering::fragment(Value* tile_value) const {
  return {shape_of(tile_value), values_.at(tile_value)};
}

std::vector<Type> KernelLowering::part_types(Value* value) const {
  Type type = value->type();
  if (!type->is(TypeKind::Tile)) return {type};
  if (is_accumulator(value)) return {};
  FragmentShape shape = shape_of(value);
  std::vector<Type> types;
  for (int64_t row = 0; row < shape.rows(); ++row) {
    for (int64_t part = 0; part < shape.parts_per_row(); ++part) {
      types.push_back(part_type(b_.context(), type->dtype, shape.lanes(part)));
    }
  }
  return types;
}

}  // namespace tessera
