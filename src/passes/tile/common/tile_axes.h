#pragma once
// The axes of a program: tile axes that an element's index runs through together.
//
// Two axes of tiles belong to one axis of the program when some op makes element i along the one
// from element i along the other: elementwise ops, broadcasts (but not the axis they repeat),
// reshapes, transposes, dots, carried values of a loop. Extents of 1 belong to none. What
// remains is a partition, kept by union-find; a value is then a function of program axes, and where
// an axis stands in it does not matter.

#include <set>
#include <vector>

#include "ir/tile/ops.h"

namespace tessera {

/// Axis `axis` of an op's operand number `operand` is axis `place` of `to`, a result of the op or
/// of the op around it; a place behind all axes is the one that the op combines.
struct AxisLink {
  unsigned operand;
  size_t axis;
  Value* to;
  size_t place;
};

/// How an op joins axes. The axes of loop-carried values are those of the loop's results from the
/// start.
std::vector<AxisLink> axis_links(Op* op);
/// The loop-carried value, at the start of an iteration, that becomes result number `i`.
inline Value* carried(Op* loop, unsigned i) { return loop->region()->front()->arg(i + 1); }

class TileAxes {
 public:
  explicit TileAxes(Op* kernel);

  /// The program axis of axis `i` of a tile; -1 for an extent of 1.
  int of(Value* tile, size_t i) const;
  /// All of them, in order.
  std::vector<int> of(Value* tile) const;
  /// The extent of a program axis.
  Dim extent(int axis) const { return extents_[size_t(axis)]; }
  size_t count() const { return extents_.size(); }
  /// A value in which one program axis stands twice (the diagonal of a square would be meant); null
  /// if there is none.
  Value* repeated() const { return repeated_; }

 private:
  void number(Op* op);
  void number(Value* value);
  void close(Value* tile);
  int find(int node) const;

  std::vector<int> first_;           ///< per value: its first node; -1 when it is no tile
  mutable std::vector<int> parent_;  ///< per node
  std::vector<int> axis_;            ///< per node that is a root: its program axis
  std::vector<Dim> extents_;
  Value* repeated_ = nullptr;
};

/// In a kernel with dots, gives each use of a constant, a splat or a coordinate, and of broadcasts
/// and reshapes of them, a copy of its own: a value that is used along two axes of equal extent
/// would make them one. Where an axis is repeated, this is done in any kernel, and also for values
/// computed from coordinates or from a loaded line.
void separate_axes(Op* kernel);

/// Where axes are still repeated, brings values to some of their readers through memory of the
/// program, or computes them again, so that no axis is repeated: a loaded value has axes of its
/// own. Without such memory, as on a GPU, repeated axes of values that cannot be computed again may
/// remain.
void detour_repeated(Op* kernel, bool has_memory);

/// Replaces branches that yield tiles and have no effects by selects.
void branches_to_selects(Op* kernel);

/// The limit of axis `i` in a slot of limits, or null where all of the extent is there.
Value* tile_limit(Op* op, unsigned slot, size_t i, Dim extent);

/// Whether elements of a tile that follow each other along its axis `i` lie next to each other in memory.
bool is_contiguous_along(Type memory, Type tile, size_t i);

}  // namespace tessera
