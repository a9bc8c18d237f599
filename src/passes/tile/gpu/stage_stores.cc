// Lets the copy engine write results of tensor cores (GPU).
//
// The registers of an accumulator hold pairs of neighbours of eight rows at a time: stored from there, a row is written
// in pieces of a few bytes. Instead the tile goes through shared memory column by column, each as wide as a swizzled
// line, in a layout that neither side has bank conflicts in, and the copy engine writes whole lines while the next
// column is computed from the accumulator (gpu/column_parts.h):
//
//   for each column c: store_wait; barrier; store slice c -> buffer; fence_async; barrier; store_async buffer -> memory
//
// The first store_wait and barrier are left out where the buffer cannot be in use. Rows that the copy engine cannot
// write are written by threads, from shared memory as well (row_stores.h). Where roles leave no shared memory for the
// buffers, results are stored from registers.

#include "ir/layout/families.h"
#include "ir/layout/text.h"
#include "ir/tile/shared_memory.h"
#include "passes/analysis/loop_bounds.h"
#include "passes/pass.h"
#include "passes/tile/gpu/column_parts.h"
#include "passes/tile/gpu/row_stores.h"
#include "passes/tile/gpu/tensor_copies.h"
#include "passes/tile/pipeline/builders.h"
#include "passes/tile/pipeline/choose_schedule.h"
#include "support/check.h"

namespace tessera {

using layout::SharedLayout;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

/// Shared memory that a kernel leaves free.
int64_t free_bytes(Op* kernel, const Machine& machine) {
  return machine.gpu.shared_per_block - pipeline::kept_shared_bytes - tile::allocated_shared_bytes(kernel);
}

bool has_roles(Op* kernel) {
  for (Op* op : *kernel->region()->front()) {
    if (op->is(tile::info(OpKind::Role))) return true;
  }
  return false;
}

/// Elements of the widest swizzled line that divides a row; 0 where none does.
int64_t part_width(int64_t columns, int64_t element_bytes) {
  for (int64_t line = part_line; line >= 64; line /= 2) {
    if (columns % (line / element_bytes) == 0) return line / element_bytes;
  }
  return 0;
}

class StoreStaging {
 public:
  StoreStaging(Op* store, const Divisibility& known, const Machine& machine)
      : store_(store), known_(known), machine_(machine), builder_(*store->module()) {}

  bool run() {
    Value* value = store_->in(in::Store::value);
    Type tile = value->type();
    Type memory = store_->in(in::Store::memory)->type();
    if (!is_global(store_->in(in::Store::memory))) return false;
    if (!tile->layout.starts_with("#wgmma<acc") || tile->rank() != 2) return false;
    std::optional<layout::Layout> layout = layout::parse_layout(tile->layout);
    int64_t rows = *tile->dims[0]->constant(), columns = *tile->dims[1]->constant();
    int64_t width = part_width(columns, byte_size(tile->dtype));
    if (width == 0) return false;
    Context& context = builder_.context();
    Type plain = context.tile({tile->dims[0], context.dims().constant(width)}, tile->dtype);
    std::optional<SharedLayout> shared = staged_layout(context, memory, plain);
    std::optional<layout::Layout> part = layout::wgmma_accumulator(int(rows), int(width), layout->warps());
    if (!shared || !part || shared->contiguous_axis() != 1 || !is_tensor_copy(store_, *shared, known_)) return false;

    Op* kernel = store_->parent();
    while (kernel->parent()) kernel = kernel->parent();
    Type buffers = shared_type(context, plain, *shared, part_buffers);
    // Without roles buffers may share memory.
    int64_t free = has_roles(kernel) ? free_bytes(kernel, machine_) : machine_.gpu.shared_per_block;
    if (tile::shared_bytes(buffers) > free) return false;
    builder_.set_loc(store_->loc());
    builder_.set_before(kernel->region()->front()->front());
    Value* ring = tile::alloc_shared(builder_, buffers);
    builder_.set_before(store_);
    ColumnParts parts(builder_, *part);
    int64_t count = columns / width;
    for (int64_t c = 0; c < count; ++c) store_column(parts.of(value, c * width), ring, c, count);
    finish_at_end();
    erase_with_operands(store_);
    return true;
  }

 private:
  void store_column(Value* part, Value* ring, int64_t c, int64_t count) {
    int64_t width = *part->type()->dims[1]->constant();
    Value* buffer = tile::slot(builder_, ring, tile::index(builder_, c % part_buffers));
    await_buffer(c, count);
    Value* zero = tile::index(builder_, 0);
    tile::store(builder_, part, buffer, {zero, zero}, {});
    tile::fence_async(builder_);
    tile::barrier(builder_);
    std::vector<Value*> offsets = store_->ins(in::Store::offsets), limits = store_->ins(in::Store::limits);
    Value* shift = tile::index(builder_, c * width);
    offsets.back() = tile::add(builder_, offsets.back(), shift);
    if (!limits.empty()) limits.back() = tile::sub(builder_, limits.back(), shift);
    builder_.op(tile::info(OpKind::StoreAsync), {{buffer}, {store_->in(in::Store::memory)}, offsets, limits}, {});
  }

  /// Waits until the last copy from the column's buffer has been read. Where columns do not come round evenly the next
  /// tile starts over with all buffers free.
  void await_buffer(int64_t c, int64_t count) {
    bool first_round = c < part_buffers, starts_over = count % part_buffers != 0;
    if (first_round && (!is_in_loop(store_) || (starts_over && c > 0))) return;
    wait(first_round && starts_over ? 0 : part_buffers - 1);
    tile::barrier(builder_);
  }

  void wait(int64_t pending) {
    builder_.op(tile::info(OpKind::StoreWait), {}, {},
                {attr::StoreWait::pending(builder_.context(), pending)});
  }

  /// Shared memory may go only when all of it has been read.
  void finish_at_end() {
    Op* op = store_;
    while (op->parent()->parent() && !op->parent()->is(tile::info(OpKind::Role))) op = op->parent();
    Op* end = op->block()->terminator();
    bool waits = end->prev() && end->prev()->is(tile::info(OpKind::StoreWait));
    if (waits) return;
    Builder at = builder_;
    builder_.set_before(end);
    wait(0);
    builder_ = at;
  }

  Op* store_;
  const Divisibility& known_;
  const Machine& machine_;
  Builder builder_;
};

}  // namespace

Status stage_stores(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "stage_stores needs a machine");
  if (!context.machine->gpu.has_tma) return success;
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    Divisibility known(kernel);
    std::vector<Op*> stores;
    walk(kernel, [&](Op* op) {
      if (op->is(tile::info(OpKind::Store))) stores.push_back(op);
    });
    for (Op* store : stores) {
      if (StoreStaging(store, known, *context.machine).run()) continue;
      store_by_rows(store, known, free_bytes(kernel, *context.machine));
    }
  }
  return success;
}

}  // namespace tessera
