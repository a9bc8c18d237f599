// Epilogues: elementwise consumers of an anchor's result, folded one after the other while each is
// the only reader of the one before, together with the elementwise ops that only they read (a bias
// under its cast).

#include <algorithm>
#include <span>

#include "ir/graph/ops.h"
#include "passes/analysis/fusion_builder.h"

namespace tessera {

namespace {

bool is_elementwise(Op* op) {
  return op->info().elementwise != ElementwiseKind::None;
}

/// Depth of what is folded beside the chain.
constexpr size_t max_side_ops = 64;

}  // namespace

void FusionBuilder::grow_epilogue(Op* anchor) {
  FusionGroup group;
  group.anchor = anchor;
  int number = int(groups_.size());
  claim(anchor, number);
  if (anchor->result_count() == 1) {
    Value* tail = anchor->result();
    AxisMap map;
    for (Dim extent : tail->type()->dims) {
      map.push_back(extent->is_constant(1) ? -1 : int(group.extents.size()));
      if (!extent->is_constant(1)) group.extents.push_back(extent);
    }
    std::vector<int> result_axes;
    std::vector<int> kernel_axes = reads_.form(anchor).result_axes;
    for (size_t i = 0; i < map.size(); ++i) {
      if (map[i] >= 0) result_axes.push_back(kernel_axes[i]);
    }
    group.whole.resize(group.extents.size());
    group.maps[tail] = map;
    // What several ops read is stored where it is narrowest, if they can do again what follows: they read less.
    size_t kept = 0, narrowest = byte_size(tail->type()->dtype);
    bool is_widened_again = false;
    while (true) {
      const std::vector<ReadSite>& sites = reads_.sites(tail);
      Op* next = sites.empty() ? nullptr : sites[0].op;
      // One op may read it twice (x * x).
      bool only =
          std::all_of(sites.begin(), sites.end(), [&](const ReadSite& s) { return s.op == next; });
      is_widened_again = !only && std::ranges::all_of(sites, [&](const ReadSite& s) { return is_fusible(s.op); });
      if (!next || !only || group_of(next) >= 0 || !is_elementwise(next)) break;
      if (!fold_consumer(group, result_axes, next, tail)) break;
      tail = next->result();
      if (byte_size(tail->type()->dtype) > narrowest) continue;
      narrowest = byte_size(tail->type()->dtype);
      kept = group.members.size();
    }
    if (is_widened_again) {
      for (Op* op : std::span(group.members).subspan(kept)) group.maps.erase(op->result());
      group.members.resize(kept);
    }
    for (Op* op : group.members) claim(op, number);
  }
  groups_.push_back(std::move(group));
}

size_t FusionBuilder::weight_with(const FusionGroup& group, const std::map<Op*, AxisMap>& side) {
  size_t sum = weight_of(group.anchor);
  for (Op* member : group.members) sum += weight_of(member);
  for (const auto& [op, map] : side) sum += weight_of(op);
  return sum;
}

bool FusionBuilder::fold_consumer(FusionGroup& group, const std::vector<int>& result_axes, Op* op,
                                  Value* tail) {
  const std::vector<Dim>& dims = op->result()->type()->dims;
  AxisMap map;
  size_t axis = 0;
  for (Dim extent : dims) map.push_back(extent->is_constant(1) ? -1 : int(axis++));
  if (axis != group.extents.size()) return false;
  std::map<Op*, AxisMap> side = {{op, map}};
  if (weight_with(group, side) > most_in_epilogues_) return false;
  if (!collect_side(group, result_axes, op, map, tail, side)) return false;
  for (const auto& [member, member_map] : side) {
    group.maps[member->result()] = member_map;
    group.members.push_back(member);
  }
  return true;
}

bool FusionBuilder::collect_side(const FusionGroup& group, const std::vector<int>& result_axes,
                                 Op* op, const AxisMap& map, Value* tail,
                                 std::map<Op*, AxisMap>& side) {
  for (unsigned i = 0; i < reads_.operand_count(op); ++i) {
    const Read& read = reads_.read(op, i);
    if (read.base == tail) {
      if (!read.relabels || base_map(read, map) != group.maps.at(tail)) return false;
      continue;
    }
    Op* def = read.base->def();
    const std::vector<ReadSite>& sites = reads_.sites(read.base);
    bool foldable = def && is_inside(def) && read.relabels && is_elementwise(def) && group_of(def) < 0 &&
                    sites.size() == 1 && !side.count(def) && side.size() < max_side_ops &&
                    weight_with(group, side) + weight_of(def) <= most_in_epilogues_;
    if (foldable) {
      std::map<Op*, AxisMap> extended = side;
      AxisMap def_map = base_map(read, map);
      extended[def] = def_map;
      if (collect_side(group, result_axes, def, def_map, tail, extended)) {
        side = std::move(extended);
        continue;
      }
    }
    if (!is_loadable(group, result_axes, read, map)) return false;
  }
  return true;
}

bool FusionBuilder::is_loadable(const FusionGroup& group, const std::vector<int>& result_axes,
                                const Read& read, const AxisMap& map) const {
  std::vector<Dim> strides = iteration_strides(table_, read, map, group.extents.size());
  Op* def = read.base->def();
  bool is_source = def && graph_role(def) == GraphRole::Source && !reads_.forced(read.base);
  if (is_source && graph::kind_of(def) == graph::OpKind::Iota) {
    // A coordinate: one unit stride, which must be an axis of its own in the kernel.
    AxisMap axes = base_map(read, map);
    int axis = axes[size_t(def->attr(graph::attr::Iota::axis))];
    if (axis < 0) return true;
    return std::count(result_axes.begin(), result_axes.end(), result_axes[size_t(axis)]) == 1;
  }
  if (is_source) return true;
  size_t kernel_axes = result_axes.empty() ? 0 : size_t(result_axes.back()) + 1;
  return collapse_strides(table_, group.extents, strides, result_axes, kernel_axes).has_value();
}

}  // namespace tessera
