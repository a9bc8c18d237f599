#pragma once
// What an op reads or writes of memory: a tile at an index.

#include <optional>
#include <vector>

#include "ir/core/op.h"

namespace tessera::frontend {

/// A place of a memory that is accessed: index and extent of the tile along each of its last dimensions. An index may
/// be null where rows are given by number.
struct Access {
  Value* memory;
  std::vector<Value*> index;
  std::vector<Dim> tile;

  /// The dimension of the memory that is the first here.
  size_t first() const { return memory->type()->rank() - tile.size(); }
  Dim extent(size_t i) const { return memory->type()->dims[first() + i]; }
};

std::optional<Access> access_of(Op* op);

/// Whether a value is computed of another.
bool depends_on(Value* value, const Value* on, size_t depth = 8);

/// The number that an index is wherever it stands; nothing for others.
std::optional<int64_t> fixed_index(const Value* index);

}  // namespace tessera::frontend
