// Groups whose kernels a GPU's programs can run.
//
// A program of a GPU has no memory of its own but its registers. What a generated kernel has whole
// is therefore held in registers, where extents are few numbers, or walked in one loop: along one
// axis of the kernel, which is several of the graph where all accesses walk these as one. A
// reduction along more is made in steps, the innermost axis first, and the result of a step goes
// from one kernel to the next by memory. Ops that were fused with the reduction are then fused with
// its first step, or with none, so groups are made anew until each of them fits; every round
// leaves reductions with fewer axes.

#include <algorithm>
#include <bit>

#include "ir/core/common_attributes.h"
#include "ir/graph/build.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/graph/to_schedule/lowering.h"

namespace tessera {

namespace {

/// Whether a program's threads hold a tile along all axes; pad_tiles makes extents even.
bool fits_registers(const KernelSpace& space) {
  int64_t most = GpuSchedule().most_elements(), elements = 1;
  for (size_t k = 0; k < space.rank(); ++k) {
    std::optional<int64_t> extent = (space.whole[k] ? space.extents : space.blocks)[k]->constant();
    if (!extent || *extent > most) return false;
    elements *= int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(*extent, 1))));
    if (elements > most) return false;
  }
  return true;
}

using AxisRuns = std::vector<std::vector<int64_t>>;

/// The axes that a reduction combines, in runs that are one axis of the kernel; axes of one element go along.
AxisRuns runs_of(Op* reduce, const std::vector<int>& combined, const KernelSpace& space) {
  const std::vector<Dim>& dims = reduce->operand(0)->type()->dims;
  AxisRuns runs;
  int last = -1;  // the axis of the kernel that the run is
  size_t next = 0;
  for (int64_t axis : reduce->attr(graph::attr::Reduce::axes)) {
    bool is_one = dims[size_t(axis)]->is_constant(1);
    int along = is_one ? last : space.axis_of[size_t(combined[next++])];
    if (runs.empty() || (last >= 0 && along != last)) runs.emplace_back();
    runs.back().push_back(axis);
    last = along;
  }
  return runs;
}

/// Combines along one run after the other, the last first. The result of each has the precision of sums.
void reduce_one_by_one(Op* op, const AxisRuns& runs) {
  Builder builder(*op->module());
  builder.set_before(op);
  builder.set_loc(op->loc());
  std::string kind(op->attr(common::Along::kind));
  DType dtype = op->result()->type()->dtype;
  bool rounds = is_float(dtype) && byte_size(dtype) < 4 && (kind == "sum" || kind == "prod");
  Value* value = op->operand(0);
  if (rounds) value = graph::cast(builder, value, DType::F32);
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    value = graph::reduce(builder, value, kind, *run, op->attr(graph::attr::Reduce::keep));
  }
  if (rounds) value = graph::cast(builder, value, dtype);
  op->result()->replace_all_uses(value);
  op->erase();
}

/// The reductions of a group that its programs cannot walk.
std::map<Op*, AxisRuns> too_wide(const FusionGroup& group, const KernelSpace& space) {
  std::map<Op*, AxisRuns> found;
  if (fits_registers(space)) return found;
  for (const auto& [op, combined] : group.reduced) {
    AxisRuns runs = runs_of(op, combined, space);
    if (runs.size() > 1) found[op] = std::move(runs);
  }
  return found;
}

}  // namespace

std::vector<FusionGroup> GraphLowering::fitting_groups() {
  std::vector<FusionGroup> groups = group_fusions(reads_, context_.machine);
  bool in_registers = context_.machine && context_.machine->is_gpu();
  while (in_registers) {
    std::map<Op*, AxisRuns> split;
    for (const FusionGroup& each : groups) {
      if (each.reduced.empty()) continue;
      FusionGroup group = with_elements(each);
      if (group.outputs.empty()) continue;
      split.merge(too_wide(group, plan_space(reads_, group, group_loads(reads_, group), group_stores(table_, group),
                                             context_.machine, halvings(group))));
    }
    if (split.empty()) break;
    for (const auto& [op, runs] : split) reduce_one_by_one(op, runs);
    reads_ = GraphReads(reads_.terminator()->block(), reads_.machine());
    groups = group_fusions(reads_, context_.machine);
  }
  return groups;
}

}  // namespace tessera
