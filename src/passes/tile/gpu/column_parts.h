#pragma once
// Columns of a tile, computed where they are stored.
//
// The epilogue of an MMA is elementwise: a bias and a residual are loaded, a function is applied,
// the result is rounded. Done for the whole tile at once, that takes more registers than the
// accumulator itself. Done column by column it takes a few.

#include <functional>
#include <map>

#include "ir/core/builder.h"
#include "ir/layout/layout.h"

namespace tessera {

bool is_global(Value* memory);
/// Whether the op computes each element of its result by itself.
bool is_computed(Op* op);

/// Bytes of a row of a part in shared memory, which is a swizzled line, and buffers that parts take in turns: one is
/// read while the next one is written.
inline constexpr int64_t part_line = 128, part_buffers = 2;

class ColumnParts {
 public:
  /// Gives the columns from `first` on of a tile that is not computed here.
  using Source = std::function<Value*(Value* tile, int64_t first)>;

  /// Columns of `part`'s extents and layout. Without a source, a tile.slice takes its place.
  ColumnParts(Builder& builder, layout::Layout part, Source source = {})
      : builder_(builder), part_(std::move(part)), source_(std::move(source)) {}

  /// The columns of the tile [rows, columns] from `first` on, computed where the builder stands from loads, elementwise
  /// ops and broadcasts of the block; of what is none of these what the source gives.
  Value* of(Value* tile, int64_t first);

 private:
  Value* compute(Value* tile);
  Value* compute_load(Op* load, Type part);
  Value* compute_line(Op* load, Type row);
  Value* slice(Value* tile);
  Type part_type(Type tile);
  bool runs_along_columns(Type tile) const;

  Builder& builder_;
  layout::Layout part_;
  Source source_;
  int64_t first_ = 0;
  std::map<Value*, Value*> made_;
};

/// The load of a line of global memory that the op makes a tile of one row; null where it does something else.
Op* loaded_line(Op* op);

/// Erases the op, and its operands if they have no other use.
void erase_with_operands(Op* op);

}  // namespace tessera
