#pragma once
// Inserts conversions where an op needs an operand in another layout.

#include "ir/core/op.h"

namespace tessera {

/// Converts operands of the kernel's ops whose tiles have layouts: to that of the result, or to what gives it where an
/// op changes axes. A conversion between warps is written as a store to shared memory, a barrier and a load.
void agree_on_layouts(Op* kernel);

}  // namespace tessera
