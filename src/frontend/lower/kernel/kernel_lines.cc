// Refuses kernels that pair elements of different axes where their blocks happen to be equal, and
// loops that step otherwise than the tiles that are taken at their index. A kernel's result must
// not change with the blocks that its schedule chooses.
//
// An axis of a tile runs along an axis of the kernel, or along a loop over something else, as far
// as its ops say so. What is computed, gathered or of a constant extent goes with everything.

#include <algorithm>

#include "frontend/fixes/operand_text.h"
#include "frontend/lower/kernel/kernel_builder.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace in = schedule::in;

namespace {

bool is_one_tile(Dim extent, Dim tile) {
  std::optional<int64_t> elements = extent->constant(), most = tile->constant();
  return tile == extent || (elements && most && *elements <= *most);
}

/// Whether two sizes are written as different names. What else they are may be one size.
bool are_two_names(const ast::Expr* a, const ast::Expr* b) {
  const auto *x = ast::as<ast::Name>(a), *y = ast::as<ast::Name>(b);
  return x && y && x->text != y->text;
}

/// Whether two axes that are not the same have one extent, by its name, or one tile each of one extent.
bool may_be_one(const KernelAxis& a, const KernelAxis& b) {
  if (&a == &b) return true;
  if (a.extent != b.extent) return false;
  bool are_whole = is_one_tile(a.extent, a.tile) && is_one_tile(b.extent, b.tile);
  return are_whole || !a.extent->constant() || !are_two_names(a.source, b.source);
}

/// The load that a value is of, if it is nowhere else used.
Op* own_load(Value* value) {
  while (value->def() && value->first_use() && !value->first_use()->next()) {
    Op* def = value->def();
    if (def->is(info(OpKind::Load))) return def;
    if (!def->is(info(OpKind::Reshape)) && !def->is(info(ElementwiseKind::Cast))) return nullptr;
    value = def->operand(0);
  }
  return nullptr;
}

/// A place of a memory that is accessed: index and extent of the tile along each of its dimensions.
struct Access {
  Value* memory;
  std::vector<Value*> index;
  std::vector<Dim> tile;
};

std::optional<Access> access_of(Op* op) {
  if (op->is(info(OpKind::Load)))
    return Access{op->in(in::Load::memory), op->ins(in::Load::index), op->result()->type()->dims};
  if (!op->is(info(OpKind::CopyAsync))) return std::nullopt;
  std::vector<Value*> index = op->ins(in::CopyAsync::index);
  std::vector<Dim> tile = op->in(in::CopyAsync::to)->type()->dims;
  if (tile.size() > index.size()) return std::nullopt;
  std::vector<Value*> last(index.end() - ptrdiff_t(tile.size()), index.end());
  return Access{op->in(in::CopyAsync::from), std::move(last), std::move(tile)};
}

bool depends_on(Value* value, const Value* on, size_t depth = 8) {
  if (value == on) return true;
  for (unsigned i = 0; depth && value->def() && i < value->def()->operand_count(); ++i) {
    if (depends_on(value->def()->operand(i), on, depth - 1)) return true;
  }
  return false;
}

}  // namespace

/// What a tile at this place runs along, where that is certain.
std::optional<KernelBuilder::Line> KernelBuilder::line_of(const TilePlace& place) const {
  if (!place.index) return std::nullopt;
  if (const KernelAxis* axis = axis_of_index(place.index)) {
    bool is_other = place.asked && !may_be_one(*axis, *place.asked);
    if (is_other || axis->tile != place.tile) return std::nullopt;
    return Line{axis, nullptr};
  }
  if (auto loop = loops_.find(place.index); loop != loops_.end()) {
    bool is_other = place.asked && place.asked->extent != loop->second.extent;
    if (is_other || loop->second.step != place.tile) return std::nullopt;
    return Line{nullptr, &loop->second};
  }
  bool is_fixed = place.index->def() && place.index->def()->is(info(OpKind::Constant));
  bool is_of_asked = place.asked && place.asked->extent == place.extent && place.asked->tile == place.tile;
  return is_fixed && is_of_asked ? std::optional(Line{place.asked, nullptr}) : std::nullopt;
}

bool KernelBuilder::differ(const Line& a, const Line& b) {
  if (a.axis && b.axis) return !may_be_one(*a.axis, *b.axis);
  return a.extent() != b.extent();
}

/// The loop that a tile runs along, if it is certainly over something else than an axis of the grid.
std::optional<std::string> KernelBuilder::other_loop(Value* tile, size_t axis, const KernelAxis& of) const {
  EdgeSearch search(origins_, kernel_);
  for (const TilePlace& place : search.find(tile, axis).places) {
    std::optional<Line> line = loops_.contains(place.index) ? line_of(place) : std::nullopt;
    if (line && differ(*line, {&of, nullptr})) return line->axis ? "t." + line->axis->name : line->loop->extent->text;
  }
  return std::nullopt;
}

/// What two axes of tiles run along, where these are certainly two things.
std::optional<KernelBuilder::Pair> KernelBuilder::unrelated(EdgeSearch& search, TileAxis a, TileAxis b) const {
  auto lines = [&](const EdgeSearch::Found& found) {
    std::vector<Line> lines;
    for (const TilePlace& place : found.places) {
      if (std::optional<Line> line = line_of(place)) lines.push_back(*line);
    }
    size_t placed = lines.size();
    for (const KernelAxis* axis : found.stated) lines.push_back({axis, nullptr});
    return std::make_pair(std::move(lines), placed);
  };
  auto [first, placed] = lines(search.find(a.first, a.second));
  auto [second, also_placed] = lines(search.find(b.first, b.second));
  for (size_t i = 0; i < first.size(); ++i) {
    for (size_t j = 0; j < second.size(); ++j) {
      bool are_stated = i >= placed && j >= also_placed;
      if (!are_stated && differ(first[i], second[j])) return Pair{first[i], second[j]};
    }
  }
  return std::nullopt;
}

/// What the operands of an op run along where it pairs their elements, if these are two things.
std::optional<KernelBuilder::Pair> KernelBuilder::unrelated_in(EdgeSearch& search, Op* op) const {
  if (op->is(info(OpKind::Dot))) {
    Value *a = op->in(in::Dot::a), *b = op->in(in::Dot::b), *c = op->in(in::Dot::c);
    if (auto found = unrelated(search, {a, 1}, {b, 0})) return found;
    if (auto found = unrelated(search, {c, 0}, {a, 0})) return found;
    return unrelated(search, {c, 1}, {b, 1});
  }
  if (op->info().axes != Axes::Kept) return std::nullopt;
  std::vector<Value*> tiles;
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    if (op->operand(i)->type()->is(TypeKind::Tile)) tiles.push_back(op->operand(i));
  }
  for (size_t i = 1; i < tiles.size(); ++i) {
    for (size_t axis = 0; axis < tiles[i]->type()->rank(); ++axis) {
      for (size_t j = 0; j < i; ++j) {
        if (auto found = unrelated(search, {tiles[j], axis}, {tiles[i], axis})) return found;
      }
    }
  }
  return std::nullopt;
}

/// Says to transpose an operand of a dot if then both have the axis that is summed along.
void KernelBuilder::help_transpose(DiagnosticEngine::Builder& builder, EdgeSearch& search, Op* dot) const {
  auto axis_of = [&](Value* tile, size_t axis) -> const KernelAxis* {
    const EdgeSearch::Found& found = search.find(tile, axis);
    std::optional<Line> line = found.places.size() == 1 ? line_of(found.places[0]) : std::nullopt;
    return line ? line->axis : nullptr;
  };
  Value* operands[] = {dot->in(in::Dot::a), dot->in(in::Dot::b)};
  for (size_t i : {size_t(1), size_t(0)}) {
    const KernelAxis* summed = axis_of(operands[i], i);
    if (!summed || summed != axis_of(operands[1 - i], i)) continue;
    std::string what = i == 1 ? "transpose the second operand" : "transpose the first operand";
    Op* load = own_load(operands[i]);
    std::vector<Edit> edits;
    if (load) edits = postfixed(session().sources(), load->loc(), ".T");
    if (edits.empty()) builder.help(what + " with .T");
    else builder.fix(std::move(what), std::move(edits));
    return;
  }
}

/// Refuses ops that pair elements of axes that have nothing in common but the extents of their blocks.
bool KernelBuilder::check_lines() {
  if (evaluator_.is_open()) return true;
  EdgeSearch search(origins_, kernel_);
  bool good = true;
  walk(kernel_, [&](Op* op) {
    if (!good) return;
    auto found = unrelated_in(search, op);
    if (!found) return;
    good = false;
    auto name = [](const Line& line) {
      return line.axis ? fmt::format("axis '{}'", line.axis->name)
                       : fmt::format("the loop '{}' over {}", line.loop->name, line.loop->extent->text);
    };
    bool is_dot = op->is(info(OpKind::Dot));
    std::string what = op->info().elementwise != ElementwiseKind::None
                           ? fmt::format("'{}'", blame().written(op->info().elementwise, op->loc()))
                           : is_dot ? "the dot" : "the op";
    auto builder = report(diag::unrelated_axes, op->loc(), what, name(found->first), name(found->second));
    if (is_dot) help_transpose(builder, search, op);
    builder.help(fmt::format("blocks of both have {} elements by chance: other blocks would give other results",
                             found->first.tile()->text));
  });
  return good;
}

/// The extent of a load as the source may give it.
std::string KernelBuilder::asked_text(Op* op, size_t axis, Dim extent, Dim tile) const {
  auto asked = origins_.asked.find(op);
  const KernelAxis* of = asked == origins_.asked.end() ? nullptr : asked->second[axis];
  return of && of->extent == extent ? "t." + of->name : tile->text;
}

/// Refuses a tile at the index of a loop that takes steps of another extent along the same dimension. Where an index
/// is computed of the loop's, such as 2 * k, its steps are meant.
bool KernelBuilder::check_loop_extents() {
  std::vector<std::pair<Op*, Access>> all;
  walk(kernel_, [&](Op* op) {
    if (auto access = access_of(op)) all.emplace_back(op, std::move(*access));
  });
  for (const auto& [op, access] : all) {
    size_t leading = access.memory->type()->rank() - access.tile.size();
    for (size_t i = 0; i < access.tile.size(); ++i) {
      auto loop = loops_.find(access.index[i]);
      Dim tile = access.tile[i], extent = access.memory->type()->dims[leading + i];
      if (loop == loops_.end() || tile == loop->second.step || tile->is_constant(1)) continue;
      const LoopTiles& tiles = loop->second;
      if (extent != tiles.extent || (is_one_tile(extent, tile) && is_one_tile(extent, tiles.step))) continue;
      auto computes = [&](const auto& other) {
        const Access& of = other.second;
        return of.memory == access.memory && of.index.size() == access.index.size() &&
               of.index[i] != loop->first && depends_on(of.index[i], loop->first);
      };
      if (std::ranges::any_of(all, computes)) continue;
      auto parameter = parameters_.find(access.memory);
      std::string name = parameter == parameters_.end() ? "memory" : parameter->second->name;
      report(diag::loop_extent, op->loc(), tiles.name, tiles.step->text, tile->text, leading + i, name)
          .label(tiles.loc, fmt::format("it takes steps of {}", tiles.step->text))
          .help(fmt::format("let the loop take the same steps: tile.range({}, {})", extent->text,
                            asked_text(op, i, extent, tile)));
      return false;
    }
  }
  return true;
}

}  // namespace tessera::frontend
