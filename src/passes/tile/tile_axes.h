#pragma once
// The axes of a program: tile axes that an element's index runs through together.
//
// Two axes of tiles belong to one axis of the program when some op makes element i along the one
// from element i along the other: elementwise ops, broadcasts (but not the axis they repeat),
// reshapes, transposes, products, carried values of a loop. Extents of 1 belong to none. What
// remains is a partition, kept by union-find; a value is then a function of program axes, and where
// an axis stands in it does not matter.

#include <set>
#include <vector>

#include "ir/tile/ops.h"

namespace tessera {

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
  /// How many such values there are.
  size_t repeats() const { return repeats_; }

 private:
  void number(Value* tile);
  void relate(Op* op);
  void join(Value* a, size_t i, Value* b, size_t j);
  void join_all(Value* a, Value* b);
  void join_reshaped(Value* a, Value* b);
  void close(Value* tile);
  int find(int node) const;

  std::vector<int> first_;           ///< per value: its first node; -1 when it is no tile
  mutable std::vector<int> parent_;  ///< per node
  std::vector<int> axis_;            ///< per node that is a root: its program axis
  std::vector<Dim> extents_;
  Value* repeated_ = nullptr;
  size_t repeats_ = 0;
};

/// Gives each use of a constant, a splat or a coordinate, and of what broadcasts and reshapes make of them, a copy of
/// its own, in a kernel with products: one that is used along two axes of equal extent would make them one. Where an
/// axis is repeated, this is done in any kernel, and also for what is computed of coordinates or of a loaded line.
void separate_axes(Op* kernel);

/// Where axes are still repeated, brings values to products, and to what exchanges their axes, through memory of the
/// program, or loads them once more: the axes of what is loaded there are its own.
void detour_repeated(Op* kernel);

/// The limit of axis `i` in a slot of limits, or null where all of the extent is there.
Value* tile_limit(Op* op, unsigned slot, size_t i, Dim extent);

}  // namespace tessera
