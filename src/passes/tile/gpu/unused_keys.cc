#include "passes/tile/gpu/unused_keys.h"

#include <fmt/format.h>

#include <vector>

#include "ir/schedule/schedule_keys.h"
#include "ir/text/entries.h"
#include "ir/tile/ops.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/tile/common/unused_keys.h"

namespace tessera {

namespace attr = tile::attr;

namespace {

std::vector<UnusedKey> unused_keys(Op* kernel, const Machine& machine) {
  namespace key = schedule::key;
  Attr from = kernel->attr(attr::Kernel::schedule);
  GpuSchedule schedule = gpu_schedule(kernel, machine);
  std::vector<UnusedKey> found;
  bool grouped = entry::text_of(from, key::order) == "grouped";
  if (grouped && !schedule.persistent) {
    found.push_back({.key = key::order.name, .why = "programs are numbered in groups where 'persistent' is true"});
  } else if (!grouped && entry::node(from, key::group)) {
    found.push_back({.key = key::group.name, .why = "it is the height of the groups of order=\"grouped\""});
  }
  if (entry::node(from, key::registers) && schedule.load_groups == 0)
    found.push_back({.key = key::registers.name, .why = "they are those of the warps that 'roles' name"});
  std::optional<int64_t> warps = entry::read(from, key::warps);
  if (warps && *warps != schedule.compute_warps) {
    found.push_back({.key = key::warps.name,
                     .why = fmt::format("'roles' say how many warps compute: {}", schedule.compute_warps)});
  }
  return found;
}

bool has_dot(Op* kernel) {
  bool found = false;
  walk(kernel, [&](Op* op) {
    found = found || op->is(tile::info(tile::OpKind::Mma)) || op->is(tile::info(tile::OpKind::Dot));
  });
  return found;
}

}  // namespace

void report_unused_keys(Module& module, PassContext& context) {
  if (!context.machine->gpu.has_tma) return;  // which has no such keys
  UnusedKeyReport report(context);
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(tile::OpKind::Kernel))) continue;
    std::vector<UnusedKey> unused = unused_keys(kernel, *context.machine);
    if (gpu_schedule(kernel, *context.machine).load_groups > 0 && !has_dot(kernel)) {
      unused.push_back({.key = schedule::key::roles.name,
                        .why = "warps only load for others that compute a dot, and this kernel has none",
                        .part = "'load' of 'roles'"});
    }
    report.tell(kernel, unused);
  }
}

}  // namespace tessera
