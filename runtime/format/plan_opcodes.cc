#include "runtime/format/plan_opcodes.h"

#include <algorithm>

#include "runtime/files/text.h"

namespace tessera::format {

std::string unknown_opcode(uint16_t opcode) {
  auto has = [&](const OpcodeRange& range) { return opcode >= range.first && opcode <= range.last; };
  return cat("opcode ", opcode, ", ", std::ranges::find_if(opcode_ranges, has)->use, ", is unknown");
}

std::string not_run(const Plan& plan) {
  if (plan.devices != 1) return cat("it is for ", plan.devices, " devices");
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.space != MemorySpace::Device) return cat("buffer ", in_quotes(buffer.name), " is in memory of the host");
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const StepInfo& info = step_info(plan.steps[i]);
    if (!info.runs) return cat("step ", i, " is ", info.name);
  }
  return "";
}

}  // namespace tessera::format
