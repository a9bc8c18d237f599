// Refuses kernels that pair elements of different axes where their blocks happen to be equal. A
// kernel's result must not change with the blocks that its schedule chooses.
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

}  // namespace

/// What a tile at this place runs along, where that is certain.
std::optional<KernelBuilder::Line> KernelBuilder::line_of(const TilePlace& place) const {
  if (!place.index) return std::nullopt;
  if (const KernelAxis* axis = axis_of_index(place.index)) {
    bool is_other = place.asked && !may_be_one(*axis, *place.asked);
    if (is_other || axis->tile != place.tile) return std::nullopt;
    return Line{axis, nullptr};
  }
  if (auto loop = kernel_.loops.find(place.index); loop != kernel_.loops.end()) {
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
  EdgeSearch search(kernel_.origins, kernel_.op);
  for (const TilePlace& place : search.find(tile, axis).places) {
    std::optional<Line> line = kernel_.loops.contains(place.index) ? line_of(place) : std::nullopt;
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

/// The axis of the kernel along an axis of a tile; null where there is none, or more than one.
const KernelAxis* KernelBuilder::axis_along(EdgeSearch& search, Value* tile, size_t axis) const {
  const EdgeSearch::Found& found = search.find(tile, axis);
  std::optional<Line> line = found.places.size() == 1 ? line_of(found.places[0]) : std::nullopt;
  return line ? line->axis : nullptr;
}

/// Says to make a column of an operand whose elements belong to the rows of the other one; false where none does.
bool KernelBuilder::help_column(DiagnosticEngine::Builder& builder, EdgeSearch& search, Op* op) const {
  if (op->operand_count() != 2) return false;
  for (unsigned i : {1u, 0u}) {
    Value *operand = op->operand(i), *other = op->operand(1 - i);
    if (!operand->type()->is(TypeKind::Tile) || operand->type()->rank() != 2 || other->type()->rank() != 2) continue;
    const KernelAxis* along = axis_along(search, operand, 1);
    if (!along || along != axis_along(search, other, 0)) continue;
    builder.help(fmt::format("make a column of the {} operand, whose elements are along axis '{}': [:, None]",
                             i == 1 ? "second" : "first", along->name));
    return true;
  }
  return false;
}

/// Says to transpose an operand of a dot if then both have the axis that is summed along.
void KernelBuilder::help_transpose(DiagnosticEngine::Builder& builder, EdgeSearch& search, Op* dot) const {
  auto axis_of = [&](Value* tile, size_t axis) { return axis_along(search, tile, axis); };
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
  EdgeSearch search(kernel_.origins, kernel_.op);
  bool good = true;
  walk(kernel_.op, [&](Op* op) {
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
    else if (help_column(builder, search, op)) return;
    builder.help(fmt::format("only this schedule gives both {} elements: other blocks would give other results",
                             found->first.tile()->text));
  });
  return good;
}

}  // namespace tessera::frontend
