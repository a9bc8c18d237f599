// Assigns offsets in shared memory (GPU).
//
// The most strictly aligned buffers come first, since swizzled tiles start at multiples of 1024
// bytes, then barriers and the partial results of reductions between warps. Each takes the lowest
// bytes that it may have. If the buffers do not fit, a message blames the schedule and says by how
// much.
//
// Two buffers share bytes where all threads are done with one before any touches the other: there
// are no roles, and neither is filled by the copy engine, which runs ahead; the ops of the kernel's
// own block that use them, loops counting whole, are in order; and a tile.barrier stands between.
// The barrier comes after the waits for copies by threads and for MMAs. Buffers that the copy
// engine stores to global memory may only come last.

#include <algorithm>
#include <map>

#include "ir/core/kernel_size.h"
#include "ir/tile/ops.h"
#include "ir/tile/shared_memory.h"
#include "passes/pass.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using tile::OpKind;

namespace {

struct Buffer {
  Op* op;
  AttrKey<AttrType::Int, Arity::Optional> key;
  int64_t bytes;
  int64_t alignment;
  int64_t offset = 0;
  bool shares = false;   ///< its bytes, with buffers that it is not used beside
  bool is_last = false;  ///< nothing may follow it
  int first = 0, last = 0;          ///< positions in the kernel's block
  std::vector<Op*> uses = {};
};

Buffer shared_buffer(Op* op) {
  Type type = op->result()->type();
  return {op,
          tile::attr::AllocShared::offset,
          tile::shared_bytes(type),
          tile::shared_alignment(type),
          0,
          false,
          false,
          0,
          0,
          {}};
}

/// Where warps exchange what they combine in a reduction or scan.
void add_exchange(Op* op, std::vector<Buffer>& buffers) {
  std::optional<int64_t> bytes = tile::exchanged_bytes(op);
  TSR_CHECK(bytes, "warps combine a tile that has no layout or no plan");
  if (!*bytes) return;
  buffers.push_back(
      {op, tile::attr::Reduce::shared_offset, *bytes, tile::exchange_alignment, 0, false, false, 0, 0, {}});
}

/// Which buffers are used when.
class Lifetimes {
 public:
  explicit Lifetimes(Op* kernel) : kernel_(kernel) {
    int count = 0;
    for (Op* op : *kernel->region()->front()) {
      positions_[op] = count++;
      has_roles_ |= op->is(tile::info(OpKind::Role));
    }
  }

  void find(Buffer& buffer) {
    if (has_roles_ || !buffer.op->is(tile::info(OpKind::AllocShared))) return;
    // Copies that the source asks for may still be in flight after the last op in the source.
    if (buffer.op->attr(tile::attr::AllocShared::written)) return;
    buffer.shares = collect(buffer.op->result(), buffer) && !buffer.uses.empty();
    if (!buffer.shares) return;
    buffer.first = buffer.last = position(buffer.uses[0]);
    for (Op* use : buffer.uses) {
      buffer.first = std::min(buffer.first, position(use));
      buffer.last = std::max(buffer.last, position(use));
    }
  }

  bool may_share(const Buffer& a, const Buffer& b) const { return follows(a, b) || follows(b, a); }

 private:
  /// Finds the ops that touch the buffer; false if one may do so at any time.
  bool collect(Value* memory, Buffer& buffer) {
    for (Use* use = memory->first_use(); use; use = use->next()) {
      Op* user = use->owner();
      switch (tile::kind_of(user)) {
        case OpKind::Slot:
        case OpKind::View:
          if (!collect(user->result(), buffer)) return false;
          continue;
        case OpKind::CopyAsync:
          if (user->in(tile::in::CopyAsync::barrier)) return false;
          break;
        case OpKind::StoreAsync: buffer.is_last = true; break;
        case OpKind::Store:
        case OpKind::Load:
        case OpKind::Mma: break;
        default: return false;
      }
      buffer.uses.push_back(user);
    }
    return true;
  }

  Op* in_kernel(Op* op) const {
    while (op->parent() != kernel_) op = op->parent();
    return op;
  }
  int position(Op* op) const { return positions_.at(in_kernel(op)); }

  /// All threads are done with `a` before one touches `b`.
  bool follows(const Buffer& a, const Buffer& b) const {
    if (!a.shares || !b.shares || a.is_last || a.last >= b.first) return false;
    for (const auto& [op, at] : positions_) {
      if (at > a.last && at < b.first && op->is(tile::info(OpKind::Barrier))) return true;
    }
    return ends_with_barrier(a);
  }

  /// The last op that uses the buffer is a loop whose iterations end with a barrier behind all
  /// uses.
  bool ends_with_barrier(const Buffer& buffer) const {
    Op* loop = nullptr;
    for (Op* use : buffer.uses) {
      if (position(use) == buffer.last) loop = in_kernel(use);
    }
    if (!loop->is(tile::info(OpKind::For))) return false;
    bool ends = false;
    for (Op* op : *loop->region()->front()) {
      if (op->is(tile::info(OpKind::Barrier))) ends = true;
      for (Op* use : buffer.uses) {
        Op* within = use;
        while (within && within->parent() != loop) within = within->parent();
        if (within == op) ends = false;
      }
    }
    return ends;
  }

  Op* kernel_;
  bool has_roles_ = false;
  std::map<Op*, int> positions_;
};

int64_t aligned(int64_t offset, int64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

/// The lowest place beside all earlier buffers that it may not share bytes with.
int64_t lowest_place(const std::vector<Buffer>& placed, const Buffer& buffer, const Lifetimes& lifetimes) {
  int64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Buffer& other : placed) {
      bool overlaps = offset < other.offset + other.bytes && other.offset < offset + buffer.bytes;
      if (!overlaps || lifetimes.may_share(other, buffer)) continue;
      offset = aligned(other.offset + other.bytes, buffer.alignment);
      moved = true;
    }
  }
  return offset;
}

Status allocate(Op* kernel, const Machine& machine, DiagnosticEngine& diagnostics) {
  std::vector<Buffer> buffers;
  walk(kernel, [&](Op* op) {
    bool memory = op->is(tile::info(OpKind::AllocShared)) || op->is(tile::info(OpKind::Barriers));
    if (memory) buffers.push_back(shared_buffer(op));
    bool combines = op->is(tile::info(OpKind::Reduce)) || op->is(tile::info(OpKind::Scan));
    if (combines) add_exchange(op, buffers);
  });
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const Buffer& a, const Buffer& b) { return a.alignment > b.alignment; });
  Lifetimes lifetimes(kernel);
  std::vector<Buffer> placed;
  int64_t total = 0;
  for (Buffer& buffer : buffers) {
    lifetimes.find(buffer);
    buffer.offset = lowest_place(placed, buffer, lifetimes);
    buffer.op->set(buffer.key, buffer.offset);
    total = std::max(total, buffer.offset + buffer.bytes);
    placed.push_back(buffer);
  }
  int64_t available = machine.gpu.shared_per_block;
  if (total > available) {
    diagnostics.report(diag::schedule_shared_memory, kernel->loc(), kernel_name(kernel), total, available,
                       total - available)
        .help("use fewer stages or smaller blocks");
    return failure;
  }
  kernel->set(tile::attr::Kernel::shared, total);
  return success;
}

}  // namespace

Status allocate_shared(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "allocate_shared needs a machine");
  for (Op* op : *module.body()) {
    if (!op->is(tile::info(OpKind::Kernel))) continue;
    if (allocate(op, *context.machine, context.diagnostics).failed()) return failure;
  }
  return success;
}

}  // namespace tessera
