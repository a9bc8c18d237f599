// Refuses indices that count other tiles than those that are taken at them: tiles of another axis,
// or of other extents. Blocks that happen to be equal hide such a mistake, and so do tiles past the
// end, which are 0.
//
// What an index counts is certain if it is a program's index or a loop's as it stands. A computed
// index, such as 2 * k or t.j + 1, is a number and is not checked.

#include <algorithm>

#include "frontend/lower/kernel/kernel_access.h"
#include "frontend/lower/kernel/kernel_builder.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

/// The axis whose extent a loop goes over by its name, `M` of `tile.range(M, t.k)`; null for any other extent.
const KernelAxis* KernelBuilder::axis_over(const ast::For& loop) const {
  const auto* call = ast::as<ast::Call>(loop.iterable);
  const auto* extent = call && !call->arguments.empty() ? ast::as<ast::Name>(call->arguments[0].value) : nullptr;
  for (const KernelAxis& axis : kernel_.axes) {
    const auto* source = ast::as<ast::Name>(axis.source);
    if (extent && source && source->text == extent->text) return &axis;
  }
  return nullptr;
}

/// What an index that stands as it is counts: tiles of the axes given, of which the first is named in messages.
std::optional<KernelBuilder::Counter> KernelBuilder::counter_of(const Value* index) const {
  if (auto loop = kernel_.loops.find(index); loop != kernel_.loops.end()) {
    const LoopTiles& tiles = loop->second;
    return Counter{tiles.name, tiles.loc, tiles.over, tiles.steps, tiles.extent, tiles.step};
  }
  for (const KernelAxis& axis : kernel_.axes) {
    if (axis.index && axis.index == index)
      return Counter{"t." + std::string(index->name()), {}, &axis, &axis, axis.extent, axis.tile};
  }
  return std::nullopt;
}

/// How the source may count the tiles of an axis, at `op`.
std::string KernelBuilder::index_text(const KernelAxis& axis, Op* op) const {
  Value* index = tile_of(axis, op);
  std::optional<Counter> counter = index ? counter_of(index) : std::nullopt;
  if (counter && counter->steps && counter->steps != &axis) {
    return fmt::format("let the loop '{1}' take steps of t.{0}: tile.range({2}, t.{0})", axis.name, counter->name,
                       axis.extent->text);
  }
  if (counter) return fmt::format("{} counts tiles of axis '{}'", counter->name, axis.name);
  return fmt::format("a loop counts tiles of axis '{0}': for {0} in tile.range({1}, t.{0})", axis.name,
                     axis.extent->text);
}

/// What is wrong with an index along a dimension, which is `axis` or none of the kernel's; `asked` is the axis of the
/// tile there, if the source says it.
std::optional<KernelBuilder::WrongIndex> KernelBuilder::wrong_index(const Counter& counter, const KernelAxis* axis,
                                                                    const KernelAxis* asked, bool is_whole) const {
  auto differ = [](const KernelAxis* a, const KernelAxis* b) { return a && b && !may_be_one(*a, *b); };
  std::string tiles = counter.over ? fmt::format("tiles of axis '{}'", counter.over->name) : "several tiles";
  if (differ(counter.over, axis)) return WrongIndex{tiles, fmt::format("{{}} is axis '{}'", axis->name), axis};
  if (differ(counter.steps, asked)) {
    std::string counts = counter.over == counter.steps ? tiles : "steps of t." + counter.steps->name;
    return WrongIndex{counts, fmt::format("the tile along {{}} is t.{}", asked->name), asked};
  }
  bool counts_more = is_whole && !is_one_tile(counter.extent, counter.step);
  if (counts_more) return WrongIndex{tiles, "the tile is all of {}", nullptr};
  return std::nullopt;
}

/// How many dimensions of memory are the parts of a sum, which stand before those of the source.
size_t KernelBuilder::parts_of(const Value* memory) const {
  auto region = std::ranges::find(kernel_.regions, memory, &Region::out);
  return region == kernel_.regions.end() ? 0 : region->parts.size();
}

/// Refuses the index of one axis on a dimension or for a tile of another.
bool KernelBuilder::check_indices() {
  if (evaluator_.is_open()) return true;
  bool good = true;
  walk(kernel_.op, [&](Op* op) {
    auto access = good ? access_of(op) : std::nullopt;
    if (!access) return;
    auto parameter = kernel_.parameters.find(access->memory);
    if (parameter == kernel_.parameters.end() || access->tile.size() != access->index.size()) return;
    size_t parts = parts_of(access->memory);
    std::vector<Dim> dims = access->memory->type()->dims;
    dims.erase(dims.begin(), dims.begin() + std::ptrdiff_t(parts));
    std::vector<const KernelAxis*> axes = match_axes(parameter->second->type.dims, dims);
    auto asked = kernel_.origins.asked.find(op);
    for (size_t i = parts; good && i < access->index.size(); ++i) {
      std::optional<Counter> counter = counter_of(access->index[i]);
      if (!counter) continue;
      size_t dim = access->first() + i - parts;
      const KernelAxis* axis = axes[dim];
      const KernelAxis* tile = asked == kernel_.origins.asked.end() ? nullptr : asked->second[i];
      auto wrong = wrong_index(*counter, axis, tile, access->tile[i] == access->extent(i));
      if (!wrong) continue;
      good = false;
      std::string place = fmt::format("dimension {} of '{}'", dim, parameter->second->name);
      auto builder = report(diag::index_of_axis, op->loc(), counter->name, wrong->counts,
                            fmt::format(fmt::runtime(wrong->wanted), place));
      if (counter->loc.known()) builder.label(counter->loc, "the loop counts them");
      bool are_two = access->index.size() == 2 && parts == 0 && dims.size() == 2;
      std::optional<Counter> next = are_two ? counter_of(access->index[1 - i]) : std::nullopt;
      if (next && counter->over == axes[1 - i] && next->over == axes[i]) {
        const Counter &first = i == 0 ? *next : *counter, &second = i == 0 ? *counter : *next;
        std::string_view extents = tile && axis && !may_be_one(*tile, *axis) ? ", and the extents of the tile" : "";
        builder.help(fmt::format("exchange them: ({}, {}){}", first.name, second.name, extents));
        continue;
      }
      if (axis && counter->over == axis && counter->steps == axis && wrong->axis) {
        builder.help(fmt::format("the tile of axis '{0}' is t.{0}", axis->name));
      } else {
        builder.help(wrong->axis ? index_text(*wrong->axis, op) : "the index of a whole is 0");
      }
    }
  });
  return good;
}

/// The extent of a load as the source may give it.
std::string KernelBuilder::asked_text(Op* op, size_t axis, Dim extent, Dim tile) const {
  auto asked = kernel_.origins.asked.find(op);
  const KernelAxis* of = asked == kernel_.origins.asked.end() ? nullptr : asked->second[axis];
  return of && of->extent == extent ? "t." + of->name : tile->text;
}

/// Refuses a tile at the index of a loop that takes steps of another extent along the same dimension. Where an index
/// is computed of the loop's, such as 2 * k, its steps are meant.
bool KernelBuilder::check_loop_extents() {
  std::vector<std::pair<Op*, Access>> all;
  walk(kernel_.op, [&](Op* op) {
    if (auto access = access_of(op)) all.emplace_back(op, std::move(*access));
  });
  for (const auto& [op, access] : all) {
    for (size_t i = 0; i < access.tile.size(); ++i) {
      auto loop = kernel_.loops.find(access.index[i]);
      Dim tile = access.tile[i], extent = access.extent(i);
      if (loop == kernel_.loops.end() || tile == loop->second.step || tile->is_constant(1)) continue;
      const LoopTiles& tiles = loop->second;
      if (extent != tiles.extent || (is_one_tile(extent, tile) && is_one_tile(extent, tiles.step))) continue;
      auto computes = [&](const auto& other) {
        const Access& of = other.second;
        return of.memory == access.memory && of.index.size() == access.index.size() &&
               of.index[i] != loop->first && depends_on(of.index[i], loop->first);
      };
      if (std::ranges::any_of(all, computes)) continue;
      auto parameter = kernel_.parameters.find(access.memory);
      std::string name = parameter == kernel_.parameters.end() ? "memory" : parameter->second->name;
      report(diag::loop_extent, op->loc(), tiles.name, tiles.step->text, tile->text, access.first() + i, name)
          .label(tiles.loc, fmt::format("it takes steps of {}", tiles.step->text))
          .help(fmt::format("let the loop take the same steps: tile.range({}, {})", extent->text,
                            asked_text(op, i, extent, tile)));
      return false;
    }
  }
  return true;
}

}  // namespace tessera::frontend
