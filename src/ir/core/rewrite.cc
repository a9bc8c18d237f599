#include "ir/core/rewrite.h"

#include <algorithm>
#include <string>
#include <utility>

#include "support/check.h"

namespace tessera {

namespace {

thread_local PatternObserver observer = nullptr;

bool is_dead(Op* op) {
  if (!op->is_pure() || op->result_count() == 0) return false;
  for (unsigned i = 0; i < op->result_count(); ++i) {
    if (!op->result(i)->unused()) return false;
  }
  return true;
}

}  // namespace

void Rewriter::push(Op* op) {
  if (waiting_.insert(op).second) worklist_.push_back(op);
}

void Rewriter::push_operands(Op* op) {
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    if (Op* def = op->operand(i)->def()) push(def);
  }
}

void Rewriter::erase(Op* op) {
  push_operands(op);
  walk(op, [&](Op* inner) { push_operands(inner); });
  walk(op, [&](Op* inner) { waiting_.erase(inner); });
  waiting_.erase(op);
  op->erase();
}

void Rewriter::replace(Op* op, Value* with) {
  Value* old = op->result();
  TSR_CHECK(same_dims(old->type(), with->type()) && old->type()->dtype == with->type()->dtype,
            "a value was replaced by one of another type");
  if (with->name().empty() && with->def()) with->set_name(old->name());
  for (Use* use = old->first_use(); use; use = use->next()) push(use->owner());
  old->replace_all_uses(with);
  if (with->def()) push(with->def());
  erase(op);
}

void Rewriter::changed(Op* op) {
  push(op);
}

void Rewriter::set_operand(Op* op, unsigned position, Value* value) {
  Op* before = op->operand(position)->def();
  op->set_operand(position, value);
  if (before) push(before);
  push(op);
}

class RewriteDriver {
 public:
  RewriteDriver(Module& module, std::span<const Pattern> patterns)
      : rewriter_(module), patterns_(patterns) {}

  bool run(Op* root);

 private:
  bool visit(Op* op);
  void push_new(Op* last, uint32_t first_new);

  Rewriter rewriter_;
  std::span<const Pattern> patterns_;
};

bool RewriteDriver::visit(Op* op) {
  if (is_dead(op)) {
    rewriter_.erase(op);
    return true;
  }
  const uint32_t first_new = op->module()->op_count();
  Block* block = op->block();
  Op* next = op->next();
  for (const Pattern& pattern : patterns_) {
    rewriter_.set_before(op);
    rewriter_.set_loc(op->loc());
    if (!pattern.apply(op, rewriter_)) continue;
    if (observer) observer(pattern);
    push_new(next ? next->prev() : block->back(), first_new);
    return true;
  }
  return false;
}

void RewriteDriver::push_new(Op* last, uint32_t first_new) {
  // New ops stand before the op that was looked at, which may still be there.
  if (last && last->id() < first_new) last = last->prev();
  for (; last && last->id() >= first_new; last = last->prev()) rewriter_.push(last);
}

bool RewriteDriver::run(Op* root) {
  std::vector<Op*> all;
  walk(root, [&](Op* op) { all.push_back(op); });
  for (size_t i = all.size(); i-- > 0;) rewriter_.push(all[i]);
  const size_t limit = 1000 + 100 * all.size();
  size_t rewrites = 0;
  while (!rewriter_.worklist_.empty()) {
    Op* op = rewriter_.worklist_.back();
    rewriter_.worklist_.pop_back();
    if (!rewriter_.waiting_.erase(op)) continue;  // erased meanwhile
    if (!visit(op)) continue;
    TSR_CHECK(++rewrites <= limit, "patterns undo each other around " + std::string(op->name()));
  }
  return rewrites != 0;
}

PatternObserver observe_patterns(PatternObserver next) { return std::exchange(observer, next); }

bool rewrite(Op* root, std::span<const Pattern> patterns) {
  return RewriteDriver(*root->module(), patterns).run(root);
}

}  // namespace tessera
