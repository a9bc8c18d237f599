// Moves loads and what only spreads or addresses them down to their first use in the block.
//
// tile_to_x86 writes a fragment at a time: all loads of a fragment, then the op on all its registers. In that order a
// product would hold a register for every element of its column before the first is used. Here each waits until
// the op that wants it, so that a register block may take all registers but the few that one row needs. Arithmetic
// keeps its order; a load stays before every store that followed it.

#include <vector>

#include "ir/target/ops.h"
#include "passes/pass.h"

namespace tessera {

using target::OpKind;

namespace {

/// Ops that are cheap, have operands that live anyway, and gain from being late.
bool may_wait(Op* op) {
  if (op->info().elementwise != ElementwiseKind::None || op->result_count() != 1) return false;
  switch (target::kind_of(op)) {
    case OpKind::Load:
    case OpKind::Offset:
    case OpKind::Splat:
    case OpKind::Extract:
    case OpKind::Bitcast: return true;
    default: return false;  // where it stands it is right
  }
}

class BlockOrder {
 public:
  explicit BlockOrder(Block* block) : block_(block) {}

  void run() {
    std::vector<Op*> ops;
    for (Op* op : *block_) ops.push_back(op);
    for (Op* op : ops) op->unlink();
    waiting_.reserve(ops.size());
    for (Op* op : ops) {
      if (may_wait(op)) {
        waiting_.push_back(op);
        continue;
      }
      // Blocks that follow may use what waits, and a store may change what a load reads.
      if (op->is_terminator()) {
        place_all(0);
      } else if (op->info().effects & Writes) {
        place_all(Reads);
      }
      place(op);
    }
  }

 private:
  void place_all(uint32_t effects) {
    std::vector<Op*> waiting = std::move(waiting_);
    waiting_.clear();
    for (Op* op : waiting) {
      if (op->block()) continue;
      if ((op->info().effects & effects) == effects) {
        place(op);
      } else {
        waiting_.push_back(op);
      }
    }
  }

  /// Puts the op at the end, after those of its operands that wait.
  void place(Op* op) {
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      Op* def = op->operand(i)->def();
      if (def && !def->block()) place(def);
    }
    op->move_to_end(block_);
  }

  Block* block_;
  std::vector<Op*> waiting_;
};

}  // namespace

Status sink_to_uses(Module& module, PassContext&) {
  for (Op* func : *module.body()) {
    if (!func->is(target::info(OpKind::Func))) continue;
    for (Block* block = func->region()->front(); block; block = block->next()) BlockOrder(block).run();
  }
  return success;
}

}  // namespace tessera
