// Warns of kernels that read or write one part of an axis where the others are meant as well.
//
// An index of the grid counts tiles of its axis. Where that axis is one whole tile it is 0 in each program; and on a
// dimension that another axis of the kernel stands for, it takes tiles of that axis which nothing counts.

#include <algorithm>

#include "frontend/kernel/kernel_builder.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;
namespace in = schedule::in;

/// Why a load takes one part of an axis alone, and what takes all; nullopt where it does not, or is as likely meant to.
std::optional<KernelBuilder::OnePart> KernelBuilder::one_part_of(const KernelAxis& axis, Value* index, Dim tile) const {
  const KernelAxis* counted = axis_of_index(index);
  if (!counted || !counted->grid) return std::nullopt;
  if (axis.tile == axis.extent) {
    if (counted != &axis || tile == axis.tile) return std::nullopt;
    return OnePart{"the index is 0 in each program, of which one has the whole axis",
                   fmt::format("give the axis a block, or take its whole tile: t.{}", axis.name)};
  }
  auto counts = [&](const auto& loop) { return loop.second == &axis; };
  bool is_visited = axis.grid || std::ranges::any_of(loop_axes_, counts);
  if (is_visited || tile != axis.tile || counted->extent == axis.extent) return std::nullopt;
  return OnePart{fmt::format("the index counts tiles of axis '{}', and no loop those of this one", counted->name),
                 fmt::format("take one after the other: for {0} in tile.range({1}, t.{0})", axis.name,
                             axis.extent->text)};
}

void KernelBuilder::warn_of_parts() {
  if (session().is_builtin(function_.loc)) return;
  auto check = [&](Op* op, Value* memory, Type tile, const std::vector<Value*>& index) {
    auto parameter = parameters_.find(memory);
    if (parameter == parameters_.end() || tile->rank() != index.size()) return;
    const SignatureParameter& of = *parameter->second;
    std::vector<const KernelAxis*> axes = match_axes(of.type.dims, memory->type()->dims);
    for (size_t i = 0; i < axes.size(); ++i) {
      std::optional<OnePart> part = axes[i] ? one_part_of(*axes[i], index[i], tile->dims[i]) : std::nullopt;
      const Loc& loc = op->loc();
      if (!part || !session().say_once(fmt::format("part:{}:{}:{}:{}", loc.file, loc.line, loc.column, i))) continue;
      session().diagnostics().report(diag::part_of_axis, loc, i, of.name, axes[i]->name, part->why).help(part->help);
    }
  };
  walk(kernel_, [&](Op* op) {
    if (op->is(info(OpKind::Load))) {
      check(op, op->in(in::Load::memory), op->result()->type(), op->ins(in::Load::index));
    }
  });
}

}  // namespace tessera::frontend
