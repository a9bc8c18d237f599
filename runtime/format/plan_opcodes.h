#pragma once
// The numbers of steps in the bytes of a plan, what they are called, and which of them this runtime runs.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/format/plan.h"

namespace tessera::format {

struct StepInfo {
  uint16_t opcode;
  std::string_view name;
  bool runs;
};

/// Beside the alternatives of PlanStep.
inline constexpr std::array<StepInfo, std::variant_size_v<PlanStep>> step_infos = {{
#define PLAN_STEP(type, opcode, name, runs) {opcode, name, runs},
#include "runtime/format/plan_steps.def"
}};

inline const StepInfo& step_info(const PlanStep& step) { return step_infos[step.index()]; }
/// The same of a type of step.
#define PLAN_STEP(type, opcode, name, runs) \
  constexpr StepInfo step_info(const type*) { return {opcode, name, runs}; }
#include "runtime/format/plan_steps.def"

/// What the opcodes of a range are for.
struct OpcodeRange {
  uint16_t first, last;
  std::string_view use;
};

inline constexpr std::array<OpcodeRange, 7> opcode_ranges = {{
    {0, 31, "a step of one device"},
    {32, 39, "an event"},
    {40, 47, "a copy between devices"},
    {48, 63, "a call of what is not in the bundle"},
    {64, 95, "a collective"},
    {96, 65279, "one that is kept for later versions"},
    {65280, 65535, "one for experiments"},
}};

/// "opcode 70, a collective, is unknown".
std::string unknown_opcode(uint16_t opcode);

/// What a plan has that this runtime does not run yet: "step 3 is a copy between devices"; empty where it runs all.
std::string not_run(const Plan& plan);

}  // namespace tessera::format
