// Rules of the ops that programs of several warps use: shared memory, copies, barriers, matrix
// units.

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/layout/text.h"
#include "ir/numbers/mma.h"
#include "ir/tile/build.h"
#include "ir/tile/mma_layouts.h"
#include "ir/tile/ops.h"
#include "ir/tile/shared_memory.h"
#include "ir/tile/verify.h"

namespace tessera::tile {

namespace {

bool is_shared(Type type) {
  return type->is(TypeKind::View) && type->space == MemorySpace::Shared;
}

bool expect_shared(OpVerifier& verifier, std::string_view what, Type type) {
  if (is_shared(type)) return true;
  verifier.error("{} must be a view in shared space, not {}", what, type->text);
  return false;
}

bool is_constant_size(Type type) {
  for (Dim dim : type->dims) {
    if (!dim->constant()) return false;
  }
  return true;
}

/// The most bytes that a barrier counts in one phase.
constexpr int64_t max_announced = (1 << 20) - 1;

void expect_bytes(Op* op, OpVerifier& verifier, int64_t least) {
  int64_t bytes = op->attr(common::Announce::bytes);
  if (bytes >= least && bytes <= max_announced) return;
  verifier.error("a barrier counts {} to {} bytes, not {}", least, max_announced, bytes);
}

bool is_def(Value* value, OpKind kind) {
  return value->def() && value->def()->is(info(kind));
}

void expect_barrier(OpVerifier& verifier, Value* value) {
  bool slot = is_def(value, OpKind::Slot);
  if (slot && is_def(value->def()->in(in::Slot::memory), OpKind::Barriers)) return;
  verifier.error("the barrier must be a slot of tile.barriers");
}

/// More shared memory than any machine has.
constexpr int64_t max_shared_bytes = int64_t(1) << 24;

/// Bytes of the elements of a type of constant extents; max_shared_bytes + 1 where they are more.
int64_t bytes_of(Type type) {
  int64_t bytes = byte_size(type->dtype);
  for (Dim dim : type->dims) {
    bool fits = *dim->constant() <= max_shared_bytes / std::max<int64_t>(bytes, 1);
    bytes = fits ? bytes * *dim->constant() : max_shared_bytes + 1;
  }
  return bytes;
}

/// Shared memory is of one size, and made by the kernel's own block.
bool expect_allocation(Op* op, OpVerifier& verifier) {
  Type type = op->result()->type();
  if (!expect_shared(verifier, "the result", type)) return false;
  if (!is_constant_size(type)) {
    verifier.error("the extents of shared memory must be numbers: {}", type->text);
    return false;
  }
  if (bytes_of(type) > max_shared_bytes) {
    verifier.error("it takes more than {} bytes: {}", max_shared_bytes, type->text);
  }
  Type plain =
      op->module()->context().contiguous_view(type->dims, type->dtype, MemorySpace::Shared);
  if (type->strides != plain->strides || type->offset != plain->offset) {
    verifier.error("the result must be contiguous, not {}", type->text);
  }
  if (!op->parent() || !op->parent()->info().has(Function)) {
    verifier.error("it stands inside of another op, not in the kernel's own block");
  }
  return !verifier.failed();
}

/// The rules of a copy between a box of global memory and a tile of shared memory.
void check_copy(OpVerifier& verifier, Type shared, Type global, size_t offsets, size_t limits) {
  if (!expect_shared(verifier, "the tile", shared)) return;
  bool is_global = global->is(TypeKind::Tensor) || global->space == MemorySpace::Global;
  if (!is_global)
    return verifier.error("the other side of the copy must be global memory, not {}", global->text);
  if (shared->dtype != global->dtype) {
    return verifier.error("{} cannot be copied as {}", to_string(global->dtype),
                          to_string(shared->dtype));
  }
  if (!is_constant_size(shared))
    verifier.error("the tile's extents must be numbers: {}", shared->text);
  if (shared->rank() > global->rank() || offsets != global->rank()) {
    return verifier.error("it has {} offsets for memory of rank {} and a tile of rank {}", offsets,
                          global->rank(), shared->rank());
  }
  expect_limits(verifier, limits, shared->rank());
}

}  // namespace

void verify_role(Op* op, OpVerifier& verifier) {
  if (op->has(attr::Role::registers)) {
    int64_t registers = op->required(attr::Role::registers);
    bool fits = registers >= 24 && registers <= 240 && registers % 8 == 0;
    if (!fits)
      verifier.error("the registers of a role are a multiple of 8 from 24 to 240, not {}",
                     registers);
  }
  if (!op->parent() || !op->parent()->info().has(Function))
    verifier.error("it stands inside of another op");
  Block* body = op->region()->front();
  if (body->arg_count() || body->next())
    verifier.error("its region must be one block without arguments");
}

void verify_alloc_shared(Op* op, OpVerifier& verifier) {
  expect_allocation(op, verifier);
}

void verify_slot(Op* op, OpVerifier& verifier) {
  Type memory = op->in(in::Slot::memory)->type();
  Type result = op->result()->type();
  if (!memory->is(TypeKind::View) || memory->rank() == 0) {
    return verifier.error("it takes a slot of a view of rank 1 or more, not of {}", memory->text);
  }
  if (is_def(op->in(in::Slot::memory), OpKind::Channel))
    return verifier.error("a channel has no slots");
  Type wanted = slot_type(op->module()->context(), memory);
  if (result != wanted) verifier.error("the result must be {}, not {}", wanted->text, result->text);
}

void verify_copy_async(Op* op, OpVerifier& verifier) {
  check_copy(verifier, op->in(in::CopyAsync::to)->type(), op->in(in::CopyAsync::from)->type(),
             op->slot_size(in::CopyAsync::offsets), op->slot_size(in::CopyAsync::limits));
  Value* barrier = op->in(in::CopyAsync::barrier);
  if (barrier && !is_def(barrier, OpKind::Channel)) expect_barrier(verifier, barrier);
  if (!op->has(attr::CopyAsync::shared_along)) return;
  Op* kernel = op->parent();
  while (kernel->parent()) kernel = kernel->parent();
  std::vector<int64_t> cluster = kernel->attr(attr::Kernel::cluster).vector();
  int64_t parts = 1, before = -1;
  for (int64_t axis : op->attr(attr::CopyAsync::shared_along)) {
    bool is_axis = axis > before && axis < int64_t(cluster.size());
    if (!is_axis) return verifier.error("its cluster has no axis {} along which a copy can be shared", axis);
    parts *= cluster[size_t(axis)];
    before = axis;
  }
  if (!barrier) return verifier.error("a copy is shared where it counts at a barrier");
  std::optional<layout::SharedLayout> shared =
      layout::parse_shared_layout(op->in(in::CopyAsync::to)->type()->layout);
  if (!shared || !is_cut_in(*shared, parts))
    verifier.error("its tile cannot be cut in {} parts of 8 rows, or a multiple", parts);
}

void verify_store_async(Op* op, OpVerifier& verifier) {
  check_copy(verifier, op->in(in::StoreAsync::from)->type(), op->in(in::StoreAsync::to)->type(),
             op->slot_size(in::StoreAsync::offsets), op->slot_size(in::StoreAsync::limits));
}

void verify_channel(Op* op, OpVerifier& verifier) {
  int64_t stages = op->attr(attr::Channel::stages);
  if (stages < 1 || stages > 64) verifier.error("a channel has 1 to 64 stages, not {}", stages);
  for (Value* ring : op->ins(in::Channel::rings)) {
    Type type = ring->type();
    if (!expect_shared(verifier, "a ring", type)) return;
    if (type->rank() == 0 || !type->dims[0]->is_constant(stages)) {
      verifier.error("a ring of {} stages cannot be {}", stages, type->text);
    }
  }
  if (!op->parent() || !op->parent()->info().has(Function)) {
    verifier.error("it stands inside of another op, not in the kernel's own block");
  }
  Type wanted = channel_type(op->module()->context());
  if (op->result()->type() != wanted) verifier.error("the result must be {}", wanted->text);
}

void verify_channel_op(Op* op, OpVerifier& verifier) {
  if (!is_def(op->operand(0), OpKind::Channel)) return verifier.error("it takes a tile.channel");
  if (op->has(attr::ChannelAcquire::bytes)) expect_bytes(op, verifier, 1);
}

void verify_barriers(Op* op, OpVerifier& verifier) {
  if (!expect_allocation(op, verifier)) return;
  Type type = op->result()->type();
  if (type->dtype != DType::U64 || type->rank() != 1) {
    verifier.error("the result must be view<n, u64> in shared space, not {}", type->text);
  }
  if (op->attr(attr::Barriers::arrivals) < 1)
    verifier.error("a barrier waits for at least one arrival");
}

void verify_barrier_op(Op* op, OpVerifier& verifier) {
  expect_barrier(verifier, op->operand(0));
  if (op->has(attr::BarrierExpect::bytes)) expect_bytes(op, verifier, 0);
  if (!op->is(info(OpKind::BarrierArrive)) || !op->has(attr::BarrierArrive::programs)) return;
  Op* kernel = op->parent();
  while (kernel->parent()) kernel = kernel->parent();
  int64_t programs = programs_of_cluster(kernel);
  if (op->attr(attr::BarrierArrive::programs) != programs)
    verifier.error("'programs' are those of the cluster: {}", programs);
}

void verify_pending(Op* op, OpVerifier& verifier) {
  if (op->attr(common::Wait::pending) < 0) verifier.error("'pending' is 0 or more");
}

namespace {

/// Whether the instruction reads the operand, as far as its type says where it lies.
bool may_read(const MmaInstruction& row, Type operand, int k_axis) {
  if (operand->is(TypeKind::Tile)) return k_axis == 1 && reads_registers(row);
  if (operand->layout.empty()) return true;
  std::optional<layout::SharedLayout> shared = layout::parse_shared_layout(operand->layout);
  return shared && reads_operand(row, *shared, k_axis);
}

/// The instruction is there, for these dtypes, and computes the tile in whole steps.
void verify_instruction(Op* mma, std::string_view name, OpVerifier& verifier) {
  const MmaInstruction* row = find_mma(name);
  if (!row) return verifier.error("there is no matrix instruction \"{}\"", name);
  Type a = mma->in(in::Mma::a)->type(), sum = mma->result()->type();
  if (row->factors != a->dtype || row->sum != sum->dtype) {
    return verifier.error("\"{}\" multiplies {} and adds {}, not {} and {}", name, to_string(row->factors),
                          to_string(row->sum), to_string(a->dtype), to_string(sum->dtype));
  }
  bool whole = is_constant_size(a) && is_constant_size(sum) && *sum->dims[0]->constant() % row->m == 0 &&
               *sum->dims[1]->constant() % row->n_step == 0 && *a->dims[1]->constant() % row->k == 0;
  if (!whole) {
    verifier.error("\"{}\" computes multiples of {} x {} x {}, not {} by {}", name, row->m, row->n_step, row->k,
                   to_text(a->dims), to_text(mma->in(in::Mma::b)->type()->dims));
    return;
  }
  if (!may_read(*row, a, 1) || !may_read(*row, mma->in(in::Mma::b)->type(), 0)) {
    return verifier.error("\"{}\" does not read operands of {} and {}", name, a->text,
                          mma->in(in::Mma::b)->type()->text);
  }
  std::optional<layout::Layout> sums = layout::parse_layout(sum->layout);
  if (!sum->layout.empty() && !(sums && leaves_sums(*row, *sums)))
    return verifier.error("\"{}\" does not leave its sums in {}", name, sum->text);
  if (sums && a->is(TypeKind::Tile) && layout::parse_layout(a->layout) != factor_layout(*sums, *a->dims[1]->constant()))
    verifier.error("\"{}\" does not read an operand in {} for sums in {}", name, a->text, sum->text);
}

}  // namespace

void verify_mma(Op* op, OpVerifier& verifier) {
  Type a = op->in(in::Mma::a)->type(), b = op->in(in::Mma::b)->type(),
       c = op->in(in::Mma::c)->type();
  if (!a->is(TypeKind::Tile) && !expect_shared(verifier, "a, where it is not a tile,", a)) return;
  if (!expect_shared(verifier, "b", b)) return;
  bool shapes = a->rank() == 2 && b->rank() == 2 && a->dims[1] == b->dims[0];
  if (!shapes) return verifier.error("{} x {} has no MMA", to_text(a->dims), to_text(b->dims));
  if (c->dims != std::vector<Dim>{a->dims[0], b->dims[1]}) {
    return verifier.error("the result has dims {}, not {}",
                          to_text(std::vector<Dim>{a->dims[0], b->dims[1]}), to_text(c->dims));
  }
  if (a->dtype != b->dtype) {
    verifier.error("operands differ in dtype: {} and {}", to_string(a->dtype), to_string(b->dtype));
  }
  if (c->dtype == DType::Bool || a->dtype == DType::Bool ||
      is_float(a->dtype) != is_float(c->dtype)) {
    verifier.error("products of {} are not added in {}", to_string(a->dtype), to_string(c->dtype));
  }
  if (op->result()->type() != c)
    verifier.error("the result must be {}, not {}", c->text, op->result()->type()->text);
  Value* accumulate = op->in(in::Mma::accumulate);
  if (accumulate && accumulate->type()->dtype != DType::Bool)
    verifier.error("'accumulate' must be a bool");
  if (std::optional<std::string_view> name = op->attr(attr::Mma::instruction)) verify_instruction(op, *name, verifier);
}

void verify_mma_wait(Op* op, OpVerifier& verifier) {
  if (op->result_count() != op->operand_count()) {
    return verifier.error("it gives {} values for {}", op->result_count(), op->operand_count());
  }
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Type wanted = op->operand(i)->type();
    if (op->result(i)->type() != wanted) verifier.error("result {} must be {}", i, wanted->text);
  }
  verify_pending(op, verifier);
}

}  // namespace tessera::tile
