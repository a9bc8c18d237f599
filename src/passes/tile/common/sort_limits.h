#pragma once
// Which sorts decompose_sorts can write as other ops.

#include "passes/pass.h"

namespace tessera {

/// False, with a diagnostic at the sort, where extents of its tile are no numbers, or it has too many elements for
/// anything, or for the shared memory or the registers of a GPU's block.
bool check_sort(Op* sort, PassContext& context);

/// How many elements of a line of the tile lie side by side in the shared memory of a GPU's block, each time followed
/// by one that is left out: as many as its banks have room for. 0 where nothing is left out, as lines themselves lie
/// side by side or are shorter.
int64_t sort_group(Type tile, size_t axis, int64_t length);

}  // namespace tessera
