// Warns of kernels that read or write one part of an axis where all parts are probably meant.
//
// An index of the grid counts tiles of its axis. Where that axis is one whole tile, the index is 0
// in each program. On a dimension of another axis it selects tiles of that axis, which no index
// counts. A literal 0 selects the whole of an axis without a block, and one tile of any other.

#include <algorithm>

#include "frontend/lower/kernel/kernel_builder.h"
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

/// Whether the first tile has all of the axis.
bool is_one_tile(const KernelAxis& axis) {
  std::optional<int64_t> extent = axis.extent->constant(), tile = axis.tile->constant();
  return axis.tile == axis.extent || (extent && tile && *extent <= *tile);
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
  auto counts = [&](const auto& loop) { return loop.second == &axis; };
  bool is_visited = axis.grid || std::ranges::any_of(loop_axes_, counts);
  if (is_visited || taken.tile != axis.tile) return std::nullopt;
  OnePart part{"", fmt::format("take one after the other: for {0} in tile.range({1}, t.{0})", axis.name,
                               axis.extent->text)};
  if (is_first(taken.index)) {
    // Tiles may be counted in the source: 0, 1, 2.
    auto is_other = [&](const TakenPart& each) { return each.axis == &axis && !is_first(each.index); };
    if (is_one_tile(axis) || std::ranges::any_of(all, is_other)) return std::nullopt;
    part.why = "the index is 0, and no loop counts its tiles";
    return part;
  }
  if (!counted || !counted->grid || counted->extent == axis.extent) return std::nullopt;
  part.why = fmt::format("the index counts tiles of axis '{}', and no loop those of this one", counted->name);
  return part;
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

}  // namespace tessera::frontend
