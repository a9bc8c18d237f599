#pragma once
// Reorders instructions where values would not fit in registers.

#include "codegen/ptx/code.h"

namespace tessera::codegen::ptx {

/// Reorders the blocks that hold more than `registers` registers at once (some more beside MMAs),
/// so that they hold fewer: computations wait for their first use, and if that is not enough, loads
/// wait, too. Loads pass stores to other parameters, but not if the kernel `writes_over` memory
/// that it reads. Returns the registers of that of them which then holds the most, 0 if there is
/// none.
int64_t order_for_registers(Code& code, int64_t registers, bool writes_over);

}  // namespace tessera::codegen::ptx
