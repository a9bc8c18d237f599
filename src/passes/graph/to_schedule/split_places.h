#pragma once
// The places of extremes, as argmax and argmin find them, in parts.

#include <vector>

#include "ir/core/op.h"

namespace tessera {

/// Cuts reductions to the first place along a row at which an element equals the row's extreme:
///
///   m = max(x), min(where((x == m) | (x != x), place, n))
///
/// A part has an extreme of its own, and its first place. Of the parts whose extreme is that of the row the first one
/// has the row's place, which equals what the row as a whole gives: an element that equals the row's extreme equals
/// that of its part, and a part with a NaN has NaN as its extreme. So rows are read once for extreme and place, and
/// places in a part are numbers of 32 bits. Both reductions are replaced. Gives the reductions that are left.
std::vector<Op*> split_places(const std::vector<Op*>& reductions);

}  // namespace tessera
