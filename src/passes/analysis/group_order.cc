#include "passes/analysis/group_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/core/dim_facts.h"
#include "ir/graph/ops.h"

namespace tessera {

namespace {

/// Places groups from the last to the first.
class LateOrder {
 public:
  LateOrder(const std::vector<FusionGroup>& groups, const GraphReads& reads)
      : groups_(groups), reads_(reads), places_(groups.size()), waits_for_(groups.size()) {
    for (size_t g = 0; g < groups.size(); ++g) {
      for (Op* op : ops_of(groups[g])) group_of_[op] = g;
    }
  }

  std::vector<size_t> run() {
    for (size_t g = groups_.size(); g-- > 0;) place(g);
    return {placed_.rbegin(), placed_.rend()};
  }

 private:
  void place(size_t g) {
    size_t at = placed_.size();
    if (may_wait(g)) {
      size_t reader = first_reader(g);
      if (saves_memory(g, reader) && !is_overwritten(g, reader)) {
        waits_for_[g] = placed_[reader];
        // Those that wait for one group keep their order.
        for (at = reader + 1; at < placed_.size() && waits_for_[placed_[at]] == placed_[reader];) ++at;
      }
    }
    placed_.insert(placed_.begin() + ptrdiff_t(at), g);
    for (; at < placed_.size(); ++at) places_[placed_[at]] = at;
  }

  bool may_wait(size_t g) const {
    const FusionGroup& group = groups_[g];
    if (group.host || update_of(group) || group.outputs.empty()) return false;
    for (Op* op : ops_of(group)) {
      if (!op->is_pure()) return false;
    }
    return std::ranges::none_of(group.outputs, [&](Value* output) { return is_returned(output); });
  }

  /// The place of the group that reads first what a group gives; places count from the end.
  size_t first_reader(size_t g) const {
    size_t first = 0;
    for (Value* output : groups_[g].outputs) {
      for (const ReadSite& site : reads_.sites(output)) {
        size_t reader = group_of_.at(site.op);
        if (reader != g) first = std::max(first, places_[reader]);
      }
    }
    return first;
  }

  bool saves_memory(size_t g, size_t reader) const {
    DimTable& dims = reads_.dims();
    Dim longer = dims.constant(0), shorter = dims.constant(0);
    std::set<Value*> seen;
    for (Op* op : ops_of(groups_[g])) {
      for (unsigned i = 0; i < reads_.operand_count(op); ++i) {
        Value* base = reads_.read(op, i).base;
        bool is_made = base->def() && group_of_.count(base->def());
        if (!is_made || group_of_.at(base->def()) == g || !seen.insert(base).second) continue;
        if (!is_there_anyway(base, g, reader)) longer = dims.add(longer, bits_of(base));
      }
    }
    for (Value* output : groups_[g].outputs) shorter = dims.add(shorter, bits_of(output));
    return decide(dims, {Relation::LessEqual, longer, shorter}) == true;
  }

  /// Whether a group before that reader may write over what g reads, which would have to be copied for g: it updates
  /// the memory, or gives a result that may lie there.
  bool is_overwritten(size_t g, size_t reader) const {
    for (Op* op : ops_of(groups_[g])) {
      for (unsigned i = 0; i < reads_.operand_count(op); ++i) {
        for (const ReadSite& site : reads_.sites(reads_.read(op, i).base)) {
          if (site.op == reads_.terminator()) continue;
          size_t other = group_of_.at(site.op);
          if (other > g && places_[other] > reader && may_write(groups_[other])) return true;
        }
      }
    }
    return false;
  }

  bool may_write(const FusionGroup& group) const {
    if (group.host) return !group.host->is(graph::info(graph::OpKind::Barrier));
    if (update_of(group) || (group.anchor && group.anchor->is(graph::info(graph::OpKind::KernelCall)))) return true;
    return std::ranges::any_of(group.outputs, [&](Value* output) { return is_returned(output); });
  }

  bool is_returned(Value* value) const {
    return std::ranges::any_of(reads_.sites(value),
                               [&](const ReadSite& site) { return site.op == reads_.terminator(); });
  }

  /// Whether another group reads a value when that reader runs, or later.
  bool is_there_anyway(Value* value, size_t g, size_t reader) const {
    return std::ranges::any_of(reads_.sites(value), [&](const ReadSite& site) {
      if (site.op == reads_.terminator()) return true;
      size_t other = group_of_.at(site.op);
      return other > g && places_[other] <= reader;
    });
  }

  Dim bits_of(Value* value) const {
    DimTable& dims = reads_.dims();
    Dim bits = dims.constant(int64_t(dtype_info(value->type()->dtype).bits));
    for (Dim extent : value->type()->dims) bits = dims.mul(bits, extent);
    return bits;
  }

  const std::vector<FusionGroup>& groups_;
  const GraphReads& reads_;
  std::map<Op*, size_t> group_of_;
  std::vector<size_t> placed_;  ///< from the last to the first
  std::vector<size_t> places_;  ///< of groups, in that
  std::vector<std::optional<size_t>> waits_for_;  ///< the group that a group runs right before
};

}  // namespace

std::vector<FusionGroup> late_order(std::vector<FusionGroup> groups, const GraphReads& reads) {
  std::vector<FusionGroup> ordered;
  for (size_t g : LateOrder(groups, reads).run()) ordered.push_back(std::move(groups[g]));
  return ordered;
}

}  // namespace tessera
