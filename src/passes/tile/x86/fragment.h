#pragma once
// A fragment: a tile of constant extents as registers.
//
// The last axis lies along the lanes, all others are rows. A row of c elements is cut into parts of `chunk` lanes,
// the last of which has what remains; a part of one element is a scalar. All dtypes of a kernel share one chunk,
// so that elementwise ops pair parts whatever their dtypes are: the machine's lanes of 4-byte elements. (A part of
// 8-byte elements is then a group of two registers, one of 2-byte elements half a register.)

#include <cstdint>
#include <vector>

#include "ir/core/context.h"
#include "ir/core/op.h"

namespace tessera {

struct FragmentShape {
  std::vector<int64_t> extents;
  int64_t chunk = 1;

  /// Elements along the last axis; 1 for a tile of rank 0.
  int64_t columns() const { return extents.empty() ? 1 : extents.back(); }
  int64_t rows() const {
    int64_t n = 1;
    for (size_t i = 0; i + 1 < extents.size(); ++i) n *= extents[i];
    return n;
  }
  int64_t parts_per_row() const { return (columns() + chunk - 1) / chunk; }
  int64_t part_count() const { return rows() * parts_per_row(); }
  /// Lanes of part `part` of any row.
  int64_t lanes(int64_t part) const { return std::min(chunk, columns() - part * chunk); }
  /// Index along each leading axis of a row.
  std::vector<int64_t> row_index(int64_t row) const;
  /// The row of these leading indices; further ones are ignored.
  int64_t row_of(const std::vector<int64_t>& index) const;

  friend bool operator==(const FragmentShape&, const FragmentShape&) = default;
};

/// The parts, row by row.
struct Fragment {
  FragmentShape shape;
  std::vector<Value*> parts;

  Value* part(int64_t row, int64_t n) const { return parts[size_t(row * shape.parts_per_row() + n)]; }
};

/// The type of a part: a scalar for one lane, else a register.
Type part_type(Context& context, DType dtype, int64_t lanes);

}  // namespace tessera
