#include "passes/analysis/gpu_schedule.h"

#include <algorithm>

#include "ir/core/context.h"
#include "ir/schedule/ops.h"
#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "ir/tile/ops.h"

namespace tessera {

namespace key = schedule::key;

int64_t of_role(Attr roles, std::string_view role) {
  Attr value = roles ? roles->get(role) : nullptr;
  return value ? value->integer : 0;
}

int64_t launch_registers(const Machine& machine, int64_t threads) {
  int64_t share = machine.gpu.registers / threads / 8 * 8;
  return std::min<int64_t>(machine.gpu.registers_per_thread, share);
}

Attr schedule_in_force(Op* kernel) {
  Attr asked = kernel->attr(tile::attr::Kernel::schedule), chosen = kernel->attr(tile::attr::Kernel::chosen);
  if (!chosen) return asked;
  std::vector<NamedAttr> entries = asked->entries;
  for (const NamedAttr& each : chosen->entries) {
    if (!asked->get(each.first)) entries.push_back(each);
  }
  return kernel->module()->context().dict(std::move(entries));
}

GpuSchedule gpu_schedule(Op* kernel, const Machine& machine) {
  Attr from = schedule_in_force(kernel);
  GpuSchedule schedule;
  std::optional<int64_t> warps = entry::read(from, key::warps);
  schedule.compute_warps = warps.value_or(schedule.compute_warps);
  schedule.stages = entry::read(from, key::stages).value_or(1);
  if (entry::text_of(from, key::order) == "grouped") schedule.group = entry::read(from, key::group).value_or(8);
  Attr roles = entry::node(from, key::roles);
  if (!machine.gpu.has_tma) {
    // All warps load and compute; that tiles are made for so many of them is still true.
    if (roles && !warps) schedule.compute_warps = std::max<int64_t>(4, 4 * of_role(roles, "mma"));
    return schedule;
  }
  schedule.load_groups = of_role(roles, "load");
  // Somebody has to compute: no group is none that was asked for.
  if (int64_t groups = of_role(roles, "mma")) schedule.compute_warps = 4 * groups;
  if (machine.gpu.has_register_reallocation) {
    Attr registers = entry::node(from, key::registers);
    schedule.load_registers = of_role(registers, "load");
    schedule.compute_registers = of_role(registers, "mma");
  }
  schedule.persistent = entry::read(from, key::persistent);
  for (int64_t extent : entry::read(from, key::cluster)) schedule.cluster.push_back(extent);
  if (std::ranges::all_of(schedule.cluster, [](int64_t extent) { return extent == 1; })) schedule.cluster.clear();
  return schedule;
}

double dot_clocks(Op* dot, const Machine& machine) {
  const PeakFigures& peaks = machine.gpu.peaks;
  double clocks_a_second = peaks.f32 / (2.0 * machine.gpu.lanes);  // of all multiprocessors, by 1e9
  Type a = dot->in(schedule::in::Dot::a)->type();
  double operations = 2;
  for (Dim extent : dot->result()->type()->dims) operations *= double(extent->constant().value_or(1));
  operations *= double(a->dims.back()->constant().value_or(1));
  return operations * clocks_a_second / peaks.dot(a->dtype);
}

}  // namespace tessera
