#pragma once
// Writes the members of a fusion group as tile ops. All tiles have the kernel's rank: the block
// along the axes along which a value varies, 1 along the others.

#include <map>
#include <vector>

#include "ir/core/builder.h"
#include "passes/graph/to_schedule/kernel_space.h"

namespace tessera {

/// Where a collapsed access finds its elements: memory whose axes are the kernel axes `axes`.
struct TileMemory {
  Value* memory;
  std::vector<int> axes;  ///< in ascending order; empty for memory of one element, of rank 1
  bool placed = false;    ///< before them stands an axis of places
};

class TileEmitter {
 public:
  /// `blocks` and `indices` by kernel axis, in the kernel's own symbols; an index is null for an
  /// axis that is taken whole.
  TileEmitter(Builder& builder, const GraphReads& reads, const FusionGroup& group,
              const KernelSpace& space, std::vector<Dim> blocks, std::vector<Value*> indices);

  /// Where loads of that access (by kernel axis) go.
  void set_memory(const BufferAccess& access, TileMemory memory) {
    memories_.emplace_back(access, memory);
  }
  /// A tile for the anchor's result.
  void set_tile(Value* value, Value* tile) { tiles_[value] = tile; }
  /// Writes a member other than a concat.
  void emit(Op* member);
  /// The tile of operand `position` of a member, with the extents of the axes it is read along.
  Value* operand(Op* member, unsigned position);
  Value* tile(Value* value) const { return tiles_.at(value); }
  /// The tile of a part of a concat, varying along all axes of the part.
  Value* part(Op* concat, unsigned position);
  void store(Value* tile, const TileMemory& memory);
  /// Stores what a gir.update_slice writes.
  void store_update(Op* update, const TileMemory& memory);

 private:
  Value* elementwise(Op* member, std::vector<Dim> shape);
  Value* clamped(Value* tile, DType dtype);
  template <typename Number>
  Value* bounded(Value* tile, ElementwiseKind kind, Number bound);
  Value* source(Op* op, const AxisMap& map, const std::vector<Dim>& shape);
  Value* coordinate(Op* iota, const AxisMap& map);
  Value* load(const BufferAccess& access);
  Value* reduce(Op* member);
  Value* widen(Value* tile, const std::vector<Dim>& shape);
  Value* reshape(Value* tile, std::vector<Dim> shape);
  Value* index(int axis);
  Value* place(Op* update);
  std::vector<Dim> shape_of(const AxisMap& map) const;
  std::vector<Dim> memory_shape(const TileMemory& memory) const;
  Type tile_type(const std::vector<Dim>& shape, DType dtype) { return context_.tile(shape, dtype); }

  Builder& builder_;
  Context& context_;
  const GraphReads& reads_;
  const FusionGroup& group_;
  const KernelSpace& space_;
  std::vector<Dim> blocks_;
  std::vector<Value*> indices_;
  Value* zero_ = nullptr;
  std::vector<std::pair<BufferAccess, TileMemory>> memories_;
  std::map<Value*, Value*> tiles_;
  std::map<size_t, Value*> loaded_;  ///< by number in memories_
  std::map<std::pair<Value*, DType>, Value*> casts_;
  std::map<std::pair<Value*, Type>, Value*> widened_;
};

}  // namespace tessera
