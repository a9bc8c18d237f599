#pragma once
// The memory through which a tile gets from one distributed layout into another.

#include "ir/layout/layout.h"
#include "ir/layout/shared_layout.h"

namespace tessera::layout {

/// Wavefronts that a warp takes at least to move its part of a tile, plus those that bank conflicts add to the worst
/// access each time.
int64_t access_cost(const Layout& layout, const SharedLayout& shared);

/// Of the layouts that shared memory may have for a tile of that element size, the one in which storing it from `from`
/// and loading it to `to` take the fewest wavefronts; of equal ones the smallest. Both have the same extents and a rank
/// of 1 or more.
SharedLayout exchange_layout(const Layout& from, const Layout& to, int element_bytes);

}  // namespace tessera::layout
