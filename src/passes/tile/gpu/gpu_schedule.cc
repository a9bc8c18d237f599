#include "passes/tile/gpu/gpu_schedule.h"

#include <algorithm>

#include "ir/core/context.h"
#include "ir/tile/ops.h"

namespace tessera {

namespace {

int64_t number(Attr dict, std::string_view key, int64_t otherwise) {
  Attr value = dict ? dict->get(key) : nullptr;
  return value && value->is(AttrKind::Int) ? value->integer : otherwise;
}

}  // namespace

int64_t launch_registers(const Machine& machine, int64_t threads) {
  int64_t share = machine.gpu.registers / threads / 8 * 8;
  return std::min<int64_t>(machine.gpu.registers_per_thread, share);
}

GpuSchedule gpu_schedule(Op* kernel, const Machine& machine) {
  Attr from = kernel->attr(tile::attr::Kernel::schedule);
  GpuSchedule schedule;
  schedule.compute_warps = number(from, "warps", schedule.compute_warps);
  schedule.stages = number(from, "stages", 1);
  Attr order = from ? from->get("order") : nullptr;
  if (order && order->string == "grouped") schedule.group = number(from, "group", 8);
  Attr roles = from ? from->get("roles") : nullptr;
  if (!machine.gpu.has_tma) {
    // All warps load and compute; that tiles are made for so many of them is still true.
    bool says_warps = from && from->get("warps");
    if (roles && !says_warps) schedule.compute_warps = std::max<int64_t>(4, 4 * number(roles, "mma", 1));
    return schedule;
  }
  if (roles) {
    schedule.load_groups = number(roles, "load", 0);
    // Somebody has to compute: no group is none that was asked for.
    if (int64_t groups = number(roles, "mma", 0)) schedule.compute_warps = 4 * groups;
  }
  if (machine.gpu.has_register_reallocation) {
    Attr registers = from ? from->get("registers") : nullptr;
    schedule.load_registers = number(registers, "load", 0);
    schedule.compute_registers = number(registers, "mma", 0);
  }
  Attr persistent = from ? from->get("persistent") : nullptr;
  schedule.persistent = persistent && persistent->boolean;
  return schedule;
}

}  // namespace tessera
