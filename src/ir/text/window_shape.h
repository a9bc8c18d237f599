#pragma once
// The attribute `windows` of views: memory read as the matrices of a convolution.
//
// Memory is [B, E1, …, En, C], an image of n axes with C channels. A window has size[a] elements along axis a of the
// image, `dilation[a]` apart, and begins every `step[a]` elements, `before[a]` elements before the image at first. Such
// a view is [taps, positions, C]: element [t, p, c] is channel c of element t of window p, taps and windows (of all
// images) counted row by row. What lies outside of the image is 0.

#include <optional>
#include <vector>

#include "ir/core/attribute.h"
#include "ir/core/type.h"

namespace tessera {

class Context;
class Op;
class OpVerifier;

struct WindowShape {
  std::vector<int64_t> size, step, dilation, before, after;  ///< for each axis of the image

  size_t axes() const { return size.size(); }
  /// Elements of a window.
  int64_t taps() const;
  /// How far the last element of a window is from its first.
  int64_t reach(size_t axis) const { return (size[axis] - 1) * dilation[axis]; }
};

Attr window_attr(Context& context, const WindowShape& shape);
/// Nothing where the attribute does not have the form that window_attr gives.
std::optional<WindowShape> read_windows(Attr attr);

/// Windows along each axis of an image in memory of those dims.
std::vector<Dim> window_positions(DimTable& table, const WindowShape& shape, const std::vector<Dim>& memory);
/// The view of memory, which is contiguous.
Type window_view(Context& context, const WindowShape& shape, Type memory);

/// The axes of an image, from the last to the first, that a copy engine has to step along to read windows: all but
/// those of one element of which every window is that one, and at least one.
std::vector<size_t> window_axes(const WindowShape& shape, const std::vector<Dim>& memory);
/// Whether a tensor map can say where windows begin and how far they reach.
bool fits_tensor_map(const WindowShape& shape, const std::vector<Dim>& memory);

/// Reports an attribute `windows` of another form, or one that does not give the view of the memory.
void verify_windows(Context& context, Attr windows, Type memory, Type view, OpVerifier& verifier);

}  // namespace tessera
