#pragma once
// Shared memory that a kernel's source asks for (tile.alloc).

#include "ir/core/op.h"
#include "ir/numbers/machine.h"

namespace tessera {

/// Gives that memory layouts that MMAs can read, and moves it to the kernel's start; accesses that
/// the source orders by barriers is then seen by matrix units, too. False if the kernel asks for
/// none.
bool place_written_memory(Op* kernel, const Machine& machine);

}  // namespace tessera
