#pragma once
// Keys of a schedule for a GPU that contradict others of the same schedule, or need others to have an effect.

#include "passes/pass.h"

namespace tessera {

/// Warns of them in the schedules of the program's own kernels.
void report_unused_keys(Module& module, PassContext& context);

}  // namespace tessera
