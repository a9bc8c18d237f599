// Takes out of a loop values that do not change from one iteration to the next.
//
// An op without effects whose operands come from outside the loop, and whose attributes do not name
// the loop's counter, gives the same value in every iteration: it is moved before the loop. Ops are
// visited in order, so that what reads a moved op may follow it, and inner loops before outer ones,
// so that an op leaves as many loops as it can. What stands under a condition inside the loop stays
// there: it might never be computed.
//
// A loop without iterations then computes what it did not before. That costs time and changes nothing if the
// op has a value whatever the sizes are; an op that has one for some sizes alone (`x[0]` in a loop over the rows
// of x) moves only where an iteration is certain. The condition of a `while` is always asked once.
//
// Checks leave loops, too, where the last iteration is known to ask for the most (hoisting/checks.h).

#include "ir/core/common_attributes.h"
#include "ir/graph/ops.h"
#include "ir/text/symbols.h"
#include "passes/analysis/speculation.h"
#include "passes/graph/hoisting/checks.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using graph::OpKind;

class LoopHoisting {
 public:
  explicit LoopHoisting(Op* loop) : loop_(loop), facts_(graph::facts_around(loop)) {
    if (!loop->is(graph::info(OpKind::For))) return;
    counter_ = loop->attr(common::Loop::counter);
    DimTable& dims = loop->module()->context().dims();
    has_iterations_ = decide(dims, {Relation::Less, dims.constant(0), loop->attr(common::Loop::count)},
                        facts_) == true;
  }

  void run() {
    for (unsigned r = 0; r < loop_->region_count(); ++r) {
      for (Op *op = loop_->region(r)->front()->front(), *next = nullptr; op; op = next) {
        next = op->next();
        if (is_invariant(op) && (runs(r) || is_total(op, facts_))) op->move_before(loop_);
      }
    }
  }

 private:
  bool is_invariant(Op* op) const {
    if (!op->is_pure() || op->is_terminator() || op->region_count() != 0) return false;
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      if (op->operand(i)->parent_block()->parent_op() == loop_) return false;
    }
    return counter_.empty() || !names_counter(op);
  }

  /// Whether the region surely runs once.
  bool runs(unsigned region) const {
    if (loop_->is(graph::info(OpKind::For))) return has_iterations_;
    return region == unsigned(graph::at::While::condition);
  }

  bool names_counter(Op* op) const {
    bool found = false;
    for_each_symbol(op, [&](std::string_view name) { found = found || name == counter_; });
    return found;
  }

  Op* loop_;
  std::vector<DimFact> facts_;  ///< before the loop
  std::string counter_;
  bool has_iterations_ = false;
};

void hoist(Region* region) {
  for (Block* block = region->front(); block; block = block->next()) {
    for (Op* op = block->front(); op; op = op->next()) {
      for (unsigned r = 0; r < op->region_count(); ++r) hoist(op->region(r));
      if (op->is(graph::info(OpKind::For)) || op->is(graph::info(OpKind::While))) LoopHoisting(op).run();
    }
  }
}

}  // namespace

Status hoist_invariants(Module& module, PassContext&) {
  for (Op* function : *module.body()) {
    for (unsigned r = 0; r < function->region_count(); ++r) hoist(function->region(r));
  }
  hoist_checks(module);
  return success;
}

}  // namespace tessera
