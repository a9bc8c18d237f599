#pragma once
// Rings for operands of products that the computing threads copy themselves.

#include "ir/core/op.h"

namespace tessera {

/// Where a loop brings operands of products to shared memory, waits once and multiplies, gives their buffers `stages`
/// slots, and lets the copies of a turn begin stages - 1 turns earlier:
///
///   for s < stages - 1: copy turn s -> slot s; commit
///   for t: wait {stages - 2}; barrier; copy turn t + stages - 1; commit; mma slot t; mma_wait
///
/// The one barrier says both that turn t's operands are there and that all warps are done with those of turn t - 1,
/// whose slot the next copy takes. Where there are no more turns a group is empty. False if the loop has another form:
/// with operands that are stored, or whose places do not follow from the turn alone.
bool ring_of_copies(Op* loop, int64_t stages);

}  // namespace tessera
