#include "runtime/core/placement.h"

namespace tessera::runtime {

Status place_buffers(const format::Plan& plan, std::span<const int64_t> dims, Placement& placement,
                     int64_t zone, const CallLimits* limits) {
  auto until = limits ? limits->until() : CallLimits::Clock::time_point::max();
  format::PlaceOutcome outcome = format::place_buffers(plan, dims, zone, placement, until);
  if (!outcome.failed()) return ok();
  if (outcome.status == format::PlaceStatus::Late) return limits->over();
  bool too_large = outcome.status == format::PlaceStatus::TooLarge;
  return fail(too_large ? TSR_EOOM : TSR_EINVAL, outcome.text);
}

}  // namespace tessera::runtime
