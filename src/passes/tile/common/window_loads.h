#pragma once
// Loads of windows (window_shape.h) that nothing but threads can do.

#include <vector>

#include "ir/core/builder.h"

namespace tessera {

/// The view of windows that this memory is; null where it is none.
Op* windows_of(Value* memory);

/// What a load of windows gives, a tile of [windows, channels], also with an axis of one tap before these: rows of the
/// image by number, and 0 for those outside of it. Offsets and limits as for tile.load.
Value* gather_windows(Builder& builder, Value* windows, const std::vector<Value*>& offsets,
                      const std::vector<Value*>& limits, Type tile);

}  // namespace tessera
