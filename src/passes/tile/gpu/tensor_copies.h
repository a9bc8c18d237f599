#pragma once
// Which accesses of global memory the copy engine can do: boxes of a tensor, clipped at its edges.

#include "ir/layout/shared_layout.h"
#include "ir/numbers/machine.h"
#include "ir/text/window_shape.h"
#include "ir/tile/ops.h"
#include "passes/analysis/divisibility.h"

namespace tessera {

/// The layout in which a tile of rank 2 passes through shared memory: along the memory's contiguous axis (the last
/// one where there is none), swizzled as widely as that extent allows. Nothing when the extents have no layout.
std::optional<layout::SharedLayout> staged_layout(Context& context, Type memory, Type tile);

/// The same with elements contiguous along that axis of the tile.
std::optional<layout::SharedLayout> staged_along(Type tile, int axis);

/// A number that has to be a multiple of another one.
struct NeededMultiple {
  Dim of;
  int64_t by;
};
/// The multiples that strides and start must have so that the copy engine can move tiles between
/// memory (a tensor or a view) and shared memory of that layout; nothing when it cannot.
std::optional<std::vector<NeededMultiple>> tensor_copy_needs(Context& context, Type memory, Type tile,
                                                             const layout::SharedLayout& shared);

/// As tensor_copy_needs, of a tile of [windows, channels] of an image (window_shape.h), which the engine reads window
/// by window, each shifted by a tap.
std::optional<std::vector<NeededMultiple>> window_copy_needs(const WindowShape& shape, Type image, Type tile,
                                                             const layout::SharedLayout& shared);

/// True if the copy engine can move the tile of that layout between global memory (a parameter or a view) and shared
/// memory: one contiguous axis, rows at multiples of 16 bytes, edges only where the memory ends.
bool is_tensor_copy(Op* access, const layout::SharedLayout& shared, const Divisibility& known);

/// The view in shared space of a ring of `slots` tiles (or of one tile, without that axis, for 0).
Type shared_type(Context& context, Type tile, const layout::SharedLayout& layout, int64_t slots);

/// The memory without those of its first axes that are the same at each of their indices: a bias is for each head.
/// `rank` axes at its end stay.
Type without_repeated_axes(Context& context, Type memory, size_t rank);

}  // namespace tessera
