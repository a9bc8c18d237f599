#pragma once
// Placement as the runtime asks for it: with a status of the C interface.

#include "runtime/core/limits.h"
#include "runtime/core/status.h"
#include "runtime/format/placement.h"

namespace tessera::runtime {

using format::Placement;

/// format::place_buffers, within the time of a call where there is one; memory that cannot be had is TSR_EOOM.
Status place_buffers(const format::Plan& plan, std::span<const int64_t> dims, Placement& placement,
                     int64_t zone = 0, const CallLimits* limits = nullptr);

}  // namespace tessera::runtime
