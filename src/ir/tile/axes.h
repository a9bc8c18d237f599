#pragma once

#include <optional>
#include <vector>

#include "ir/core/op.h"

namespace tessera::tile {

/// Of an op whose result is another view of a tile (broadcast, reshape, transpose, slice, the rows
/// of a gather): the axis of the result that each axis of the tile becomes, -1 where it has one
/// index. Nothing for other ops.
std::optional<std::vector<int>> axes_in_result(Op* op);

}  // namespace tessera::tile
