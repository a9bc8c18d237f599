// Warns of kernels that read or write one part of an axis where all parts are probably meant.
//
// An index of the grid counts tiles of its axis. Where that axis is one whole tile, the index is 0
// in each program. A literal 0 selects the whole of an axis without a block, and one tile of any other.
// A loop or a grid over other extents than the dimension's leaves tiles out, or goes past its end.

#include <algorithm>
#include <set>

#include "frontend/lower/kernel/kernel_access.h"
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

/// Whether a node is part of an expression.
bool contains(const ast::Expr& expr, const ast::Node& node) {
  bool found = false;
  ast::walk(expr, [&](const ast::Node& each) { found = found || &each == &node; });
  return found;
}

}  // namespace

/// How loads and copies take the dimensions of parameters.
std::vector<KernelBuilder::TakenPart> KernelBuilder::taken_parts() {
  std::vector<TakenPart> parts;
  walk(kernel_.op, [&](Op* op) {
    if (!op->is(info(OpKind::Load)) && !op->is(info(OpKind::CopyAsync))) return;
    std::optional<Access> access = access_of(op);
    auto parameter = access ? kernel_.parameters.find(access->memory) : kernel_.parameters.end();
    if (parameter == kernel_.parameters.end() || access->tile.size() != access->index.size()) return;
    const SignatureParameter& of = *parameter->second;
    std::vector<const KernelAxis*> axes = match_axes(of.type.dims, access->memory->type()->dims);
    for (size_t i = 0; i < access->index.size(); ++i) {
      size_t dim = access->first() + i;
      parts.push_back({op, &of, dim, axes[dim], access->index[i], access->tile[i], access->extent(i)});
    }
  });
  return parts;
}

/// Whether each program stores one tile of an axis of the grid at its own place along it.
bool KernelBuilder::is_stored_along(const TakenPart& taken) const {
  const KernelAxis& axis = *taken.axis;
  if (!axis.grid || !fixed_index(taken.index) || taken.tile != axis.tile || axis.is_one_tile()) return false;
  bool found = false;
  walk(kernel_.op, [&](Op* op) {
    if (!op->is(info(OpKind::Store)) || found) return;
    std::vector<Value*> index = op->ins(in::Store::index);
    auto at = std::ranges::find(index, axis.index);
    if (at == index.end()) return;
    EdgeSearch search(kernel_.origins, kernel_.op);
    search.visit(op->in(in::Store::value), size_t(at - index.begin()));
    found = std::ranges::any_of(search.places(), [&](const TilePlace& place) { return place.index == taken.index; });
  });
  return found;
}

/// Whether a tile of a dimension is taken at one number, and no other part of that dimension or of its axis is.
bool KernelBuilder::is_only_part(const TakenPart& taken, const std::vector<TakenPart>& all) const {
  std::optional<int64_t> number = fixed_index(taken.index);
  bool is_part = taken.axis ? taken.tile == taken.axis->tile && !taken.axis->is_one_tile()
                            : taken.tile->constant() && !taken.extent->constant();
  if (!number || !is_part || taken.tile->is_constant(1)) return false;
  // Tiles may be counted in the source: 0, 1, 2.
  return std::ranges::none_of(all, [&](const TakenPart& each) {
    bool is_same = each.of == taken.of && each.dim == taken.dim;
    std::optional<int64_t> other = fixed_index(each.index);
    return other != number && (is_same || (taken.axis && each.axis == taken.axis && other));
  });
}

/// The innermost loop around it that counts the tiles of what is taken, or else the first one elsewhere.
std::pair<const KernelBuilder::LoopTiles*, bool> KernelBuilder::loop_over(const TakenPart& taken) const {
  std::pair<const LoopTiles*, bool> found{nullptr, false};
  walk(kernel_.op, [&](Op* op) {
    if (!op->is(info(OpKind::Pipeline))) return;
    const Value* counter = op->region()->front()->arg(0);
    const LoopTiles& tiles = kernel_.loops.at(counter);
    auto axis = kernel_.loop_axes.find(counter);
    bool counts = taken.axis ? axis != kernel_.loop_axes.end() && axis->second == taken.axis
                             : tiles.extent == taken.extent && tiles.step == taken.tile;
    bool is_around = false;
    for (const Op* at = taken.op->parent(); at; at = at->parent()) is_around |= at == op;
    if (counts && (is_around || !found.first)) found = {&tiles, is_around};
  });
  return found;
}

/// Why a load takes one part of an axis alone, and what takes all; nullopt where it does not, or is as likely meant to.
std::optional<KernelBuilder::OnePart> KernelBuilder::one_part_of(const TakenPart& taken,
                                                                 const std::vector<TakenPart>& all) const {
  const KernelAxis* axis = taken.axis;
  if (axis && axis->tile == axis->extent) {
    if (axis_of_index(taken.index) != axis || !axis->grid || taken.tile == axis->tile) return std::nullopt;
    return OnePart{"the index is 0 in each program, of which one has the whole axis",
                   fmt::format("give the axis a block, or take its whole tile: t.{}", axis->name)};
  }
  // A tile before the first, of zeros, is no part.
  int64_t number = fixed_index(taken.index).value_or(0);
  if (number < 0) return std::nullopt;
  std::string fixed = fmt::format("the index is {}", number);
  if (axis && is_stored_along(taken)) {
    return OnePart{fixed + " in each program, and the result has all of it",
                   fmt::format("take this program's tile: its index along '{}' is that of the grid", axis->name)};
  }
  if (!is_only_part(taken, all)) return std::nullopt;
  const auto [loop, is_around] = loop_over(taken);
  if (loop && is_around) {
    return OnePart{fmt::format("{} in each iteration of the loop '{}'", fixed, loop->name),
                   fmt::format("take the tile that the loop counts: {}", loop->name)};
  }
  if (axis && axis->index) {
    return OnePart{fixed + " in each program",
                   fmt::format("take this program's tile: its index along '{}' is that of the grid", axis->name)};
  }
  if (loop) {
    return OnePart{fmt::format("{}, outside of the loop '{}', which counts its tiles", fixed, loop->name),
                   fmt::format("take a tile in each iteration, at index {}", loop->name)};
  }
  std::string step = axis ? "t." + axis->name : taken.tile->text;
  return OnePart{fixed + ", and no loop counts its tiles",
                 fmt::format("take one after the other: for {} in tile.range({}, {})", axis ? axis->name : "i",
                             taken.extent->text, step)};
}

void KernelBuilder::warn_of_parts() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc)) return;
  std::vector<TakenPart> all = taken_parts();
  for (const TakenPart& taken : all) {
    std::optional<OnePart> part = one_part_of(taken, all);
    const Loc& loc = taken.op->loc();
    std::string place = fmt::format("part:{}:{}:{}:{}", loc.file, loc.line, loc.column, taken.dim);
    if (!part || !session().say_once(place)) continue;
    std::string axis = taken.axis ? fmt::format(", which is axis '{}',", taken.axis->name) : "";
    session()
        .diagnostics()
        .report(diag::part_of_axis, loc, taken.dim, taken.of->name, axis, part->why)
        .help(part->help);
  }
}

/// Warns of indices that count more or fewer tiles than the dimension has where they stand. A loop from a start or to a
/// stop leaves tiles out as it says.
void KernelBuilder::warn_of_extents() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc)) return;
  std::vector<std::pair<Op*, Access>> all;
  walk(kernel_.op, [&](Op* op) {
    auto access = access_of(op);
    if (access && access->tile.size() == access->index.size()) all.emplace_back(op, std::move(*access));
  });
  auto tiles = [&](Dim extent, Dim tile) { return tile == extent ? dims().constant(1) : dims().ceildiv(extent, tile); };
  for (const auto& [op, access] : all) {
    auto parameter = kernel_.parameters.find(access.memory);
    for (size_t i = 0; parameter != kernel_.parameters.end() && i < access.index.size(); ++i) {
      std::optional<Counter> counter = counter_of(access.index[i]);
      Dim extent = access.extent(i), tile = access.tile[i];
      if (!counter || tile->is_constant(1) || has_bounds(access.index[i])) continue;
      if (tiles(counter->extent, counter->step) == tiles(extent, tile)) continue;
      // What is computed of the counter may have the rest.
      auto computes = [&](const auto& other) {
        const Access& of = other.second;
        return of.memory == access.memory && of.index.size() == access.index.size() &&
               of.index[i] != access.index[i] && depends_on(of.index[i], access.index[i]);
      };
      if (std::ranges::any_of(all, computes)) continue;
      // A loop is said once.
      const Loc& loc = counter->loc.known() ? counter->loc : op->loc();
      size_t dim = access.first() + i;
      if (!session().say_once(fmt::format("extent:{}:{}:{}", loc.file, loc.line, loc.column))) continue;
      auto builder = session().report(diag::index_extent, op->loc(), counter->name, counter->extent->text,
                                      counter->step->text, dim, parameter->second->name, extent->text, tile->text);
      if (counter->loc.known()) {
        builder.label(counter->loc, "the loop counts here")
            .help(fmt::format("count the tiles of the dimension: tile.range({}, {})", extent->text,
                              asked_text(op, i, extent, tile)));
      } else {
        builder.help("where the two sizes are always the same, give them one name in the signature");
      }
    }
  }
}

bool KernelBuilder::has_bounds(const Value* counter) {
  Op* loop = counter->def() ? nullptr : counter->block()->parent_op();
  return loop && loop->is(info(OpKind::Pipeline)) && loop->slot_size(in::Pipeline::bounds) != 0;
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
  walk(kernel_.op, [&](Op* op) {
    Dim extent = op->is(info(OpKind::Store)) ? extent_along(op, axis) : nullptr;
    found |= extent && extent != axis.tile;
  });
  return found;
}

/// Whether anything follows from an axis: a mention of its index or of its tile, a memory of its extent that is read or
/// written, or a mention of the extent. What cannot be told from another axis counts as a use. A store that adds up has
/// parts for programs along any axis, so a use of the index in the IR says nothing.
bool KernelBuilder::has_use(const KernelAxis& axis) const {
  if (kernel_.named_axes.contains(&axis)) return true;
  bool found = false;
  auto look = [&](Type type) {
    found = found || std::ranges::find(type->dims, axis.extent) != type->dims.end();
  };
  walk(kernel_.op, [&](Op* op) {
    if (op == kernel_.op) return;
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
    found = found || std::ranges::none_of(kernel_.scan.context->arguments, has_name);
  };
  for (const ast::Stmt* stmt : function_.def->body) ast::walk(*stmt, visit);
  return found;
}

/// Warns of axes that nothing uses: the programs along such an axis of the grid all do the same work.
void KernelBuilder::warn_of_unused_axes() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc) || !kernel_.scan.context) return;
  for (const KernelAxis& axis : kernel_.axes) {
    if (!axis.source || has_use(axis)) continue;
    const Loc& loc = axis.source->loc;
    if (!session().say_once(fmt::format("unused axis:{}:{}:{}", loc.file, loc.line, loc.column))) continue;
    std::string repeats = axis.grid ? ": all programs along it do the same work" : "";
    session()
        .report(diag::unused_axis, loc, function_.name, axis.name)
        .help(fmt::format("leave it out of 'tile.context'{}", repeats));
  }
}

/// The axes of the grid of which an op combines this program's tile, or the elements of a number that fill one.
std::vector<const KernelAxis*> KernelBuilder::combined_axes_of(Op* op) {
  size_t along = size_t(op->attr(common::Along::axis));
  std::vector<const KernelAxis*> axes = grid_axes_along(op->operand(0), along);
  EdgeSearch search(kernel_.origins, kernel_.op);
  search.visit(op->operand(0), along);
  if (!search.places().empty()) return axes;
  for (const KernelAxis* axis : search.axes()) {
    if (axis->grid) axes.push_back(axis);
  }
  return axes;
}

/// Warns of results that depend on a block, as elements are combined along an axis of which a program has a block.
void KernelBuilder::warn_of_blocks() {
  if (evaluator_.is_open() || session().is_builtin(function_.loc)) return;
  for (Op* op : combining_ops()) {
    if (op->is(info(OpKind::Scatter)) || op->is(info(OpKind::Dot))) continue;
    for (const KernelAxis* axis : combined_axes_of(op)) {
      std::set<const Value*> seen;
      bool reaches = false;
      for (unsigned i = 0; i < op->result_count(); ++i) reaches |= reaches_block(op->result(i), *axis, seen);
      if (axis->is_one_tile() || !reaches || has_part_for_each_block(*axis)) continue;
      const Loc& loc = op->loc();
      if (!session().say_once(fmt::format("block:{}:{}:{}", loc.file, loc.line, loc.column))) continue;
      std::string name = op->is(info(OpKind::Reduce)) ? std::string(op->attr(schedule::attr::Reduce::kind))
                                                      : std::string(op->name().substr(op->name().find('.') + 1));
      session()
          .report(diag::block_combined, loc, "tile." + name, axis->name, "program")
          .help(fmt::format("leave axis '{}' without a block, or combine all of it in a loop", axis->name));
    }
  }
}

}  // namespace tessera::frontend
