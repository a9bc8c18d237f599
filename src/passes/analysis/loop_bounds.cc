#include "passes/analysis/loop_bounds.h"

#include "ir/tile/build.h"

namespace tessera {

namespace {

/// The number as a dim; null when it is computed.
Dim as_dim(Value* index) {
  DimTable& table = index->parent_block()->parent_op()->module()->context().dims();
  if (std::optional<int64_t> known = tile::known_index(index)) return table.constant(*known);
  Op* def = index->def();
  return def && def->is(tile::info(tile::OpKind::Dim)) ? def->attr(tile::attr::Dim::value)
                                                       : nullptr;
}

/// Whether the loop is in a branch that is taken where it runs at least once.
bool is_guarded(Op* loop) {
  Op* branch = loop->parent();
  if (!branch->is(tile::info(tile::OpKind::If))) return false;
  if (branch->region(tile::at::If::then)->front() != loop->block()) return false;
  Op* condition = branch->in(tile::in::If::condition)->def();
  return condition && condition->info().elementwise == ElementwiseKind::Lt &&
         condition->operand(0) == loop->in(tile::in::For::lo) && condition->operand(1) == loop->in(tile::in::For::hi);
}

}  // namespace

bool runs_at_least_once(Op* loop, std::span<const DimFact> facts) {
  if (is_guarded(loop)) return true;
  Dim lo = as_dim(loop->in(tile::in::For::lo)), hi = as_dim(loop->in(tile::in::For::hi));
  DimTable& table = loop->module()->context().dims();
  return lo && hi && decide(table, {Relation::Less, lo, hi}, facts) == true;
}

bool is_in_loop(Op* op) {
  while (op && !op->is(tile::info(tile::OpKind::For))) op = op->parent();
  return op != nullptr;
}

bool is_in_iteration(Op* op) {
  if (is_in_loop(op)) return true;
  for (Op* other : *op->block()) {
    if (other->is(tile::info(tile::OpKind::Mma))) return true;
  }
  return false;
}

bool follows_index(Value* value, const Block* body) {
  if (value->parent_block() != body) return true;
  Op* def = value->def();
  if (!def) return value == body->arg(0);
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    if (!follows_index(def->operand(i), body)) return false;
  }
  return def->is_pure();
}

}  // namespace tessera
