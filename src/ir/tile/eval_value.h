#pragma once
// What tile values are while a kernel is run: tiles and scalars are lists of elements, memory is a
// strided window on bytes that know whether they were written.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ir/layout/shared_layout.h"
#include "ir/numbers/elementwise.h"
#include "ir/text/window_shape.h"
#include "ir/tile/eval_order.h"

namespace tessera::tile {

struct EvalBarrier;
struct EvalChannel;
struct EvalMma;

/// A stretch of memory that windows are made on.
struct EvalMemory {
  std::byte* bytes = nullptr;
  size_t size = 0;
  std::vector<bool> written = {};                    ///< per byte; empty when all is
  std::shared_ptr<AccessHistory> history = nullptr;  ///< of shared memory
};

/// The value of an SSA value.
struct EvalValue {
  // Tiles and scalars: extents and elements in row-major order.
  std::vector<int64_t> dims;
  std::vector<Element> elements;
  /// The mma that gives the elements, until it is known to be done.
  std::shared_ptr<EvalMma> mma;
  // Tensors and views.
  EvalMemory* memory = nullptr;
  size_t base = 0;  ///< of the window's element 0, in bytes
  int64_t offset = 0;
  std::vector<int64_t> strides;
  /// Where the last axes lie; the axes before them are contiguous in steps of `slot_bytes`.
  const layout::SharedLayout* layout = nullptr;
  int64_t slot_bytes = 0;
  /// Of a view of windows: how it reads `image`, the memory's extents.
  std::shared_ptr<const WindowShape> windows;
  std::vector<int64_t> image;
  // What barriers and channels are in place of memory.
  EvalBarrier* barriers = nullptr;
  EvalChannel* channel = nullptr;

  int64_t index() const { return elements[0].i; }
};

/// Calls `visit(position, flat)` for every index below `dims`, the last axis fastest.
template <typename F>
void for_each_index(const std::vector<int64_t>& dims, F&& visit) {
  for (int64_t dim : dims) {
    if (dim <= 0) return;
  }
  std::vector<int64_t> position(dims.size());
  for (size_t flat = 0;; ++flat) {
    visit(position, flat);
    size_t axis = dims.size();
    while (axis > 0 && ++position[axis - 1] == dims[axis - 1]) position[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace tessera::tile
