// Warns of loops whose iterations replace what those before them made (a name that each iteration
// assigns and none reads, a tile that is stored at the same place in each iteration), of those that
// do not read what they count, of sums that a dot and an addition make both, and of sums of means.

#include <algorithm>
#include <set>

#include "frontend/lower/kernel/edge_search.h"
#include "frontend/lower/kernel/kernel_access.h"
#include "frontend/lower/kernel/kernel_builder.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace in = schedule::in;

namespace {

/// Whether a value may differ from one iteration of a loop to the next.
bool varies_in(Value* value, const Op* loop, std::set<const Value*>& seen) {
  if (!seen.insert(value).second) return false;
  Op* def = value->def();
  bool is_inside = false;
  for (const Op* at = def ? def->parent() : value->block()->parent_op(); at; at = at->parent()) is_inside |= at == loop;
  if (!is_inside) return false;
  if (!def || !def->is_pure() || def->region_count()) return true;
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    if (varies_in(def->operand(i), loop, seen)) return true;
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
    session().report(diag::replaced_in_loop, loc, name, kernel_.loops.at(body->arg(0)).name).help(help);
  }
}

/// A tile that each iteration stores where the one before did. Loads see a region as the kernel found it, so nothing
/// adds up there.
void KernelBuilder::warn_of_stored(Op* loop) {
  for (const Region& region : kernel_.regions) {
    for (Op* op : *loop->region()->front()) {
      if (!op->is(info(OpKind::Store)) || op->in(in::Store::memory) != region.out) continue;
      std::set<const Value*> seen;
      auto moves = [&](Value* index) { return varies_in(index, loop, seen); };
      if (std::ranges::any_of(op->ins(in::Store::index), moves)) continue;
      const Loc& loc = op->loc();
      if (!session().say_once(fmt::format("stored:{}:{}:{}", loc.file, loc.line, loc.column))) continue;
      session()
          .report(diag::stored_in_loop, loc, kernel_.loops.at(loop->region()->front()->arg(0)).name,
                  region.parameter->name)
          .help("store it after the loop, or at a place of the iteration's own");
    }
  }
}

/// A loop that takes no tile of its own. Where it takes one at a number instead, that has been said; one in steps of 1
/// may be there to repeat.
void KernelBuilder::warn_of_counter(Op* loop) {
  const Value* counter = loop->region()->front()->arg(0);
  const LoopTiles& tiles = kernel_.loops.at(counter);
  bool repeats = tiles.step->is_constant(1) || tiles.name.starts_with('_');
  if (counter->first_use() || repeats || session().is_builtin(tiles.loc)) return;
  bool has_said = std::ranges::any_of(taken_parts(), [&](const TakenPart& taken) {
    return loop_over(taken) == std::pair(&tiles, true) && fixed_index(taken.index);
  });
  const Loc& loc = tiles.loc;
  if (has_said || !session().say_once(fmt::format("counter:{}:{}:{}", loc.file, loc.line, loc.column))) return;
  session()
      .report(diag::unread_counter, loc, tiles.name)
      .help(fmt::format("take the tile that it counts, as in tile.load(x, (t.i, {0}), …), or name it '_{0}'",
                        tiles.name));
}

/// A loop of one iteration replaces nothing.
void KernelBuilder::warn_of_iterations() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc)) return;
  walk(kernel_.op, [&](Op* op) {
    if (!op->is(info(OpKind::Pipeline)) || op->attr(schedule::attr::Pipeline::count)->is_constant(1)) return;
    warn_of_carried(op);
    warn_of_stored(op);
    warn_of_counter(op);
  });
}

namespace {

/// Whether a loop's body adds a value to one that it carries: s = s + value.
bool is_added_in(const Op* loop, const Value* value) {
  const Block* body = loop->region()->front();
  for (unsigned i = 0; i < loop->result_count(); ++i) {
    const Op* sum = body->terminator()->operand(i)->def();
    if (!sum || !sum->is(info(ElementwiseKind::Add))) continue;
    for (unsigned side : {0u, 1u}) {
      const Value* added = sum->operand(1 - side);
      while (added != value && added->def() && added->def()->is(info(OpKind::Reshape))) {
        added = added->def()->operand(0);
      }
      if (added == value && sum->operand(side) == body->arg(i + 1)) return true;
    }
  }
  return false;
}

}  // namespace

/// A sum of the means of blocks is no mean, and depends on how many blocks there are.
void KernelBuilder::warn_of_means() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc)) return;
  for (const KernelFunction::Mean& mean : kernel_.means) {
    EdgeSearch search(kernel_.origins, kernel_.op);
    for (int64_t axis : mean.axes) search.visit(mean.tile, size_t(axis));
    for (const TilePlace& place : search.places()) {
      auto counted = kernel_.loop_axes.find(place.index);
      if (counted == kernel_.loop_axes.end() || counted->second->is_one_tile()) continue;
      if (!is_added_in(place.index->block()->parent_op(), mean.quotient->result())) continue;
      const Loc& loc = mean.quotient->loc();
      if (!session().say_once(fmt::format("block:{}:{}:{}", loc.file, loc.line, loc.column))) continue;
      const KernelAxis& axis = *counted->second;
      session()
          .report(diag::block_combined, loc, "tile.mean", axis.name, "iteration")
          .help(fmt::format("add up tile.sum, and divide by {} behind the loop", axis.extent->text));
    }
  }
}

/// acc + tile.dot(a, b, acc) has acc twice.
void KernelBuilder::warn_of_sums() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc)) return;
  walk(kernel_.op, [&](Op* op) {
    if (!op->is(info(ElementwiseKind::Add))) return;
    for (unsigned side : {0u, 1u}) {
      Value* other = op->operand(1 - side);
      Op* dot = op->operand(side)->def();
      bool is_twice = dot && dot->is(info(OpKind::Dot)) && dot->in(in::Dot::c) == other;
      const Loc& loc = op->loc();
      if (!is_twice || !session().say_once(fmt::format("twice:{}:{}:{}", loc.file, loc.line, loc.column))) continue;
      std::string_view name = other->name().empty() ? "acc" : other->name();
      session()
          .report(diag::added_twice, loc, name)
          .label(dot->loc(), "the dot adds to it")
          .help(fmt::format("leave one out: {0} = tile.dot(a, b, {0}), or {0} += tile.dot(a, b)", name));
    }
  });
}

}  // namespace tessera::frontend
