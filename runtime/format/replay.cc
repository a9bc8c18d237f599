#include "runtime/format/replay.h"

#include <cstdlib>
#include <string_view>
#include <variant>

#include "runtime/files/text.h"

namespace tessera::format {

namespace {

/// Why a step's work cannot be known before the call runs; null where it can.
const char* obstacle(const PlanStep& step) {
  if (std::holds_alternative<IfStep>(step) || std::holds_alternative<WhileStep>(step)) {
    return "waits for a condition that the device computes";
  }
  if (std::holds_alternative<CheckStep>(step)) return "waits for a check of what the device computed";
  if (std::holds_alternative<PrintStep>(step)) return "prints what the device computed";
  return nullptr;
}

}  // namespace

std::string replay_obstacle(const Plan& plan, std::span<const KernelMeta* const> kernels) {
  size_t operations = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    const char* why = obstacle(step);
    const auto* launch = std::get_if<LaunchStep>(&step);
    if (launch && !kernels[launch->kernel]->checks.empty()) why = "waits for what a kernel checks";
    if (why) return cat("step ", i, " ", why);
    operations += launch || std::holds_alternative<ForStep>(step) || std::holds_alternative<CopyStep>(step) ||
                  std::holds_alternative<FillStep>(step);
  }
  return operations < 2 ? "a single operation is as fast by itself" : "";
}

bool replays_calls() {
  auto is = [](const char* name, std::string_view value) {
    const char* text = std::getenv(name);
    return text && text == value;
  };
  return !is("TSR_GRAPHS", "0") && !is("TSR_SYNC", "1");
}

}  // namespace tessera::format
