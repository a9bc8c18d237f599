// Writes channels with barriers (GPU).
//
// A channel of n stages becomes two barriers for each slot. `full` completes when the copies into
// the slot have arrived, `empty` when all roles that read the slot have released it. Phases of a
// barrier alternate, so that iteration t waits for phase (t / n) mod 2 of its slot:
//
//   acquire t   wait empty[t] for the phase before, expect full[t] bytes     (phase -1 counts as complete)
//   copy        counts its bytes at full[t]
//   wait t      wait full[t]
//   release t   arrive empty[t]     after a fence, where threads read the slot themselves
//
// The copy engine does not wait for what threads have begun to read: the fence does. Asynchronous matrix units are over
// when they are waited for.
//
// Where programs of a cluster fill slots for each other, a slot is free when the warps of all of them have released it:
// each arrives at the barriers of all.
//
// This pass counts how many arrivals complete a phase: for `full` one announcement, for `empty` one
// arrival of each warp that releases.

#include <algorithm>
#include <map>

#include "ir/tile/mma_layouts.h"
#include "ir/tile/shared_memory.h"
#include "passes/pass.h"
#include "passes/tile/pipeline/builders.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

using Kind = ElementwiseKind;

/// The role that the op is part of, or the kernel.
Op* role_of(Op* op, Op* kernel) {
  while (op != kernel && !op->is(tile::info(OpKind::Role))) op = op->parent();
  return op;
}

class ChannelExpansion {
 public:
  ChannelExpansion(Op* kernel, Op* channel)
      : kernel_(kernel),
        channel_(channel),
        stages_(channel->attr(attr::Channel::stages)),
        builder_(*kernel->module()) {}

  void run() {
    std::vector<Op*> users;
    for (Use* use = channel_->result()->first_use(); use; use = use->next()) users.push_back(use->owner());
    builder_.set_before(channel_);
    builder_.set_loc(channel_->loc());
    if (is_shared(users)) programs_ = tile::programs_of_cluster(kernel_);
    full_ = barriers(1);
    empty_ = barriers(programs_ * arrivals(users));
    for (Value* ring : channel_->ins(in::Channel::rings)) is_read_by_threads_ |= is_read_by_threads(ring);
    for (Op* user : users) {
      builder_.set_before(user);
      builder_.set_loc(user->loc());
      expand(user);
    }
    channel_->erase();
  }

 private:
  Value* barriers(int64_t arrivals) {
    Context& context = builder_.context();
    Type type = context.contiguous_view({context.dims().constant(stages_)}, DType::U64, MemorySpace::Shared);
    return builder_.value(tile::info(OpKind::Barriers), {}, type,
                          {attr::Barriers::arrivals(context, arrivals)});
  }

  static bool is_shared(const std::vector<Op*>& users) {
    return std::ranges::any_of(users, [](Op* user) {
      return user->is(tile::info(OpKind::CopyAsync)) && user->has(attr::CopyAsync::shared_along);
    });
  }

  /// How many warps release an iteration: all warps of each role with a release, however many
  /// releases it has.
  int64_t arrivals(const std::vector<Op*>& users) {
    std::map<Op*, int64_t> warps;
    for (Op* user : users) {
      if (!user->is(tile::info(OpKind::ChannelRelease))) continue;
      Op* role = role_of(user, kernel_);
      warps[role] = role == kernel_ ? kernel_->required(attr::Kernel::threads) / 32
                                    : role->attr(attr::Role::warps);
    }
    int64_t sum = 0;
    for (const auto& [role, count] : warps) sum += count;
    TSR_CHECK(sum > 0, "nobody gives the slots of a channel back");
    return sum;
  }

  /// Whether anything but asynchronous matrix units and the copy engine uses slots of the ring.
  static bool is_read_by_threads(Value* ring) {
    for (Use* use = ring->first_use(); use; use = use->next()) {
      if (use->owner()->is(tile::info(OpKind::Channel))) continue;
      TSR_CHECK(use->owner()->is(tile::info(OpKind::Slot)), "the ring of a channel is used as slots");
      for (Use* of_slot = use->owner()->result()->first_use(); of_slot; of_slot = of_slot->next()) {
        Op* user = of_slot->owner();
        bool is_mma = user->is(tile::info(OpKind::Mma));
        if (is_mma ? tile::is_by_threads(user) : !user->is(tile::info(OpKind::CopyAsync))) return true;
      }
    }
    return false;
  }

  /// The parity of the phase that the iteration completes; with `before`, of the phase before. Roles compute it in each
  /// iteration, the one that loads in a single thread: a division of 64 bits would take longer than many an MMA.
  Value* parity(Value* iteration, bool before) {
    Context& context = builder_.context();
    auto number = [&](int64_t value) {
      return builder_.value(tile::info(OpKind::Constant), {}, context.scalar(DType::U32),
                            {attr::Constant::value(context, value)});
    };
    Value* round = tile::cast(builder_, iteration, DType::U32);
    if (stages_ > 1) round = tile::elementwise(builder_, Kind::FloorDiv, {round, number(stages_)});
    if (before) round = tile::add(builder_, round, number(1));
    return tile::cast(builder_, tile::elementwise(builder_, Kind::Mod, {round, number(2)}), DType::I64);
  }

  void wait(Value* barrier, Value* parity) {
    builder_.op(tile::info(OpKind::BarrierWait), {{barrier}, {parity}}, {});
  }

  void expand(Op* user) {
    if (user->is(tile::info(OpKind::CopyAsync))) {
      // The index of the slot that it copies to is the iteration.
      Op* slot = user->in(in::CopyAsync::to)->def();
      TSR_CHECK(slot && slot->is(tile::info(OpKind::Slot)), "a copy of a channel goes to a slot");
      user->set_operand(user->slot_begin(in::CopyAsync::barrier),
                        tile::slot(builder_, full_, slot->in(in::Slot::index)));
      return;
    }
    Value* iteration = user->in(in::ChannelAcquire::iteration);
    if (user->is(tile::info(OpKind::ChannelAcquire))) {
      wait(tile::slot(builder_, empty_, iteration), parity(iteration, true));
      builder_.op(tile::info(OpKind::BarrierExpect), {{tile::slot(builder_, full_, iteration)}}, {},
                  {attr::BarrierExpect::bytes(user->node(attr::ChannelAcquire::bytes))});
    } else if (user->is(tile::info(OpKind::ChannelWait))) {
      wait(tile::slot(builder_, full_, iteration), parity(iteration, false));
    } else {
      if (is_read_by_threads_) tile::fence_async(builder_);
      std::vector<OpAttr> attributes;
      if (programs_ > 1) attributes = {attr::BarrierArrive::programs(builder_.context(), programs_)};
      builder_.op(tile::info(OpKind::BarrierArrive), {{tile::slot(builder_, empty_, iteration)}}, {},
                  std::move(attributes));
    }
    user->erase();
  }

  Op* kernel_;
  Op* channel_;
  int64_t stages_;
  int64_t programs_ = 1;  ///< that fill its slots
  Builder builder_;
  Value* full_ = nullptr;
  Value* empty_ = nullptr;
  bool is_read_by_threads_ = false;
};

/// Whether all warps of a role have to reach the op: one of them may wait for its turn to issue MMAs.
bool needs_all_warps(Op* op) {
  if (op->is(tile::info(OpKind::Barrier)) || op->region_count() > 0) return true;
  bool combines = op->is(tile::info(OpKind::Reduce)) || op->is(tile::info(OpKind::Scan));
  return combines && tile::exchanged_bytes(op).value_or(1) > 0;
}

/// Layouts are known now, and with them what warps exchange: MMAs with such an op between them are in no order.
void drop_order(Op* kernel) {
  std::vector<Op*> waits;
  walk(kernel, [&](Op* op) {
    if (op->is(tile::info(OpKind::OrderWait))) waits.push_back(op);
  });
  for (Op* wait : waits) {
    bool is_alone = true;
    Op* arrive = wait;
    for (; !arrive->is(tile::info(OpKind::OrderArrive)); arrive = arrive->next()) is_alone &= !needs_all_warps(arrive);
    if (is_alone) continue;
    wait->erase();
    arrive->erase();
  }
}

}  // namespace

Status insert_barriers(Module& module, PassContext&) {
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    drop_order(kernel);
    std::vector<Op*> channels;
    for (Op* op : *kernel->region()->front()) {
      if (op->is(tile::info(OpKind::Channel))) channels.push_back(op);
    }
    if (channels.empty()) continue;
    Builder builder(module);
    builder.set_after(channels.back());
    builder.set_loc(channels.back()->loc());
    if (tile::programs_of_cluster(kernel) == 1) {
      tile::barrier(builder);  // all warps see the channels' barriers before anyone waits
    } else {
      // So do those of the cluster; and they arrive at barriers only while their programs run.
      builder.op(tile::info(OpKind::ClusterBarrier), {}, {});
      builder.set_before(kernel->region()->front()->back());
      builder.op(tile::info(OpKind::ClusterBarrier), {}, {});
    }
    for (Op* channel : channels) ChannelExpansion(kernel, channel).run();
  }
  return success;
}

}  // namespace tessera
