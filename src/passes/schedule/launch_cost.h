#pragma once
// About how long a launch of a kernel of dots takes, as an expression of its sizes.

#include "ir/core/module.h"
#include "ir/numbers/machine.h"

namespace tessera {

/// Clocks that a typical GPU of the machine's kind takes for all programs of a sched.kernel whose loops multiply,
/// in the kernel's dims: for comparisons of schedules, not for estimates. Null where a loop has another one in it, or
/// the kernel has no loop with dots.
Dim launch_clocks(Op* kernel, const Machine& machine);

}  // namespace tessera
