#include "runtime/core/placement.h"

namespace tessera::runtime {

Status place_buffers(const format::Plan& plan, std::span<const int64_t> dims, Placement& placement,
                     int64_t zone) {
  format::PlaceOutcome outcome = format::place_buffers(plan, dims, zone, placement);
  if (!outcome.failed()) return ok();
  bool too_large = outcome.status == format::PlaceStatus::TooLarge;
  return fail(too_large ? TSR_EOOM : TSR_EINVAL, outcome.text);
}

}  // namespace tessera::runtime
