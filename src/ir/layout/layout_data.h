#pragma once
// The contents of a Layout, for its own sources.

#include "ir/layout/f2.h"
#include "ir/layout/layout.h"

namespace tessera::layout {

struct LayoutData {
  int rank = 0;
  Point extents{};
  Point atom_extents{};
  std::array<std::vector<Point>, 3> bases;
  std::array<std::vector<Repeat>, 3> repeats;
  std::array<int, 3> sizes{1, 1, 1};

  /// Derived: coordinates within the atom are packed into one word, axis 0 lowest.
  std::array<int, max_rank> packed_shift{};
  std::array<uint32_t, 3> support{};  ///< packed bits that each dim owns
  std::array<F2Span, 3> span;         ///< of the packed bases
  uint64_t hash = 0;

  uint32_t pack(const Point& in_atom) const {
    uint32_t packed = 0;
    for (int axis = 0; axis < rank; ++axis) packed |= uint32_t(in_atom[axis]) << packed_shift[axis];
    return packed;
  }
};

/// Brings a spec into the normal form of layouts. Otherwise `why` gets the error.
std::optional<LayoutData> build_layout(LayoutSpec spec, std::string& why);

}  // namespace tessera::layout
