// Warns of kernels that run as one program over much work, because no axis of their grid has a
// block.
//
// An axis without a block is one whole tile, and some axes must be whole: rows that are reduced.
// The suggestion of the warning gives the same results. So it blocks an axis only where each tile
// along it is this program's or a loop's, and where an op that combines its elements adds them up
// in a region.

#include <algorithm>

#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/lower/kernel/kernel_library.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace attr = schedule::attr;
namespace in = schedule::in;

/// Whether a sum is kept nowhere but in regions that are summed up.
bool KernelBuilder::is_added_up(Value* sum) {
  for (Use* use = sum->first_use(); use; use = use->next()) {
    Op* user = use->owner();
    auto holds = [&](const Region& region) {
      return user->is(info(OpKind::Store)) && region.out == user->in(in::Store::memory) &&
             is_summed(region.parameter->type);
    };
    bool passes = user->is(info(OpKind::Reshape)) ||
                  (user->is(info(OpKind::Reduce)) && user->attr(attr::Reduce::kind) == "sum");
    if (!std::ranges::any_of(kernel_.regions, holds) && !(passes && is_added_up(user->result()))) return false;
  }
  return true;
}

/// Axes of which elements are combined, but for loops over them and sums in regions.
void KernelBuilder::find_combined(std::set<const KernelAxis*>& whole) {
  for (Op* op : combining_ops()) {
    bool is_dot = op->is(info(OpKind::Dot));
    bool adds = op->is(info(OpKind::Reduce)) && op->attr(attr::Reduce::kind) == "sum" &&
                is_added_up(op->result());
    if (adds || op->is(info(OpKind::Scatter))) continue;
    EdgeSearch search(kernel_.origins, kernel_.op);
    search.visit(op->operand(0), is_dot ? 1 : size_t(op->attr(attr::Reduce::axis)));
    if (is_dot) search.visit(op->in(in::Dot::b), 0);
    whole.insert(search.axes().begin(), search.axes().end());
    for (const TilePlace& place : search.places()) {
      if (const KernelAxis* axis = axis_of_index(place.index); axis && axis->index == place.index) whole.insert(axis);
    }
  }
}

/// Axes that a block would cut where the kernel means all of them.
std::set<const KernelAxis*> KernelBuilder::whole_axes() {
  std::set<const KernelAxis*> whole;
  find_combined(whole);
  for (const auto& [value, place] : kernel_.origins.numbered) {
    if (axis_of_index(place.index)) continue;
    for (const KernelAxis& axis : kernel_.axes) {
      if (axis.tile == place.tile) whole.insert(&axis);
    }
  }
  for (const auto& [value, axes] : kernel_.origins.made) {
    if (value->def()->is(info(OpKind::Iota))) whole.insert(axes.begin(), axes.end());
  }
  auto loaded = [&](Value* memory, Type tile, const std::vector<Value*>& index) {
    auto parameter = kernel_.parameters.find(memory);
    if (parameter == kernel_.parameters.end()) return;
    std::vector<const KernelAxis*> axes = match_axes(parameter->second->type.dims, memory->type()->dims);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] && tile->dims[i] == axes[i]->tile && axis_of_index(index[i]) != axes[i]) whole.insert(axes[i]);
    }
  };
  auto stored = [&](Value* memory, const std::vector<Value*>& index) {
    auto is_sum = [&](const Region& each) { return each.out == memory && is_summed(each.parameter->type); };
    if (memory->def() || std::ranges::any_of(kernel_.regions, is_sum)) return;
    for (const KernelAxis& axis : kernel_.axes) {
      if (axis.grid && std::ranges::find(index, axis.index) == index.end()) whole.insert(&axis);
    }
  };
  walk(kernel_.op, [&](Op* op) {
    if (op->is(info(OpKind::Load))) loaded(op->in(in::Load::memory), op->result()->type(), op->ins(in::Load::index));
    if (op->is(info(OpKind::Store))) stored(op->in(in::Store::memory), op->ins(in::Store::index));
  });
  return whole;
}

/// Extents that make tiles of about a thousand elements, or of a few rows where the others stay
/// whole; dots take square ones. Empty where no axis of the grid may be cut.
std::vector<std::string> KernelBuilder::suggested_blocks() {
  std::set<const KernelAxis*> whole = whole_axes();
  auto is_looped = [&](const KernelAxis& axis) {
    return std::ranges::any_of(kernel_.loop_axes, [&](const auto& loop) { return loop.second == &axis; });
  };
  std::vector<const KernelAxis*> cut;
  std::vector<std::string> looped;
  bool leaves_rows = false, has_dot = false;
  walk(kernel_.op, [&](Op* op) { has_dot |= op->is(info(OpKind::Dot)); });
  for (const KernelAxis& axis : kernel_.axes) {
    if (axis.blocked || axis.tile->is_constant(1)) continue;
    bool stays = whole.count(&axis) || !(axis.grid || is_looped(axis));
    leaves_rows |= stays;
    if (!stays && axis.grid) cut.push_back(&axis);
    if (!stays && !axis.grid) looped.push_back(axis.name + "=32");
  }
  int64_t last = 32, before = 32;
  if (leaves_rows && !has_dot) last = 4, before = 1;
  else if (cut.size() == 1 && looped.empty() && !has_dot) last = 1024;
  std::vector<std::string> blocks;
  for (size_t i = 0; i < cut.size(); ++i) {
    int64_t extent = i + 1 == cut.size() ? last : i + 2 == cut.size() ? before : 1;
    blocks.push_back(fmt::format("{}={}", cut[i]->name, extent));
  }
  if (!blocks.empty()) blocks.insert(blocks.end(), looped.begin(), looped.end());
  return blocks;
}

void KernelBuilder::warn_of_one_program() {
  constexpr int64_t much = int64_t(1) << 16;
  const Loc& loc = function_.loc;
  if (evaluator_.is_open() || session().is_builtin(loc)) return;
  std::vector<Dim> extents;
  for (const KernelAxis& axis : kernel_.axes) {
    if (!axis.grid) continue;
    if (axis.blocked || axis.tile != axis.extent) return;
    extents.push_back(axis.extent);
  }
  if (element_count(dims(), extents)->constant().value_or(much) < much) return;
  std::vector<std::string> blocks = suggested_blocks();
  if (blocks.empty() || !session().say_once(fmt::format("one:{}:{}:{}", loc.file, loc.line, loc.column))) return;
  auto builder = session().diagnostics().report(diag::one_program, loc, function_.name, to_text(extents));
  std::string schedule = fmt::format("kernel.schedule(block({}))", fmt::join(blocks, ", "));
  std::span<const ast::Decorator> decorators = function_.def->decorators;
  bool is_bare = decorators.size() == 1 && !decorators[0].has_arguments && decorators[0].path.size() == 1;
  if (is_bare) builder.fix("give its axes blocks", decorators[0].path[0].loc, schedule);
  else builder.help(fmt::format("give its axes blocks: @{}", schedule));
}

}  // namespace tessera::frontend
