#pragma once
// How a reduction along an axis runs on a distributed tile: registers, then lanes, then warps.
//
// Every step has a fixed order, so a result does not depend on timing. Elements that the source
// holds several times are combined once.

#include <vector>

#include "ir/layout/layout.h"

namespace tessera::layout {

struct Reduction {
  /// Where results are; the axis has extent 1 or is gone. All lanes and warps that took part hold
  /// the result.
  Layout result;
  /// Step 1: per register of `result`, the source registers to combine, in this order.
  std::vector<std::vector<int>> registers;
  /// Step 2: butterfly steps; in each, a lane combines with lane ^ mask.
  std::vector<int> lane_masks;
  /// Step 3: fields of the warp index whose mixed-radix number, first field fastest, is the slot of
  /// a warp's partial result. Warps that differ in these alone combine.
  std::vector<IndexField> warp_fields;

  /// Number of partial results of an element after step 2. Above 1, canonical owners of the source
  /// warps and of the result's lanes store theirs to [slot][element of the result] in shared
  /// memory, and after a barrier every thread combines slots 0, 1, … of its elements.
  int slot_count() const;
  int slot_of(int warp) const;
};

/// The plan of a reduction of a tile in `source` along `axis`.
Reduction plan_reduction(const Layout& source, int axis, bool keep);

}  // namespace tessera::layout
