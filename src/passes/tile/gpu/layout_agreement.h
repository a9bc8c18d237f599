#pragma once
// Inserts conversions where an op needs an operand in another layout.

#include <map>

#include "ir/core/op.h"
#include "ir/layout/layout.h"

namespace tessera {

/// Loads and stores with a layout of their own.
using LayoutsOfAccesses = std::map<Op*, layout::Layout>;

/// Converts operands of the kernel's ops whose tiles have layouts: to that of the result, or to what gives it where an
/// op changes axes. A conversion between warps is written as a store to shared memory, a barrier and a load.
/// `accesses` move their tiles in these layouts.
void agree_on_layouts(Op* kernel, const LayoutsOfAccesses& accesses);

}  // namespace tessera
