// Generated groups: a root and the producers that can be computed beside it, in one pass over the
// root's space.

#include <algorithm>
#include <queue>
#include <set>
#include <unordered_set>

#include "ir/core/common_attributes.h"
#include "ir/graph/ops.h"
#include "passes/analysis/fusion_builder.h"

namespace tessera {

namespace {

using graph::OpKind;

/// Elements of a space that one program may as well walk alone.
constexpr int64_t small_space = 65536;

bool is_reduce(Op* op) {
  return graph::kind_of(op) == OpKind::Reduce;
}
bool is_concat(Op* op) {
  return graph::kind_of(op) == OpKind::Concat;
}
bool is_update(Op* op) {
  return graph::kind_of(op) == OpKind::UpdateSlice;
}
/// Whether an op takes that operand as memory, not as elements to compute with.
bool takes_memory(Op* op, unsigned position) {
  return is_update(op) && position == graph::in::UpdateSlice::buffer;
}

/// Gives each axis of `dims` that is not of extent 1 a new iteration axis.
AxisMap add_axes(FusionGroup& group, const std::vector<Dim>& dims, bool whole) {
  AxisMap map;
  for (Dim extent : dims) {
    map.push_back(extent->is_constant(1) ? -1 : int(group.extents.size()));
    if (extent->is_constant(1)) continue;
    group.extents.push_back(extent);
    group.whole.push_back(whole);
  }
  return map;
}

/// Extents of the reduced axes that are not 1.
std::vector<Dim> reduced_extents(Op* op) {
  std::vector<Dim> extents;
  for (int64_t axis : op->attr(graph::attr::Reduce::axes)) {
    Dim extent = op->operand(0)->type()->dims[size_t(axis)];
    if (!extent->is_constant(1)) extents.push_back(extent);
  }
  return extents;
}

}  // namespace

void FusionBuilder::grow_generated(Op* root) {
  FusionGroup group;
  if (is_concat(root)) {
    start_concat(group, root);
  } else {
    start(group, root);
  }
  int number = int(groups_.size());
  group.members.push_back(root);
  claim(root, number);
  auto later = [&](Op* a, Op* b) { return reads_.position(a) < reads_.position(b); };
  std::priority_queue<Op*, std::vector<Op*>, decltype(later)> candidates(later);
  std::set<Op*> seen;
  auto add_producers = [&](Op* op) {
    for (unsigned i = 0; i < reads_.operand_count(op); ++i) {
      Op* def = takes_memory(op, i) ? nullptr : reads_.read(op, i).base->def();
      if (def && is_fusible(def) && group_of(def) < 0 && seen.insert(def).second)
        candidates.push(def);
    }
  };
  groups_.push_back(std::move(group));
  add_producers(root);
  while (!candidates.empty() && weight(number) < max_group_weight) {
    Op* op = candidates.top();
    candidates.pop();
    if (!try_join(number, op)) continue;
    groups_[size_t(number)].members.push_back(op);
    claim(op, number);
    add_producers(op);
  }
}

void FusionBuilder::start(FusionGroup& group, Op* root) {
  Value* space = is_update(root) ? root->in(graph::in::UpdateSlice::update) : root->result();
  group.maps[root->result()] = add_axes(group, space->type()->dims, false);
  if (is_reduce(root)) group.reduced[root] = add_axes(group, reduced_extents(root), true);
}

void FusionBuilder::start_concat(FusionGroup& group, Op* root) {
  size_t axis = size_t(root->attr(common::Along::axis));
  std::vector<Dim> dims = root->result()->type()->dims;
  std::vector<Dim> extents;
  for (Value* part : root->ins(graph::in::Concat::parts))
    extents.push_back(part->type()->dims[axis]);
  bool equal =
      std::count(extents.begin(), extents.end(), extents[0]) == std::ptrdiff_t(extents.size());
  dims[axis] = equal ? extents[0] : table_.constant(1);
  AxisMap shared = add_axes(group, dims, false);
  for (Dim extent : extents) {
    AxisMap map = shared;
    if (!equal) map[axis] = add_axes(group, {extent}, true)[0];
    group.parts.push_back(std::move(map));
  }
  group.maps[root->result()] = shared;
}

std::optional<AxisMap> FusionBuilder::agreed_map(const FusionGroup& group, Value* value) const {
  std::optional<AxisMap> agreed;
  for (const ReadSite& site : reads_.sites(value)) {
    if (group_of(site.op) < 0 || &groups_[size_t(group_of(site.op))] != &group) continue;
    const Read& read = reads_.read(site.op, site.position);
    if (!read.relabels || takes_memory(site.op, site.position)) return std::nullopt;
    AxisMap map = base_map(read, operand_map(group, site.op, site.position));
    if (agreed && *agreed != map) return std::nullopt;
    agreed = std::move(map);
  }
  return agreed;
}

bool FusionBuilder::try_join(int number, Op* op) {
  if (is_concat(op) || is_update(op)) return false;
  FusionGroup& group = groups_[size_t(number)];
  Value* value = op->result();
  std::optional<AxisMap> map = agreed_map(group, value);
  if (!map) return false;
  const std::vector<ReadSite>& sites = reads_.sites(value);
  bool read_elsewhere = std::any_of(sites.begin(), sites.end(), [&](const ReadSite& site) {
    return group_of(site.op) != number;
  });
  size_t stores = 1 + group.parts.size() + stores_[number];
  if (read_elsewhere && stores >= max_group_stores) return false;
  if (read_elsewhere && (!covers_programs(group, *map) || makes_cycle(group, op))) return false;
  if (is_reduce(op) && !join_reduce(group, op, *map)) return false;
  group.maps[value] = std::move(*map);
  stores_[number] += read_elsewhere;
  return true;
}

bool FusionBuilder::covers_programs(const FusionGroup& group, const AxisMap& map) const {
  for (size_t i = 0; i < group.extents.size(); ++i) {
    bool varies = std::find(map.begin(), map.end(), int(i)) != map.end();
    if (!group.whole[i] && !varies) return false;
  }
  return true;
}

bool FusionBuilder::join_reduce(FusionGroup& group, Op* op, const AxisMap& map) {
  if (!group.parts.empty()) return false;
  std::vector<Dim> reduced = reduced_extents(op);
  std::vector<int> missing;  // the axes along which the result does not vary
  std::vector<Dim> extents;
  bool has_whole = false;
  for (size_t i = 0; i < group.extents.size(); ++i) {
    has_whole |= group.whole[i];
    if (std::find(map.begin(), map.end(), int(i)) != map.end()) continue;
    missing.push_back(int(i));
    extents.push_back(group.extents[i]);
  }
  if (missing.empty() && !has_whole) {
    group.reduced[op] = add_axes(group, reduced, true);
    return true;
  }
  // The remaining axes must be the reduced ones, and all other values then have them whole. A program does not get
  // whole axes of a second kind: what another reduction combines would be there once for each of their elements.
  bool second_kind = has_whole && std::any_of(missing.begin(), missing.end(),
                                              [&](int axis) { return !group.whole[size_t(axis)]; });
  if (second_kind || extents != reduced || !stays_parallel(group, missing)) return false;
  for (int axis : missing) group.whole[size_t(axis)] = true;
  group.reduced[op] = std::move(missing);
  return true;
}

bool FusionBuilder::stays_parallel(const FusionGroup& group,
                                   const std::vector<int>& becoming_whole) const {
  bool changes = false;
  size_t programs = 0;
  for (size_t i = 0; i < group.extents.size(); ++i) {
    bool becomes =
        std::find(becoming_whole.begin(), becoming_whole.end(), int(i)) != becoming_whole.end();
    changes |= becomes && !group.whole[i];
    programs += !becomes && !group.whole[i];
  }
  auto elements = count_elements(table_, group.extents)->constant();
  return !changes || programs != 0 || (elements && *elements <= small_space);
}

bool FusionBuilder::makes_cycle(const FusionGroup& group, Op* op) const {
  // A path from a value of the group through something outside it back to an op of the group.
  int number = int(&group - groups_.data());
  std::unordered_set<Op*> seen;
  std::vector<bool> entered(groups_.size());
  std::vector<Op*> stack;
  auto push_readers = [&](Op* from) {
    for (unsigned r = 0; r < from->result_count(); ++r) {
      for (const ReadSite& site : reads_.sites(from->result(r))) {
        if (site.op != op && seen.insert(site.op).second) stack.push_back(site.op);
      }
    }
  };
  auto leave = [&](Op* from) {  // readers outside the group
    for (const ReadSite& site : reads_.sites(from->result())) {
      if (group_of(site.op) != number && site.op != op && seen.insert(site.op).second) {
        stack.push_back(site.op);
      }
    }
  };
  leave(op);
  for (Op* member : group.members) leave(member);
  while (!stack.empty()) {
    Op* at = stack.back();
    stack.pop_back();
    if (group_of(at) == number) return true;
    if (at == reads_.terminator()) continue;
    push_readers(at);
    int other = group_of(at);
    if (other < 0 || entered[size_t(other)]) continue;
    entered[size_t(other)] = true;
    // All of another group runs at once: what reads any of its values waits for all of it.
    for (Op* member : ops_of(groups_[size_t(other)])) push_readers(member);
  }
  return false;
}

}  // namespace tessera
