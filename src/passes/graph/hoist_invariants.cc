// Takes out of a loop what is the same in each of its turns.
//
// An op without effects whose operands come from outside the loop, and whose attributes do not name
// the loop's counter, gives the same value in every turn: it is moved before the loop. Ops are
// visited in order, so that what reads a moved op may follow it, and inner loops before outer ones,
// so that an op leaves as many loops as it can. What stands under a condition inside the loop stays
// there: it might never be computed.
//
// A loop without turns then computes what it did not before, which costs time and changes nothing:
// an op without effects has a value for all operands.

#include "ir/core/dim_facts.h"
#include "ir/graph/ops.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using graph::OpKind;

bool mentions(Attr attribute, std::string_view symbol) {
  if (attribute->is(AttrKind::Dim)) return mentions(attribute->dim, symbol);
  for (Attr element : attribute->elements) {
    if (mentions(element, symbol)) return true;
  }
  for (const auto& [name, value] : attribute->entries) {
    if (mentions(value, symbol)) return true;
  }
  return false;
}

class LoopHoisting {
 public:
  explicit LoopHoisting(Op* loop) : loop_(loop) {
    if (loop->is(graph::info(OpKind::For))) counter_ = loop->string_attr("counter");
  }

  void run() {
    for (unsigned r = 0; r < loop_->region_count(); ++r) {
      for (Op *op = loop_->region(r)->front()->front(), *next = nullptr; op; op = next) {
        next = op->next();
        if (is_invariant(op)) op->move_before(loop_);
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

  bool names_counter(Op* op) const {
    for (const OpAttr& attribute : op->attributes()) {
      if (mentions(attribute.value, counter_)) return true;
    }
    return false;
  }

  Op* loop_;
  std::string counter_;
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
  return success;
}

}  // namespace tessera
