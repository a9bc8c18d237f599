#include "passes/tile/gpu/copy_ring.h"

#include <algorithm>
#include <map>
#include <set>

#include "passes/tile/pipeline/builders.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

class CopyRing {
 public:
  CopyRing(Op* loop, int64_t stages)
      : loop_(loop), body_(loop->region()->front()), stages_(stages), builder_(*loop->module()) {}

  /// True if the loop has the form that plan_pipeline gives it.
  bool find() {
    if (tile::known_index(loop_->in(in::For::step)) != 1) return false;
    std::vector<Op*> barriers;
    int commits = 0, waits = 0, mmas = 0;
    bool is_stored = false;
    for (Op* op : *body_) {
      switch (tile::kind_of(op)) {
        case OpKind::CopyAsync:
          if (op->in(in::CopyAsync::barrier)) return false;
          copies_.push_back(op);
          break;
        case OpKind::CopyCommit: ++commits, commit_ = op; break;
        case OpKind::CopyWait: ++waits, wait_ = op; break;
        case OpKind::Barrier: barriers.push_back(op); break;
        case OpKind::Mma: ++mmas; break;
        case OpKind::Store:
          if (op->in(in::Store::memory)->type()->space != MemorySpace::Shared) break;
          if (barriers.size() != 1) return false;
          is_stored = true;
          break;
        case OpKind::Slot:
        case OpKind::Slice:
        case OpKind::ConvertLayout:
        case OpKind::MmaWait:
        case OpKind::FenceAsync: break;
        default:  // what else threads do together may wait for others, or be waited for
          if (op->region_count() > 0 || op->info().has(Threaded)) return false;
      }
    }
    size_t wanted = is_stored ? 3 : 2;
    if (copies_.empty() || commits != 1 || waits != 1 || mmas < 1 || barriers.size() != wanted) return false;
    filled_ = barriers[0];
    used_ = barriers.back();
    return wait_->attr(attr::CopyWait::pending) == 0 &&
           std::ranges::all_of(copies_, [&](Op* copy) { return can_lead(copy); });
  }

  void make() {
    for (Op* copy : copies_) add_slots(copy->in(in::CopyAsync::to));
    lead();
    wait_->set(attr::CopyWait::pending, stages_ - 2);
    builder_.set_after(filled_);
    builder_.set_loc(commit_->loc());
    Value* next = tile::add(builder_, body_->arg(0), tile::index(builder_, stages_ - 1));
    copy_iteration(next, number_of(next));
    commit();
    for (Op* copy : copies_) copy->erase();
    commit_->erase();
    used_->erase();
  }

 private:
  /// Whether only this loop uses the buffer, and the copy's address follows from the iteration and
  /// values from outside of the loop.
  bool can_lead(Op* copy) {
    Value* to = copy->in(in::CopyAsync::to);
    if (!to->def() || !to->def()->is(tile::info(OpKind::AllocShared))) return false;
    for (Use* use = to->first_use(); use; use = use->next()) {
      if (use->owner() != copy && !reads_slot(use->owner())) return false;
    }
    for (unsigned slot : {unsigned(in::CopyAsync::offsets), unsigned(in::CopyAsync::limits)}) {
      for (Value* value : copy->ins(slot)) {
        if (!follows(value)) return false;
      }
    }
    return true;
  }

  /// Whether the op of the loop reads what was copied.
  bool reads_slot(Op* op) const {
    return (op->is(tile::info(OpKind::Mma)) || op->is(tile::info(OpKind::Load))) && op->block() == body_;
  }

  /// Iterations are counted from the loop's first one.
  Value* number_of(Value* iteration) {
    Value* lo = loop_->in(in::For::lo);
    return tile::known_index(lo) == 0 ? iteration : tile::sub(builder_, iteration, lo);
  }

  bool follows(Value* value) {
    if (value->parent_block() != body_) return true;
    Op* def = value->def();
    if (!def) return value == body_->arg(0);
    if (!def->is_pure()) return false;
    for (unsigned i = 0; i < def->operand_count(); ++i) {
      if (!follows(def->operand(i))) return false;
    }
    return true;
  }

  void add_slots(Value* buffer) {
    Context& context = builder_.context();
    Type type = buffer->type();
    std::vector<Dim> dims = type->dims;
    dims.insert(dims.begin(), context.dims().constant(stages_));
    Type ring = context.contiguous_view(std::move(dims), type->dtype, type->space);
    buffer->set_type(context.with_layout(ring, type->layout));
    for (Use *use = buffer->first_use(), *next; use; use = next) {
      next = use->next();
      Op* user = use->owner();
      if (!reads_slot(user)) continue;
      builder_.set_before(user);
      builder_.set_loc(user->loc());
      use->set(tile::slot(builder_, buffer, number_of(body_->arg(0))));
    }
  }

  /// The prologue: the copies of the first iterations, before the loop.
  void lead() {
    builder_.set_before(loop_);
    builder_.set_loc(commit_->loc());
    for (Op* op = loop_->parent(); op; op = op->parent()) {
      if (!op->is(tile::info(OpKind::For))) continue;
      tile::barrier(builder_);  // all warps are done with the last MMAs of the loop's last run
      break;
    }
    Value* lo = loop_->in(in::For::lo);
    for (int64_t number = 0; number < stages_ - 1; ++number) {
      Value* ahead = tile::index(builder_, number);
      copy_iteration(tile::known_index(lo) == 0 ? ahead : tile::add(builder_, lo, ahead), ahead);
      commit();
    }
  }

  void commit() { builder_.op(tile::info(OpKind::CopyCommit), {}, {}); }

  /// The copies of that iteration, if the loop has it.
  void copy_iteration(Value* iteration, Value* slot) {
    Value* hi = loop_->in(in::For::hi);
    std::optional<int64_t> number = tile::known_index(iteration), end = tile::known_index(hi);
    auto copy = [&] {
      std::map<Value*, Value*> values{{body_->arg(0), iteration}};
      for (Op* each : copies_) {
        for (unsigned i = 0; i < each->operand_count(); ++i) place(each->operand(i), values);
        values[each->in(in::CopyAsync::to)] = tile::slot(builder_, each->in(in::CopyAsync::to), slot);
        builder_.insert(builder_.module().clone(each, values));
      }
    };
    if (number && end) {
      if (*number < *end) copy();
      return;
    }
    tile::when(builder_, tile::elementwise(builder_, ElementwiseKind::Lt, {iteration, hi}), copy);
  }

  /// Computes the value for the iteration of `values`.
  void place(Value* value, std::map<Value*, Value*>& values) {
    if (value->parent_block() != body_ || values.contains(value)) return;
    Op* def = value->def();
    for (unsigned i = 0; i < def->operand_count(); ++i) place(def->operand(i), values);
    builder_.insert(builder_.module().clone(def, values));
  }

  Op* loop_;
  Block* body_;
  int64_t stages_;
  Builder builder_;
  std::vector<Op*> copies_;
  Op* commit_ = nullptr;
  Op* wait_ = nullptr;
  Op* filled_ = nullptr;  ///< the barrier after which the operands are there
  Op* used_ = nullptr;    ///< the barrier after which they may be overwritten
};

}  // namespace

bool ring_of_copies(Op* loop, int64_t stages) {
  TSR_CHECK(stages > 1, "a ring has several slots");
  CopyRing ring(loop, stages);
  if (!ring.find()) return false;
  ring.make();
  return true;
}

}  // namespace tessera
