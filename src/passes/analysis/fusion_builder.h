#pragma once
// State shared by the parts of group_fusions.

#include "passes/analysis/fusion_groups.h"

namespace tessera {

class FusionBuilder {
 public:
  FusionBuilder(const GraphReads& reads, size_t most_in_epilogues)
      : reads_(reads), table_(reads.dims()), most_in_epilogues_(most_in_epilogues) {}
  std::vector<FusionGroup> run();

 private:
  // Groups of anchors (fusion_epilogue.cc).
  void grow_epilogue(Op* anchor);
  bool fold_consumer(FusionGroup& group, const std::vector<int>& result_axes, Op* op,
                     Value* tail);
  /// Of an anchor's group with those ops.
  static size_t weight_with(const FusionGroup& group, const std::map<Op*, AxisMap>& side);
  bool collect_side(const FusionGroup& group, const std::vector<int>& result_axes, Op* op,
                    const AxisMap& map, Value* tail, std::map<Op*, AxisMap>& side);
  bool is_loadable(const FusionGroup& group, const std::vector<int>& result_axes, const Read& read,
                   const AxisMap& map) const;

  // Generated groups (fusion_generated.cc).
  void grow_generated(Op* root);
  void start(FusionGroup& group, Op* root);
  void start_concat(FusionGroup& group, Op* root);
  bool try_join(int number, Op* op);
  std::optional<AxisMap> agreed_map(const FusionGroup& group, Value* value) const;
  bool join_reduce(FusionGroup& group, Op* op, const AxisMap& map);
  bool stays_parallel(const FusionGroup& group, const std::vector<int>& becoming_whole) const;
  bool covers_programs(const FusionGroup& group, const AxisMap& map) const;
  bool makes_cycle(const FusionGroup& group, Op* op) const;

  // All groups.
  int group_of(Op* op) const;
  void claim(Op* op, int group);
  /// About how many instructions an element of the group takes.
  size_t weight(int group) const { return weights_.at(group); }
  static size_t weight_of(Op* op);
  void find_outputs();
  std::vector<FusionGroup> in_order();
  /// Whether an op stands in the block that is grouped: what stands around it has been computed.
  bool is_inside(Op* op) const;
  bool is_fusible(Op* op) const;

  const GraphReads& reads_;
  DimTable& table_;
  size_t most_in_epilogues_;  ///< weight of a group with an anchor
  std::vector<FusionGroup> groups_;
  std::map<Op*, int> group_of_;
  std::map<int, size_t> weights_;  ///< of groups
  std::map<int, size_t> stores_;   ///< of generated groups, beside that of the root
};

/// About how many instructions an element of a group may take, so that kernels stay of bounded size and compile in
/// bounded time; random numbers take more than a hundred.
inline constexpr size_t max_group_weight = 1024;
/// The same of an anchor's group where a thread holds all its elements of the result, a hundred and more, while it
/// computes: what is longer is a kernel of its own, whose threads hold a few.
inline constexpr size_t max_epilogue_weight = 96;

}  // namespace tessera
