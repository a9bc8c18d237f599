#pragma once
// Columns of a tile, computed where they are stored.
//
// The epilogue of an MMA is elementwise: a bias and a residual are loaded, a function is applied,
// the result is rounded. Done for the whole tile at once, that takes more registers than the
// accumulator itself. Done column by column it takes a few.

#include <map>

#include "ir/core/builder.h"
#include "ir/layout/layout.h"

namespace tessera {

class ColumnParts {
 public:
  /// Columns of `part`'s extents and layout.
  ColumnParts(Builder& builder, layout::Layout part) : builder_(builder), part_(std::move(part)) {}

  /// The columns of the tile [rows, columns] from `first` on, computed where the builder stands from loads, elementwise
  /// ops and broadcasts of the block; of what is none of these a tile.slice.
  Value* of(Value* tile, int64_t first);

 private:
  Value* compute(Value* tile);
  Value* compute_load(Op* load);
  Value* slice(Value* tile);
  Type part_type(Type tile);
  bool runs_along_columns(Type tile) const;

  Builder& builder_;
  layout::Layout part_;
  int64_t first_ = 0;
  std::map<Value*, Value*> made_;
};

/// Erases the op, and its operands if they have no other use.
void erase_with_operands(Op* op);

}  // namespace tessera
