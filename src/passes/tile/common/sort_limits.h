#pragma once
// Which sorts decompose_sorts can write as other ops.

#include "passes/pass.h"

namespace tessera {

/// False, with a diagnostic at the sort, where extents of its tile are no numbers, or it has too many elements for
/// anything, or for the shared memory or the registers of a GPU's block.
bool check_sort(Op* sort, PassContext& context);

}  // namespace tessera
