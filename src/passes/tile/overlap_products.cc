// Keeps one product under way while the next is issued (GPU).
//
//   for t: wait t; d = mma(…, c); c' = mma_wait d {0}; release t            becomes
//   for t: wait t; d = mma(…, c); c' = mma_wait d {1}; if t > first: release t - 1
//   r = mma_wait c' {0}; release last
//
// The accumulator is not read between the products of a loop, so the tensor cores need not run dry at the end of each.
// A slot is given back when the product that read it is known to be done, which is one turn later: a ring of one slot
// would never be free for the next turn, and stays as it is. The loop has to run at least once: where nothing is
// multiplied, the accumulator would be written while the hardware may read it.

#include "passes/analysis/loop_bounds.h"
#include "passes/pass.h"
#include "passes/tile/gpu/builders.h"

namespace tessera {

using tile::OpKind;
namespace in = tile::in;

namespace {

class ProductOverlap {
 public:
  explicit ProductOverlap(Op* loop) : loop_(loop), body_(loop->region()->front()), builder_(*loop->module()) {}

  void run() {
    Op* wait = only(OpKind::MmaWait);
    Op* release = only(OpKind::ChannelRelease);
    if (!wait || !release || wait->operand_count() != 1 || wait->int_attr("pending") != 0) return;
    Op* mma = wait->operand(0)->def();
    std::optional<unsigned> carried = carried_index(wait->result());
    bool chained = mma && mma->block() == body_ && carried && mma->in(in::Mma::c) == body_->arg(*carried + 1);
    if (!chained || !wait->result()->has_one_use() || !mma->result()->has_one_use()) return;
    std::optional<Turn> turn = turn_of(release->in(in::ChannelRelease::turn));
    Value* channel = release->in(in::ChannelRelease::channel);
    if (!turn || channel->def()->int_attr("stages") < 2) return;
    wait->set_attr("pending", builder_.context().integer(1));
    builder_.set_before(loop_);
    Value* one = tile::index(builder_, 1);
    builder_.set_before(release);
    builder_.set_loc(release->loc());
    Value* condition = tile::elementwise(builder_, ElementwiseKind::Gt, {body_->arg(0), loop_->in(in::For::lo)});
    release_if(condition, channel, tile::sub(builder_, release->in(in::ChannelRelease::turn), one));
    release->erase();

    builder_.set_after(loop_);
    Value* result = loop_->result(*carried);
    Op* last = builder_.op(tile::info(OpKind::MmaWait), {{result}}, {result->type()},
                           {{"pending", builder_.context().integer(0)}});
    result->replace_all_uses(last->result());
    last->set_operand(0, result);
    Value* index = tile::sub(builder_, loop_->in(in::For::hi), one);
    Value* final_turn = turn->base ? tile::add(builder_, turn->base, index) : index;
    tile::channel_op(builder_, OpKind::ChannelRelease, channel, final_turn);
  }

 private:
  /// A turn as base + index of the loop; null base: 0.
  struct Turn {
    Value* base;
  };

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

  std::optional<Turn> turn_of(Value* turn) {
    Value* index = body_->arg(0);
    if (turn == index) return Turn{nullptr};
    Op* def = turn->def();
    if (!def || def->info().elementwise != ElementwiseKind::Add) return std::nullopt;
    for (unsigned i = 0; i < 2; ++i) {
      Value* base = def->operand(1 - i);
      bool outside = base->parent_block() != body_;
      if (def->operand(i) == index && outside) return Turn{base};
    }
    return std::nullopt;
  }

  void release_if(Value* condition, Value* channel, Value* turn) {
    tile::when(builder_, condition, [&] { tile::channel_op(builder_, OpKind::ChannelRelease, channel, turn); });
  }

  Op* loop_;
  Block* body_;
  Builder builder_;
};

}  // namespace

Status overlap_products(Module& module, PassContext&) {
  std::vector<Op*> loops;
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    std::vector<DimFact> facts = read_facts(kernel->attr("assume"));
    walk(kernel, [&](Op* op) {
      if (op->is(tile::info(OpKind::For)) && runs_at_least_once(op, facts)) loops.push_back(op);
    });
  }
  for (Op* loop : loops) ProductOverlap(loop).run();
  return success;
}

}  // namespace tessera
