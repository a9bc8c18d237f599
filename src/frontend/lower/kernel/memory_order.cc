#include "frontend/lower/kernel/memory_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/schedule/ops.h"

namespace tessera::frontend {

namespace {

constexpr std::string_view barrier_help = "let all threads reach this place first: tile.barrier()";

std::string wait_help(std::ptrdiff_t pending) {
  std::string wait = pending == 0 ? "tile.wait()" : fmt::format("tile.wait(pending={}) or less", pending);
  return fmt::format("wait for the copy, and let all threads see it: {}, then tile.barrier()", wait);
}

bool starts_alike(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return std::equal(a.begin(), a.begin() + std::ptrdiff_t(std::min(a.size(), b.size())), b.begin());
}

/// Whether one lies in the other.
bool overlap(const MemoryPlace& a, const MemoryPlace& b) {
  return a.memory == b.memory && starts_alike(a.slots, b.slots);
}

/// Whether the loop around `op` runs `before`, too.
bool share_a_loop(Op* op, Op* before) {
  Op* loop = op->parent();
  while (loop && !loop->is(schedule::info(schedule::OpKind::Pipeline))) loop = loop->parent();
  Op* around = before;
  while (around && around != loop) around = around->parent();
  return loop && around == loop;
}

/// That two places are one because slots are counted modulo their number; empty where they are one anyway.
std::string wrapped(const MemoryPlace& a, const MemoryPlace& b) {
  if (a.indices.empty() || b.indices.empty() || a.indices[0] == b.indices[0]) return {};
  auto [low, high] = std::minmax(a.indices[0], b.indices[0]);
  return fmt::format("ask for more slots: with {} of them, slot {} is slot {} again",
                     a.memory->type()->dims[0]->text, high, low);
}

}  // namespace

std::string MemoryOrder::help_for(const Access& before) {
  if (!before.in_flight) return std::string(barrier_help);
  pending_ = std::ptrdiff_t(writes_.size());
  waits_ = true;
  need_wait(before);
  return wait_help(pending_);
}

/// At most the copies that began after this one may be in flight where it is read.
void MemoryOrder::need_wait(const Access& before) {
  pending_ = std::min(pending_, std::count_if(&before + 1, std::as_const(writes_).data() + writes_.size(),
                                              [](const Access& write) { return write.in_flight; }));
}

void MemoryOrder::fail(Op* op, const MemoryPlace& place, std::string_view what, const Access& before) {
  bool is_read = std::any_of(reads_.begin(), reads_.end(), [&](const Access& read) { return &read == &before; });
  std::string_view other = is_read          ? "'tile.load' may still read"
                           : before.is_copy ? "'tile.async_copy' may still write"
                                            : "'tile.store' may still write";
  bool earlier = before.iteration != iteration_ && share_a_loop(op, before.op);
  fault_ = MemoryFault{op, before.op, what, other, earlier, {}};
  std::string slots = wrapped(place, before.place);
  // A copy that is awaited only to be overwritten is never read.
  bool lost = !is_read && !slots.empty();
  if (!lost) fault_->helps.push_back(is_read ? std::string(barrier_help) : help_for(before));
  if (!slots.empty()) fault_->helps.push_back((lost ? "" : "or ") + slots);
}

void MemoryOrder::write(Op* op, const MemoryPlace& place, bool is_copy) {
  waits_ = false;
  if (fault_) return;
  std::string_view what = is_copy ? "'tile.async_copy' writes" : "'tile.store' writes";
  for (const std::vector<Access>* accesses : {&reads_, &writes_}) {
    for (const Access& before : *accesses) {
      if (!overlap(before.place, place)) continue;
      fail(op, place, what, before);
      waits_ = false;
      return;
    }
  }
  writes_.push_back({op, place, iteration_, is_copy, is_copy});
  auto known = std::find_if(filled_.begin(), filled_.end(), [&](const MemoryPlace& each) {
    return each.memory == place.memory && each.slots == place.slots;
  });
  if (known == filled_.end()) {
    filled_.push_back(place);
  } else {
    known->indices = place.indices;
  }
}

void MemoryOrder::read(Op* op, const MemoryPlace& place) {
  if (fault_) {
    for (const Access& before : writes_) {
      if (waits_ && before.in_flight && overlap(before.place, place)) need_wait(before);
    }
    if (waits_) fault_->helps[0] = wait_help(pending_);
    return;
  }
  std::string_view what = "'tile.load' reads";
  for (const Access& before : writes_) {
    if (overlap(before.place, place)) return fail(op, place, what, before);
  }
  bool filled = false;
  for (const MemoryPlace& each : filled_) {
    if (!overlap(each, place)) continue;
    filled = true;
    if (!starts_alike(each.indices, place.indices)) displaced_.insert(op);
  }
  if (!filled) {
    fault_ = MemoryFault{op, nullptr, what, {}, false, {"fill it first: tile.async_copy or tile.store"}};
    return;
  }
  reads_.push_back({op, place, iteration_});
}

/// The oldest copies are over first.
void MemoryOrder::wait(int64_t pending) {
  waits_ = false;
  if (fault_) return;
  int64_t left = std::count_if(writes_.begin(), writes_.end(), [](const Access& write) { return write.in_flight; });
  for (Access& write : writes_) {
    if (left <= pending) return;
    if (!write.in_flight) continue;
    write.in_flight = false;
    --left;
  }
}

void MemoryOrder::barrier() {
  waits_ = false;
  if (fault_) return;
  std::erase_if(writes_, [](const Access& write) { return !write.in_flight; });
  reads_.clear();
}

void MemoryOrder::finish() {
  auto left = std::find_if(writes_.begin(), writes_.end(), [](const Access& write) { return write.in_flight; });
  if (fault_ || left == writes_.end()) return;
  fault_ = MemoryFault{left->op, nullptr, {}, {}, false, {"wait for it at last: tile.wait()"}};
}

}  // namespace tessera::frontend
