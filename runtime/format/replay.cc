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
    const char* why = obstacle(plan.steps[i]);
    const auto* launch = std::get_if<LaunchStep>(&plan.steps[i]);
    if (launch && !kernels[launch->kernel]->checks.empty()) why = "waits for what a kernel checks";
    if (why) return cat("step ", i, " ", why);
    operations += launch || std::holds_alternative<ForStep>(plan.steps[i]) || std::holds_alternative<CopyStep>(plan.steps[i]) ||
                  std::holds_alternative<FillStep>(plan.steps[i]);
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
