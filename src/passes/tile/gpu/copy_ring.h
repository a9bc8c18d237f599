#pragma once
// Rings of shared memory for operands that the computing threads copy themselves.

#include "ir/core/op.h"

namespace tessera {

/// Takes a loop that copies operands to shared memory, waits once and multiplies. Gives its buffers
/// `stages` slots, and starts the copies of an iteration stages - 1 iterations earlier:
///
///   for s < stages - 1: copy iteration s -> slot s; commit
///   for t: wait {stages - 2}; barrier; copy iteration t + stages - 1; commit; mma slot t; mma_wait
///
/// The one barrier means both that the operands of iteration t have arrived and that all warps are
/// done with those of iteration t - 1, whose slot the next copy takes. Past the last iteration a
/// group of copies is empty. Iterations are counted from the loop's first one. Where threads make operands of what was
/// copied, they store them behind that barrier, and another one follows before the MMA. Returns false if the loop has
/// another form: with operands that are stored and were not copied, or whose addresses do not follow from the iteration
/// alone.
bool ring_of_copies(Op* loop, int64_t stages);

}  // namespace tessera
