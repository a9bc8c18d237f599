#pragma once
// Registers that tiles take.

#include <cstdint>

#include "ir/core/op.h"

namespace tessera {

/// 32-bit registers of each thread that tiles of a kernel or role hold during a loop, at the most: what it carries and
/// what lives across it. All tiles have layouts. What is made of nothing, as constants are, counts as computed again;
/// so no order of instructions takes fewer.
int64_t held_registers(Op* scope);

}  // namespace tessera
