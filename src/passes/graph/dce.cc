// Drops ops that compute what nobody reads. An op with an effect stays; one whose result is used
// only by ops that go, goes too: ops are visited from the last to the first, so that one sweep is
// enough.

#include "passes/pass.h"

namespace tessera {

namespace {

bool is_dead(Op* op) {
  if (!op->is_pure() || op->is_terminator() || op->info().has(Function)) return false;
  for (unsigned i = 0; i < op->result_count(); ++i) {
    if (!op->result(i)->unused()) return false;
  }
  return true;
}

void sweep(Region* region) {
  for (Block* block = region->back(); block; block = block->prev()) {
    for (Op *op = block->back(), *before = nullptr; op; op = before) {
      before = op->prev();
      for (unsigned r = 0; r < op->region_count(); ++r) sweep(op->region(r));
      if (is_dead(op)) op->erase();
    }
  }
}

}  // namespace

Status dce(Module& module, PassContext&) {
  for (Op* function : *module.body()) {
    for (unsigned r = 0; r < function->region_count(); ++r) sweep(function->region(r));
  }
  return success;
}

}  // namespace tessera
