#pragma once
// Calls whose kernels get smaller tiles than the machine likes, for what they compute does not fit its registers.
//
// A module notes them in its attribute `halvings`, so that its lowering is a function of the module alone.

#include <vector>

#include "ir/core/module.h"

namespace tessera {

/// How often the tiles of a call's kernels may be halved.
inline constexpr int64_t most_halvings = 3;

/// How often the tiles of that call's kernels are halved.
int64_t tile_halvings(const Module& module, Loc call);
/// What `module` notes with one halving more for each of the calls; null where none of them may have more.
Attr with_more_halvings(const Module& module, const std::vector<Loc>& calls);

}  // namespace tessera
