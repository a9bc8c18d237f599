// Barriers, and channels as two barriers for each slot.
//
// A channel's barriers are waited for by the number of their phase, not its parity, so that an
// iteration out of order is found where it happens.

#include <fmt/format.h>

#include "ir/tile/eval_run.h"

namespace tessera::tile {

void KernelRun::run_barriers(Op* op) {
  int64_t arrivals = op->attr(attr::Barriers::arrivals);
  AccessMade made = make_access(Stream::Plain, ++role_->order.own[Stream::Plain], true);
  std::vector<EvalBarrier>& all = barriers_.emplace_back();
  for (int64_t i = 0; i < *op->result()->type()->dims[0]->constant(); ++i)
    all.push_back({op, i, accesses_[made.id], arrivals, arrivals});
  EvalValue& result = at(op->result());
  result.dims = sizes(op->result()->type()->dims);
  result.barriers = all.data();
}

EvalBarrier& KernelRun::barrier_of(Value* value) {
  EvalBarrier& barrier = *at(value).barriers;
  if (!role_->order.is_over(*barrier.made, many_warps, many_warps)) {
    fail("its barrier may not have been made yet", {{barrier.op->loc(), "the barrier"}},
         "put a tile.barrier after tile.barriers");
  }
  return barrier;
}

void KernelRun::arrive(EvalBarrier& barrier, int64_t count, Knowledge knowledge, int64_t bytes) {
  if (count > barrier.missing) {
    fail(fmt::format("{} arrivals come where phase {} of barrier {} lacks {} of {}", count,
                     barrier.phase, barrier.index, barrier.missing, barrier.arrivals),
         {{barrier.op->loc(), "the barrier"}}, "");
  }
  if (failed_) return;
  barrier.missing -= count;
  barrier.bytes += bytes;
  barrier.arriving.join(knowledge);
  if (barrier.missing == 0 && barrier.bytes < 0) {
    return fail(
        fmt::format("{} bytes more have come than were announced for phase {} of barrier {}",
                    -barrier.bytes, barrier.phase, barrier.index));
  }
  barrier.end_phase_if_complete();
}

void KernelRun::run_arrive(Op* op) {
  const RoleOrder& order = role_->order;
  EvalBarrier& barrier = barrier_of(op->operand(0));
  if (kind_of(op) == OpKind::BarrierArrive) {
    // Programs of a cluster do the same: what this one does to the others they do to it.
    int64_t programs = op->attr(attr::BarrierArrive::programs).value_or(1);
    return arrive(barrier, programs * order.warps, order.known_by_all(), 0);
  }
  arrive(barrier, 1, order.known_by_one(), op->attr(attr::BarrierExpect::bytes));
}

/// True when the phase is complete; else the role waits, and the op is run again.
bool KernelRun::wait_for(EvalBarrier& barrier, int64_t phase) {
  if (barrier.phase > phase) {
    role_->order.known.join(barrier.complete);
    return true;
  }
  role_->wait = EvalWait{op_, &barrier, phase};
  return false;
}

void KernelRun::run_barrier_wait(Op* op) {
  EvalBarrier& barrier = barrier_of(op->in(in::BarrierWait::barrier));
  int64_t parity = index(op->in(in::BarrierWait::parity));
  if (parity != 0 && parity != 1) return fail(fmt::format("its parity is {}", parity));
  bool passed = barrier.phase % 2 != parity;
  if (!failed_) wait_for(barrier, passed ? barrier.phase - 1 : barrier.phase);
}

void KernelRun::run_channel(Op* op) {
  EvalChannel& channel = channels_.emplace_back();
  channel.op = op;
  std::map<Op*, int64_t> releasing;
  for (Use* use = op->result()->first_use(); use; use = use->next()) {
    if (kind_of(use->owner()) != OpKind::ChannelRelease) continue;
    Op* owner = use->owner()->parent();
    while (kind_of(owner) != OpKind::Role && kind_of(owner) != OpKind::Kernel)
      owner = owner->parent();
    releasing[owner] =
        kind_of(owner) == OpKind::Role ? owner->attr(attr::Role::warps) : roles_[0].order.warps;
  }
  int64_t warps = 0;
  for (auto [owner, count] : releasing) warps += count;
  for (int64_t i = 0; i < op->attr(attr::Channel::stages); ++i) {
    channel.full.push_back({op, i});
    channel.empty.push_back({op, i, {}, warps, warps});
  }
  channel.released.resize(channel.full.size());
  EvalValue& result = at(op->result());
  result.dims = {};
  result.channel = &channel;
}

std::optional<KernelRun::Iteration> KernelRun::iteration_of(Op* op) {
  EvalChannel* channel = at(op->operand(0)).channel;
  int64_t number = index(op->operand(1));
  if (number < 0) {
    fail(fmt::format("its iteration is {}", number));
    return std::nullopt;
  }
  return Iteration{channel, number, number % channel->stages(), number / channel->stages()};
}

void KernelRun::run_acquire(Op* op) {
  std::optional<Iteration> iteration = iteration_of(op);
  if (!iteration) return;
  EvalBarrier& empty = iteration->channel->empty[size_t(iteration->slot)];
  EvalBarrier& full = iteration->channel->full[size_t(iteration->slot)];
  if (!wait_for(empty, iteration->round - 1)) return;
  if (full.phase != iteration->round || full.missing == 0) {
    return fail(
        fmt::format("iteration {} comes out of order: the slot's next iteration is {}", iteration->number,
                    (full.phase + (full.missing == 0)) * iteration->channel->stages() + iteration->slot));
  }
  iteration->channel->acquired[role_->order.role] = iteration->number;
  arrive(full, 1, role_->order.known_by_one(), op->attr(attr::ChannelAcquire::bytes));
}

void KernelRun::run_channel_wait(Op* op) {
  std::optional<Iteration> iteration = iteration_of(op);
  if (!iteration) return;
  EvalBarrier& full = iteration->channel->full[size_t(iteration->slot)];
  if (!wait_for(full, iteration->round)) return;
  if (full.phase > iteration->round + 1) {
    fail(fmt::format("the slot of iteration {} has been filled again", iteration->number));
  }
}

void KernelRun::run_release(Op* op) {
  std::optional<Iteration> iteration = iteration_of(op);
  if (!iteration) return;
  EvalBarrier& empty = iteration->channel->empty[size_t(iteration->slot)];
  std::set<uint16_t>& released = iteration->channel->released[size_t(iteration->slot)];
  if (empty.phase != iteration->round || !released.insert(role_->order.role).second) {
    return fail(fmt::format("iteration {} is given back out of order", iteration->number));
  }
  role_->order.own.fence();
  arrive(empty, role_->order.warps, role_->order.known_by_all(), 0);
  if (empty.phase != iteration->round) released.clear();
}

}  // namespace tessera::tile
