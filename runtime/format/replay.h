#pragma once
// Whether what a plan does follows from the sizes of a call alone, so that it can be recorded and replayed.

#include <span>
#include <string>

#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"

namespace tessera::format {

/// Why calls of a plan cannot be replayed, such as "step 3 waits for a value that the device computes"; empty where
/// they can. `kernels` are beside Plan::kernels.
std::string replay_obstacle(const Plan& plan, std::span<const KernelMeta* const> kernels);

/// Whether the environment lets calls be replayed: not with TSR_GRAPHS=0, nor with TSR_SYNC=1.
bool replays_calls();

}  // namespace tessera::format
