#pragma once
// The axes of a kernel that computes a fusion group: iteration axes that every access walks through
// as if they were one become one, and each gets the extent of a program's tile.

#include <optional>
#include <vector>

#include "ir/numbers/machine.h"
#include "passes/analysis/fusion_groups.h"

namespace tessera {

/// A strided access of a group to a buffer; strides by iteration axis, or by kernel axis once
/// collapsed. One whose place is known when the kernel runs is further on by a number below `places`,
/// times `place_stride`.
struct BufferAccess {
  Value* base;
  std::vector<Dim> strides;
  Dim offset;
  Dim places = nullptr;
  Dim place_stride = nullptr;

  bool operator==(const BufferAccess&) const = default;
};

struct KernelSpace {
  std::vector<int> axis_of;  ///< kernel axis of each iteration axis
  std::vector<Dim> extents;  ///< in the caller's symbols
  std::vector<Dim> blocks;   ///< a constant, or the extent of an axis that is taken whole
  std::vector<bool> whole;   ///< no grid axis
  bool across = false;       ///< what is whole lies across the memory of the last program axis
  bool transposes = false;   ///< accesses run along different program axes

  size_t rank() const { return extents.size(); }
};

/// What a group loads from buffers, by iteration axis, each access once, in order of the program.
std::vector<BufferAccess> group_loads(const GraphReads& reads, const FusionGroup& group);
/// Where a group stores its outputs: one access for each output, or one for each part of a concat.
std::vector<BufferAccess> group_stores(DimTable& table, const FusionGroup& group);
/// The iteration axis along which a group updates a buffer element by element, each at a place of its
/// own; -1 where there is none.
int stepping_axis(const FusionGroup& group);
/// The same access by kernel axis.
BufferAccess collapse(DimTable& table, const KernelSpace& space, const FusionGroup& group,
                      const BufferAccess& access);

/// The space of a generated kernel: program axes first, then those that are taken whole. Tiles are of a size that the
/// machine likes (null: a CPU), or of that halved so often. Whole axes of unknown extent have at most `most`
/// elements; where there are none, the last program axis.
KernelSpace plan_space(const GraphReads& reads, const FusionGroup& group, const std::vector<BufferAccess>& loads,
                       const std::vector<BufferAccess>& stores, const Machine* machine, int64_t halvings,
                       std::optional<int64_t> most = std::nullopt);

/// True if the base of a read is computed in the group itself.
bool reads_group_value(const FusionGroup& group, const Read& read);
/// The op of a read that is made where it is read (full, iota, dim); null for a buffer or group
/// value.
Op* read_source(const GraphReads& reads, const Read& read);

}  // namespace tessera
