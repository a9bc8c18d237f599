#pragma once
// Registers that tiles take.

#include <cstdint>

#include "ir/core/op.h"

namespace tessera {

/// 32-bit registers of each thread that tiles of a kernel or role hold during a loop, at the most:
/// loop-carried values and those live across the loop. All tiles have layouts. Values without
/// operands, such as constants, count as rematerialised; so this is a lower bound for any order of
/// instructions.
int64_t held_registers(Op* scope);

}  // namespace tessera
