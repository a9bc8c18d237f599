// Keeps the MMAs of a loop's iteration in flight while those of the next are issued (GPU).
//
//   for t: wait t; d = mma(…, c); c' = mma_wait d {0}; release t            becomes
//   for t: wait t; d = mma(…, c); c' = mma_wait d {1}; if t > first: release t - 1
//   r = mma_wait c' {0}; release last
//
// Nothing reads accumulators between the MMAs of a loop, so the tensor cores need not run dry at
// the end of each. A loop may wait for several accumulators at once; then as many MMAs stay in
// flight as an iteration has. A slot is released when the MMAs that read it are known to be
// complete, one iteration later. A ring of one slot would then never be free for the next
// iteration, so such loops stay as they are. The loop has to run at least once: without an MMA the
// accumulator would be written while the hardware may read it.

#include <map>
#include <optional>
#include <vector>

#include "passes/analysis/loop_bounds.h"
#include "passes/pass.h"
#include "passes/tile/gpu/builders.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

class MmaOverlap {
 public:
  explicit MmaOverlap(Op* loop) : loop_(loop), body_(loop->region()->front()), builder_(*loop->module()) {}

  void run() {
    Op* wait = only(OpKind::MmaWait);
    Op* release = only(OpKind::ChannelRelease);
    if (!wait || !release || wait->attr(attr::MmaWait::pending) != 0 || !accumulates_only(wait))
      return;
    Value* channel = release->in(in::ChannelRelease::channel);
    Value* iteration = release->in(in::ChannelRelease::iteration);
    if (!follows_index(iteration, body_) || channel->def()->attr(attr::Channel::stages) < 2) return;
    wait->set(attr::MmaWait::pending, wait->operand_count());
    builder_.set_before(loop_);
    Value* one = tile::index(builder_, 1);
    builder_.set_before(release);
    builder_.set_loc(release->loc());
    Value* condition = tile::elementwise(builder_, ElementwiseKind::Gt, {body_->arg(0), loop_->in(in::For::lo)});
    release_if(condition, channel, tile::sub(builder_, iteration, one));
    release->erase();

    builder_.set_after(loop_);
    std::vector<Value*> results;
    for (unsigned i = 0; i < wait->operand_count(); ++i) {
      results.push_back(loop_->result(*carried_index(wait->result(i))));
    }
    Op* last = tile::mma_wait(builder_, results, 0);
    for (unsigned i = 0; i < results.size(); ++i) {
      results[i]->replace_all_uses(last->result(i));
      last->set_operand(i, results[i]);
    }
    std::map<Value*, Value*> values{{body_->arg(0), tile::sub(builder_, loop_->in(in::For::hi), one)}};
    tile::channel_op(builder_, OpKind::ChannelRelease, channel, outside(iteration, values));
  }

 private:
  /// Whether the wait is for all MMAs of the loop, each of which adds to its own result of the
  /// iteration before.
  bool accumulates_only(Op* wait) {
    size_t mmas = 0;
    for (Op* op : *body_) mmas += op->is(tile::info(OpKind::Mma));
    if (mmas != wait->operand_count()) return false;
    for (unsigned i = 0; i < mmas; ++i) {
      Op* mma = wait->operand(i)->def();
      std::optional<unsigned> carried = carried_index(wait->result(i));
      bool accumulates = mma && mma->is(tile::info(OpKind::Mma)) && mma->block() == body_ &&
                         carried && mma->in(in::Mma::c) == body_->arg(*carried + 1);
      // Otherwise registers of a left factor would be written while an MMA reads them.
      bool stays = accumulates && mma->in(in::Mma::c)->has_one_use() &&
                   !mma->in(in::Mma::a)->type()->is(TypeKind::Tile);
      if (!stays || !wait->result(i)->has_one_use() || !mma->result()->has_one_use()) return false;
    }
    return true;
  }

  Op* only(OpKind kind) {
    Op* found = nullptr;
    for (Op* op : *body_) {
      if (!op->is(tile::info(kind))) continue;
      if (found) return nullptr;
      found = op;
    }
    return found;
  }

  std::optional<unsigned> carried_index(Value* value) {
    Op* end = body_->terminator();
    for (unsigned i = 0; i < end->operand_count(); ++i) {
      if (end->operand(i) == value) return i;
    }
    return std::nullopt;
  }

  /// The number where the builder stands, with the index as in `values`.
  Value* outside(Value* value, std::map<Value*, Value*>& values) {
    if (value->parent_block() != body_) return value;
    auto known = values.find(value);
    if (known != values.end()) return known->second;
    Op* def = value->def();
    for (unsigned i = 0; i < def->operand_count(); ++i) values[def->operand(i)] = outside(def->operand(i), values);
    Op* copy = builder_.module().clone(def, values);
    builder_.insert(copy);
    return values[value] = copy->result();
  }

  void release_if(Value* condition, Value* channel, Value* iteration) {
    tile::when(builder_, condition, [&] { tile::channel_op(builder_, OpKind::ChannelRelease, channel, iteration); });
  }

  Op* loop_;
  Block* body_;
  Builder builder_;
};

}  // namespace

Status overlap_mmas(Module& module, PassContext&) {
  std::vector<Op*> loops;
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    std::vector<DimFact> facts = read_facts(kernel->attr(attr::Kernel::assume));
    walk(kernel, [&](Op* op) {
      if (op->is(tile::info(OpKind::For)) && runs_at_least_once(op, facts)) loops.push_back(op);
    });
  }
  for (Op* loop : loops) MmaOverlap(loop).run();
  return success;
}

}  // namespace tessera
