// Warns of what a kernel asks for and does not use: memory that nothing loads, waits and barriers that
// order nothing, and numbers of elements that begin again in each block.

#include <algorithm>
#include <set>

#include "frontend/lower/kernel/kernel_builder.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace in = schedule::in;

namespace {

/// Whether some op reads a memory, or a slot of it; `is_written` where some op writes there.
bool is_loaded(Value* memory, bool& is_written) {
  for (Use* use = memory->first_use(); use; use = use->next()) {
    Op* op = use->owner();
    if (op->is(info(OpKind::Load))) return true;
    if (op->is(info(OpKind::Slot)) && is_loaded(op->result(), is_written)) return true;
    is_written |= !op->is(info(OpKind::Slot));
  }
  return false;
}

/// Whether a value is computed of a counter, and not loaded at it.
bool is_computed_of(Value* value, const Value* counter, size_t depth = 8) {
  if (value == counter) return true;
  Op* def = depth ? value->def() : nullptr;
  for (unsigned i = 0; def && def->is_pure() && i < def->operand_count(); ++i) {
    if (is_computed_of(def->operand(i), counter, depth - 1)) return true;
  }
  return false;
}

/// Whether an op computes numbers of elements of others.
bool keeps_numbers(Op* op) {
  switch (op->info().elementwise) {
    case ElementwiseKind::Add:
    case ElementwiseKind::Sub:
    case ElementwiseKind::Mul:
    case ElementwiseKind::Cast: return true;
    default: return op->is(info(OpKind::Reshape)) || op->is(info(OpKind::Broadcast));
  }
}

}  // namespace

/// Memory that is filled for nobody. That nothing names the memory at all is said of its name.
void KernelBuilder::warn_of_memory() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc)) return;
  bool has_memory = false, copies = false;
  walk(kernel_.op, [&](Op* op) {
    copies |= op->is(info(OpKind::CopyAsync));
    if (!op->is(info(OpKind::Alloc))) return;
    has_memory = true;
    bool is_written = false;
    const Loc& loc = op->loc();
    if (is_loaded(op->result(), is_written) || !is_written) return;
    if (session().say_once(fmt::format("memory:{}:{}:{}", loc.file, loc.line, loc.column)))
      session()
          .report(diag::unread_memory, loc)
          .help("load it, as in tile.load(s), or leave it out with what fills it");
  });
  walk(kernel_.op, [&](Op* op) {
    bool is_wait = op->is(info(OpKind::CopyWait)), is_barrier = op->is(info(OpKind::Barrier));
    if (!(is_wait && !copies) && !(is_barrier && !has_memory)) return;
    const Loc& loc = op->loc();
    if (!session().say_once(fmt::format("orders:{}:{}:{}", loc.file, loc.line, loc.column))) return;
    session()
        .report(diag::nothing_to_order, loc, is_wait ? "tile.wait" : "tile.barrier", function_.name,
                is_wait ? "has no tile.async_copy" : "allocates no memory")
        .help("leave it out");
  });
}

/// Whether the number of an axis's tile is added to numbers of elements somewhere.
bool KernelBuilder::is_placed(Value* numbers, const KernelAxis& axis, std::set<const Value*>& seen) const {
  if (!seen.insert(numbers).second) return false;
  for (Use* use = numbers->first_use(); use; use = use->next()) {
    Op* op = use->owner();
    if (!keeps_numbers(op)) continue;
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      Value* other = op->operand(i);
      auto is_of = [&](const auto& loop) { return loop.second == &axis && is_computed_of(other, loop.first); };
      if (other == numbers) continue;
      if (axis.index && is_computed_of(other, axis.index)) return true;
      if (std::ranges::any_of(kernel_.loop_axes, is_of)) return true;
    }
    if (is_placed(op->result(), axis, seen)) return true;
  }
  return false;
}

/// tile.arange(t.n) in a kernel that has several tiles of the axis.
void KernelBuilder::warn_of_numbers() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc)) return;
  walk(kernel_.op, [&](Op* op) {
    auto numbers = op->is(info(OpKind::Iota)) ? kernel_.origins.within_block.find(op->result())
                                              : kernel_.origins.within_block.end();
    if (numbers == kernel_.origins.within_block.end() || op->result()->unused()) return;
    const KernelAxis& axis = *numbers->second;
    const Loc& loc = op->loc();
    std::set<const Value*> seen;
    if (axis.is_one_tile() || session().is_builtin(loc) || is_placed(op->result(), axis, seen)) return;
    if (!session().say_once(fmt::format("numbers:{}:{}:{}", loc.file, loc.line, loc.column))) return;
    Value* tile = tile_of(axis, op);
    std::optional<Counter> counter = tile ? counter_of(tile) : std::nullopt;
    session()
        .report(diag::arange_of_block, loc, axis.name)
        .help(fmt::format("tile.arange(t.{0}, {1}) counts along the axis; tile.arange(t.{0}, 0) says that the block is "
                          "meant", axis.name, counter ? counter->name : "index"));
  });
}

}  // namespace tessera::frontend
