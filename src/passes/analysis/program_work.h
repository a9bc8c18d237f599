#pragma once
// How much longer programs of a kernel run than others.

#include "ir/core/op.h"

namespace tessera {

/// How something changes as a number grows.
enum class Trend : uint8_t { Even, Rising, Falling, Unknown };

/// How the trip count of a tile.for changes along an axis of its kernel's grid.
Trend trips_along(Op* loop, int64_t axis);
/// How the iterations of a tile.kernel's loops change along an axis of its grid.
Trend work_along(Op* kernel, int64_t axis);

}  // namespace tessera
