#pragma once
// Which ops of a graph function become one kernel.
//
// A group is an anchor (an instance of a library kernel) with the elementwise ops that are folded
// into it, or a generated kernel: elementwise ops and reductions over one space of iteration axes.
// A generated group grows from its last op towards the producers, latest first:
// A group that ends in a gir.update_slice iterates over the update; what it stores goes to a place in
// the buffer that is known when the kernel runs.
//  - a producer joins when everything that reads it is in the group and reads it at the same
//  coordinates;
//  - one that others read as well joins as a further output if it has all program axes and no path
//  leads from
//    the group out and back in;
//  - a reduction joins when each program has the whole of the reduced axes and its result varies
//  along all
//    others, so that nothing is reduced twice.
// A value that a group computes for fewer axes than it iterates over (a bias under a cast) is
// computed once per program, which is a small part of the program's work.

#include <map>
#include <vector>

#include "ir/numbers/machine.h"
#include "passes/analysis/graph_reads.h"

namespace tessera {

/// For each axis of a value the iteration axis along which it varies, -1 for an axis of extent 1.
using AxisMap = std::vector<int>;

struct FusionGroup {
  Op* anchor = nullptr;            ///< null for a generated kernel
  Op* host = nullptr;              ///< a step of the host program, alone in its group
  std::vector<Op*> members;        ///< in order of the program; without the anchor
  std::vector<Value*> outputs;     ///< what other groups or the function's results read
  std::vector<Dim> extents;        ///< of the iteration axes
  std::vector<bool> whole;         ///< axes that a program has the whole of: reduced ones
  std::map<Value*, AxisMap> maps;  ///< of the results of anchor and members
  std::map<Op*, std::vector<int>>
      reduced;  ///< the axes that each reduction combines, but for extents of 1
  /// A group that ends in a gir.concat: the iteration axes of each part. Extents along the axis
  /// differ, so each part has an axis of its own unless all are equal.
  std::vector<AxisMap> parts;
};

/// The ops of a group, in no order.
std::vector<Op*> ops_of(const FusionGroup& group);
/// The gir.update_slice that a group ends in; null for other groups.
Op* update_of(const FusionGroup& group);
/// The iteration axes of what a member reads: by operand axis for a reduction, by result axis
/// otherwise.
AxisMap operand_map(const FusionGroup& group, Op* member, unsigned position);
/// The iteration axes of the base of a read that only relabels axes.
AxisMap base_map(const Read& read, const AxisMap& reader);
/// The stride along each iteration axis of a read by a member with that operand map.
std::vector<Dim> iteration_strides(DimTable& table, const Read& read, const AxisMap& reader,
                                   size_t axes);

/// Values that a kernel stores at most, parts of a concat among them: who orders the accesses of a block compares each
/// of them with the stores before it.
inline constexpr size_t max_group_stores = 128;

/// Groups in an order in which each one's inputs are computed before it. Epilogues are short for a GPU, whose threads
/// hold their elements of whole tiles.
std::vector<FusionGroup> group_fusions(const GraphReads& reads, const Machine* machine);

}  // namespace tessera
