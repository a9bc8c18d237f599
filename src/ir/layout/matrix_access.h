#pragma once
// Moving tiles of 16-bit elements between shared memory and registers by matrices of 8 x 8 (ldmatrix, stmatrix).

#include <optional>
#include <vector>

#include "ir/layout/layout.h"
#include "ir/layout/shared_layout.h"

namespace tessera::layout {

/// One access moves `count` (1, 2 or 4) matrices of 8 rows of 16 bytes. Lane 8 j + r names row r of matrix j; lane l
/// holds elements 2 (l % 4) and the next of row l / 4, or, transposed, of column l / 4.
struct MatrixAccess {
  /// Rows as vectors of 8 elements: registers 8 i .. 8 i + 7 are, in each lane, the row that it names in access i.
  Layout rows;
  bool transpose;
  int count;
  /// For each access the registers of the tile's layout that it moves, two of each matrix.
  std::vector<std::vector<int>> registers;
};

/// The accesses that move a tile in this layout to or from this memory; no value where lanes do not hold the pieces of
/// matrices, or rows of 8 elements are no 16 bytes of memory.
std::optional<MatrixAccess> matrix_access(const Layout& layout, const SharedLayout& shared);

}  // namespace tessera::layout
