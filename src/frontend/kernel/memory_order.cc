#include "frontend/kernel/memory_order.h"

#include <algorithm>

#include "ir/schedule/ops.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace in = schedule::in;

namespace {

constexpr std::string_view waits = "wait for the copy, and let all threads see it: tile.wait(), then tile.barrier()";
constexpr std::string_view sees = "let all threads come to this place first: tile.barrier()";

bool is_memory(Value* value) {
  return value->type()->is(TypeKind::View) && value->type()->space == MemorySpace::Shared;
}

/// Whether something in the block has to do with the memory.
bool concerns_memory(Block* block) {
  bool found = false;
  for (Op* each : *block) {
    auto uses = [&](Op* user) {
      for (unsigned i = 0; i < user->operand_count(); ++i) found |= is_memory(user->operand(i));
      found |= user->is(info(OpKind::Barrier)) || user->is(info(OpKind::CopyWait));
    };
    uses(each);
    walk(each, uses);
  }
  return found;
}

}  // namespace

std::optional<MemoryOrder::Fault> MemoryOrder::check(Block* body) {
  run(body);
  for (const Write& write : writes_) {
    if (write.under_way) fail({write.op, nullptr, {}, {}, "wait for it at last: tile.wait()"});
  }
  return fault_;
}

MemoryOrder::Place MemoryOrder::place_of(Value* memory) const {
  Op* def = memory->def();
  if (!def->is(info(OpKind::Slot))) return {memory};
  Value* index = def->in(in::Slot::index);
  Value* whole = def->in(in::Slot::memory);
  if (index->def() && index->def()->is(info(OpKind::Constant))) {
    int64_t slots = *whole->type()->dims[0]->constant();
    return {whole, index->def()->attr("value")->integer % slots};
  }
  return {whole, {}, index, turn_};
}

bool MemoryOrder::meet(const Place& a, const Place& b) {
  if (a.memory != b.memory) return false;
  bool whole = (!a.number && !a.slot) || (!b.number && !b.slot);
  if (whole) return true;
  if (a.number && b.number) return *a.number == *b.number;
  return a.slot && a.slot == b.slot && a.turn == b.turn;
}

void MemoryOrder::fail(Fault fault) {
  if (!fault_ && known_) fault_ = fault;
}

void MemoryOrder::write(Op* op, const Place& place, bool is_copy) {
  std::string_view what = is_copy ? "'tile.async_copy' writes" : "'tile.store' writes";
  for (const Read& before : reads_) {
    if (!meet(before.place, place)) continue;
    return fail({op, before.op, what, "'tile.load' may still read", sees});
  }
  for (const Write& before : writes_) {
    if (!meet(before.place, place)) continue;
    std::string_view other = before.is_copy ? "'tile.async_copy' may still write" : "'tile.store' may still write";
    return fail({op, before.op, what, other, before.is_copy ? waits : sees});
  }
  writes_.push_back({op, place, is_copy, is_copy});
  filled_.push_back(place);
}

void MemoryOrder::read(Op* op, const Place& place) {
  std::string_view what = "'tile.load' reads";
  for (const Write& before : writes_) {
    if (!meet(before.place, place)) continue;
    std::string_view other = before.is_copy ? "'tile.async_copy' may still write" : "'tile.store' may still write";
    return fail({op, before.op, what, other, before.under_way ? waits : sees});
  }
  bool filled = std::any_of(filled_.begin(), filled_.end(),
                            [&](const Place& each) { return each.memory == place.memory; });
  if (!filled) return fail({op, nullptr, what});
  reads_.push_back({op, place});
}

/// The oldest copies are over first.
void MemoryOrder::wait(int64_t pending) {
  int64_t left = std::count_if(writes_.begin(), writes_.end(), [](const Write& write) { return write.under_way; });
  for (Write& write : writes_) {
    if (left <= pending) return;
    if (!write.under_way) continue;
    write.under_way = false;
    --left;
  }
}

void MemoryOrder::barrier() {
  std::erase_if(writes_, [](const Write& write) { return !write.under_way; });
  reads_.clear();
}

void MemoryOrder::loop(Op* pipeline) {
  std::optional<int64_t> count = pipeline->dim_attr("count")->constant();
  for (int64_t turn = 0; turn < std::min<int64_t>(count.value_or(2), 2); ++turn) {
    ++turn_;
    run(pipeline->region()->front());
  }
  ++turn_;
}

void MemoryOrder::run(Block* block) {
  for (Op* op : *block) {
    if (fault_ || !known_) return;
    switch (schedule::kind_of(op)) {
      case OpKind::Pipeline:
        loop(op);
        break;
      case OpKind::If:
        known_ = !concerns_memory(op->region(0)->front()) && !concerns_memory(op->region(1)->front());
        break;
      case OpKind::Load:
        if (is_memory(op->in(in::Load::memory))) read(op, place_of(op->in(in::Load::memory)));
        break;
      case OpKind::Store:
        if (is_memory(op->in(in::Store::memory))) write(op, place_of(op->in(in::Store::memory)), false);
        break;
      case OpKind::CopyAsync:
        write(op, place_of(op->in(in::CopyAsync::to)), true);
        break;
      case OpKind::CopyWait:
        wait(op->int_attr("pending"));
        break;
      case OpKind::Barrier:
        barrier();
        break;
      default:
        break;
    }
  }
}

}  // namespace tessera::frontend
