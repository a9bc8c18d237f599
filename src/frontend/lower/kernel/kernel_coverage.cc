// Warns of kernels that read or write one part of an axis where all parts are probably meant.
//
// An index of the grid counts tiles of its axis. Where that axis is one whole tile, the index is 0
// in each program. A literal 0 selects the whole of an axis without a block, and one tile of any other.

#include <algorithm>
#include <set>

#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/syntax/ast_walk.h"
#include "ir/core/common_attributes.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace in = schedule::in;

namespace {

bool is_first(const Value* index) {
  Op* made = index->def();
  return made && made->is(info(OpKind::Constant)) &&
         made->attr(schedule::attr::Constant::value)->integer == 0;
}

/// Whether a node is part of an expression.
bool contains(const ast::Expr& expr, const ast::Node& node) {
  bool found = false;
  ast::walk(expr, [&](const ast::Node& each) { found = found || &each == &node; });
  return found;
}

}  // namespace

/// The dimensions of the loads that an axis stands for, and how the loads take it.
std::vector<KernelBuilder::TakenPart> KernelBuilder::taken_parts() {
  std::vector<TakenPart> parts;
  walk(kernel_, [&](Op* op) {
    if (!op->is(info(OpKind::Load))) return;
    auto parameter = parameters_.find(op->in(in::Load::memory));
    std::vector<Value*> index = op->ins(in::Load::index);
    Type tile = op->result()->type();
    if (parameter == parameters_.end() || tile->rank() != index.size()) return;
    const SignatureParameter& of = *parameter->second;
    std::vector<const KernelAxis*> axes = match_axes(of.type.dims, op->in(in::Load::memory)->type()->dims);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (axes[i]) parts.push_back({op, &of, i, axes[i], index[i], tile->dims[i]});
    }
  });
  return parts;
}

/// Whether each program stores the first tile of an axis of the grid at its own place along it.
bool KernelBuilder::is_stored_along(const TakenPart& taken) const {
  const KernelAxis& axis = *taken.axis;
  if (!axis.grid || !is_first(taken.index) || taken.tile != axis.tile || axis.is_one_tile()) return false;
  bool found = false;
  walk(kernel_, [&](Op* op) {
    if (!op->is(info(OpKind::Store)) || found) return;
    std::vector<Value*> index = op->ins(in::Store::index);
    auto at = std::ranges::find(index, axis.index);
    if (at == index.end()) return;
    EdgeSearch search(origins_, kernel_);
    search.visit(op->in(in::Store::value), size_t(at - index.begin()));
    found = std::ranges::any_of(search.places(), [&](const TilePlace& place) { return place.index == taken.index; });
  });
  return found;
}

/// Why a load takes one part of an axis alone, and what takes all; nullopt where it does not, or is as likely meant to.
std::optional<KernelBuilder::OnePart> KernelBuilder::one_part_of(const TakenPart& taken,
                                                                 const std::vector<TakenPart>& all) const {
  const KernelAxis& axis = *taken.axis;
  const KernelAxis* counted = axis_of_index(taken.index);
  if (axis.tile == axis.extent) {
    if (counted != &axis || !axis.grid || taken.tile == axis.tile) return std::nullopt;
    return OnePart{"the index is 0 in each program, of which one has the whole axis",
                   fmt::format("give the axis a block, or take its whole tile: t.{}", axis.name)};
  }
  if (is_stored_along(taken)) {
    return OnePart{"the index is 0 in each program, and the result has all of it",
                   fmt::format("take this program's tile: its index along '{}' is that of the grid", axis.name)};
  }
  auto counts = [&](const auto& loop) { return loop.second == &axis; };
  bool is_visited = axis.grid || std::ranges::any_of(loop_axes_, counts);
  if (is_visited || taken.tile != axis.tile) return std::nullopt;
  if (!is_first(taken.index) || axis.is_one_tile()) return std::nullopt;
  // Tiles may be counted in the source: 0, 1, 2.
  auto is_other = [&](const TakenPart& each) { return each.axis == &axis && !is_first(each.index); };
  if (std::ranges::any_of(all, is_other)) return std::nullopt;
  return OnePart{"the index is 0, and no loop counts its tiles",
                 fmt::format("take one after the other: for {0} in tile.range({1}, t.{0})", axis.name,
                             axis.extent->text)};
}

void KernelBuilder::warn_of_parts() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc)) return;
  std::vector<TakenPart> all = taken_parts();
  for (const TakenPart& taken : all) {
    std::optional<OnePart> part = one_part_of(taken, all);
    const Loc& loc = taken.load->loc();
    std::string place = fmt::format("part:{}:{}:{}:{}", loc.file, loc.line, loc.column, taken.dim);
    if (!part || !session().say_once(place)) continue;
    session()
        .diagnostics()
        .report(diag::part_of_axis, loc, taken.dim, taken.of->name, taken.axis->name, part->why)
        .help(part->help);
  }
}

namespace {

/// The index of a store along its axis of the grid, and the extent of the tile there; null where it has none.
Dim extent_along(Op* store, const KernelAxis& axis) {
  std::vector<Value*> index = store->ins(in::Store::index);
  auto at = std::ranges::find(index, axis.index);
  return at == index.end() ? nullptr : store->in(in::Store::value)->type()->dims[size_t(at - index.begin())];
}

}  // namespace

/// Whether a value takes part in what is stored at this program's tile of an axis.
bool KernelBuilder::reaches_block(Value* value, const KernelAxis& axis, std::set<const Value*>& seen) const {
  if (!seen.insert(value).second) return false;
  for (Use* use = value->first_use(); use; use = use->next()) {
    Op* user = use->owner();
    if (user->is(info(OpKind::Store)) && extent_along(user, axis) == axis.tile) return true;
    Op* around = user->is(info(OpKind::Yield)) ? user->parent() : nullptr;
    Op* to = around && (around->is(info(OpKind::Pipeline)) || around->is(info(OpKind::If))) ? around : user;
    for (unsigned i = 0; i < to->result_count(); ++i) {
      if (reaches_block(to->result(i), axis, seen)) return true;
    }
    if (!to->is(info(OpKind::Pipeline))) continue;
    Block* body = to->region()->front();
    for (unsigned i = 1; i < body->arg_count(); ++i) {
      if (reaches_block(body->arg(i), axis, seen)) return true;
    }
  }
  return false;
}

/// Whether the kernel stores something for each block of an axis: the result of each is meant.
bool KernelBuilder::has_part_for_each_block(const KernelAxis& axis) const {
  bool found = false;
  walk(kernel_, [&](Op* op) {
    Dim extent = op->is(info(OpKind::Store)) ? extent_along(op, axis) : nullptr;
    found |= extent && extent != axis.tile;
  });
  return found;
}

/// Whether anything follows from an axis: a mention of its index or of its tile, a memory of its extent that is read or
/// written, or a mention of the extent. What cannot be told from another axis counts as a use. A store that adds up has
/// parts for programs along any axis, so a use of the index in the IR says nothing.
bool KernelBuilder::has_use(const KernelAxis& axis) const {
  if (named_axes_.contains(&axis)) return true;
  bool found = false;
  auto look = [&](Type type) {
    found = found || std::ranges::find(type->dims, axis.extent) != type->dims.end();
  };
  walk(kernel_, [&](Op* op) {
    if (op == kernel_) return;
    for (unsigned i = 0; i < op->operand_count(); ++i) look(op->operand(i)->type());
    for (unsigned i = 0; i < op->result_count(); ++i) look(op->result(i)->type());
  });
  if (found || !axis.source) return found;
  std::set<std::string_view> names;
  ast::walk(*axis.source, [&](const ast::Node& node) {
    if (const auto* name = ast::as<ast::Name>(&node)) names.insert(name->text);
  });
  auto visit = [&](const ast::Node& node) {
    const auto* name = ast::as<ast::Name>(&node);
    if (!name || !names.contains(name->text)) return;
    auto has_name = [&](const ast::Argument& argument) { return contains(*argument.value, node); };
    found = found || std::ranges::none_of(scan_.context->arguments, has_name);
  };
  for (const ast::Stmt* stmt : function_.def->body) ast::walk(*stmt, visit);
  return found;
}

/// Warns of axes that nothing uses: the programs along such an axis of the grid all do the same work.
void KernelBuilder::warn_of_unused_axes() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc) || !scan_.context) return;
  for (const KernelAxis& axis : axes_) {
    if (!axis.source || has_use(axis)) continue;
    const Loc& loc = axis.source->loc;
    if (!session().say_once(fmt::format("unused axis:{}:{}:{}", loc.file, loc.line, loc.column))) continue;
    std::string repeats = axis.grid ? ": all programs along it do the same work" : "";
    session()
        .report(diag::unused_axis, loc, function_.name, axis.name)
        .help(fmt::format("leave it out of 'tile.context'{}", repeats));
  }
}

/// Warns of results that depend on a block, as elements are combined along an axis of which a program has a block.
void KernelBuilder::warn_of_blocks() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc)) return;
  for (Op* op : combining_ops()) {
    if (op->is(info(OpKind::Scatter)) || op->is(info(OpKind::Dot))) continue;
    std::vector<const KernelAxis*> axes = grid_axes_along(op->operand(0), size_t(op->attr(common::Along::axis)));
    for (const KernelAxis* axis : axes) {
      std::set<const Value*> seen;
      bool reaches = false;
      for (unsigned i = 0; i < op->result_count(); ++i) reaches |= reaches_block(op->result(i), *axis, seen);
      if (axis->is_one_tile() || !reaches || has_part_for_each_block(*axis)) continue;
      const Loc& loc = op->loc();
      if (!session().say_once(fmt::format("block:{}:{}:{}", loc.file, loc.line, loc.column))) continue;
      std::string name = op->is(info(OpKind::Reduce)) ? std::string(op->attr(schedule::attr::Reduce::kind))
                                                      : std::string(op->name().substr(op->name().find('.') + 1));
      session()
          .report(diag::block_combined, loc, "tile." + name, axis->name)
          .help(fmt::format("leave axis '{}' without a block, or combine all of it in a loop", axis->name));
    }
  }
}

}  // namespace tessera::frontend
