#pragma once
// Registers that tiles take.

#include <cstdint>

#include "ir/core/op.h"

namespace tessera {

/// 32-bit registers of each thread that tiles of a kernel or role hold at the same time, at least: what a loop carries
/// and what lives across it, or the largest tile. All tiles have layouts. What is made of nothing, as constants are,
/// counts as computed again.
int64_t held_registers(Op* scope);

}  // namespace tessera
