// Warns of loops whose iterations replace what those before them made: a name that each iteration
// assigns and none reads, and a tile that is stored at the same place in each iteration.

#include <algorithm>

#include "frontend/lower/kernel/kernel_builder.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace in = schedule::in;

namespace {

/// Whether a value is made in an iteration of a loop, so that it may differ from one to the next.
bool is_made_in(const Value* value, const Op* loop) {
  for (const Op* at = value->def() ? value->def()->parent() : value->block()->parent_op(); at; at = at->parent()) {
    if (at == loop) return true;
  }
  return false;
}

}  // namespace

/// A name that a loop changes, of which the last iteration alone counts.
void KernelBuilder::warn_of_carried(Op* loop) {
  Block* body = loop->region()->front();
  for (unsigned i = 0; i < loop->result_count(); ++i) {
    const Value* before = body->arg(i + 1);
    Value* left = body->terminator()->operand(i);
    if (before->first_use() || !loop->result(i)->first_use() || !left->def()) continue;
    const Loc& loc = left->def()->loc();
    if (!session().say_once(fmt::format("replaced:{}:{}:{}", loc.file, loc.line, loc.column))) continue;
    std::string_view name = loop->result(i)->name();
    bool is_dot = left->def()->is(info(OpKind::Dot));
    std::string help = is_dot ? fmt::format("let the dot add to it: tile.dot(a, b, {})", name)
                              : fmt::format("combine the two, as in {0} = {0} + x, or assign it after the loop", name);
    session().report(diag::replaced_in_loop, loc, name, loops_.at(body->arg(0)).name).help(help);
  }
}

/// A tile that each iteration stores where the one before did. Loads see a region as the kernel found it, so nothing
/// adds up there.
void KernelBuilder::warn_of_stored(Op* loop) {
  for (const Region& region : regions_) {
    for (Op* op : *loop->region()->front()) {
      if (!op->is(info(OpKind::Store)) || op->in(in::Store::memory) != region.out) continue;
      auto moves = [&](const Value* index) { return is_made_in(index, loop); };
      if (std::ranges::any_of(op->ins(in::Store::index), moves)) continue;
      const Loc& loc = op->loc();
      if (!session().say_once(fmt::format("stored:{}:{}:{}", loc.file, loc.line, loc.column))) continue;
      session()
          .report(diag::stored_in_loop, loc, loops_.at(loop->region()->front()->arg(0)).name, region.parameter->name)
          .help("store it after the loop, or at a place of the iteration's own");
    }
  }
}

/// A loop of one iteration replaces nothing.
void KernelBuilder::warn_of_iterations() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc)) return;
  walk(kernel_, [&](Op* op) {
    if (!op->is(info(OpKind::Pipeline)) || op->attr(schedule::attr::Pipeline::count)->is_constant(1)) return;
    warn_of_carried(op);
    warn_of_stored(op);
  });
}

}  // namespace tessera::frontend
