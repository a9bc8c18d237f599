#pragma once
// Alignments and sizes of buffers that a kernel relies on.

#include <vector>

#include "ir/core/dim_facts.h"
#include "ir/core/op.h"

namespace tessera::codegen {

/// Facts on the kernel's dims that hold at each of its launches, by the guards of the entry and the
/// ranges of the loops around, and that mention a place: a dim such as the `i` of `x[i]`, which is no
/// extent of what the kernel reads or writes, so that the sizes of buffers say nothing of it.
std::vector<DimFact> facts_of_places(Op* kernel);

}  // namespace tessera::codegen
