#pragma once
// How a scan along an axis runs on a distributed tile: from neighbours to ever larger groups.
//
// A coordinate along the axis is a number whose digits lie in the register, the lane and the warp
// index. The scan takes them from the lowest up. A step joins as many neighbouring groups of
// elements as its digit has values: each element takes in the totals of the groups before its own,
// and the total of all of them is that of the joined group. Within a step the order is that of the
// groups, so a result does not depend on timing.

#include <optional>
#include <vector>

#include "ir/layout/layout.h"

namespace tessera::layout {

struct ScanStep {
  InputDim dim;
  int32_t stride;  ///< elements from one group to the next
  int32_t count;   ///< groups that are joined
  int lane_mask = 0;  ///< the bit of the lane that is the digit
  /// Parts of the warp index whose mixed-radix number, the first fastest, is the digit. Warps that
  /// differ in these alone exchange totals through shared memory, at [warp][group of the thread's
  /// registers][lanes that hold groups of their own].
  std::vector<IndexField> warp_fields = {};
  int groups = 1;            ///< groups that a thread's registers have before this step
  uint32_t other_lanes = 0;  ///< the bits of the lane in which threads have groups of their own
};

struct Scan {
  std::vector<ScanStep> steps;
  /// The layout of the total; all lanes and warps that took part hold it.
  Layout total;
  /// The register of `total` for each register of the tile.
  std::vector<int> register_map;

  /// The most totals that warps exchange in one step; 0 where none do.
  int64_t exchanged() const;
};

/// The plan for a tile in `source`; nothing where an index bit moves along the axis and another
/// one, or by more than one bit of the coordinate.
std::optional<Scan> plan_scan(const Layout& source, int axis);

}  // namespace tessera::layout
