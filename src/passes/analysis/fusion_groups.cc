#include "passes/analysis/fusion_groups.h"

#include <algorithm>
#include <set>

#include "ir/graph/ops.h"
#include "ir/numbers/elementwise.h"
#include "passes/analysis/fusion_builder.h"
#include "passes/analysis/group_order.h"

namespace tessera {

std::vector<Op*> ops_of(const FusionGroup& group) {
  std::vector<Op*> ops = group.members;
  if (group.anchor) ops.push_back(group.anchor);
  if (group.host) ops.push_back(group.host);
  return ops;
}

Op* update_of(const FusionGroup& group) {
  Op* last = group.members.empty() ? nullptr : group.members.back();
  return last && graph::kind_of(last) == graph::OpKind::UpdateSlice ? last : nullptr;
}

AxisMap operand_map(const FusionGroup& group, Op* member, unsigned position) {
  bool places = graph::kind_of(member) == graph::OpKind::UpdateSlice &&
                position != graph::in::UpdateSlice::update;
  if (places) return AxisMap(member->operand(position)->type()->rank(), -1);
  if (!group.parts.empty() && graph::kind_of(member) == graph::OpKind::Concat)
    return group.parts[position];
  const AxisMap& result = group.maps.at(member->result());
  if (graph::kind_of(member) != graph::OpKind::Reduce) return result;
  AxisMap map;
  std::vector<int64_t> reduced = member->attr(graph::attr::Reduce::axes);
  const std::vector<int>& combined = group.reduced.at(member);
  const std::vector<Dim>& dims = member->operand(0)->type()->dims;
  size_t kept = 0, taken = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    bool is_reduced = std::find(reduced.begin(), reduced.end(), int64_t(i)) != reduced.end();
    if (!is_reduced) {
      map.push_back(result[kept++]);
    } else {
      if (member->attr(graph::attr::Reduce::keep)) ++kept;
      map.push_back(dims[i]->is_constant(1) ? -1 : combined[taken++]);
    }
  }
  return map;
}

AxisMap base_map(const Read& read, const AxisMap& reader) {
  AxisMap map(read.base->type()->rank(), -1);
  for (size_t i = 0; i < reader.size(); ++i) {
    if (read.base_axes[i] >= 0) map[size_t(read.base_axes[i])] = reader[i];
  }
  return map;
}

std::vector<Dim> iteration_strides(DimTable& table, const Read& read, const AxisMap& reader,
                                   size_t axes) {
  std::vector<Dim> strides(axes, table.constant(0));
  for (size_t i = 0; i < reader.size(); ++i) {
    if (reader[i] >= 0) strides[size_t(reader[i])] = read.access.strides[i];
  }
  return strides;
}

std::vector<FusionGroup> group_fusions(const GraphReads& reads, const Machine* machine) {
  bool holds_tiles = machine && machine->is_gpu();
  return FusionBuilder(reads, holds_tiles ? max_epilogue_weight : max_group_weight).run();
}

std::vector<FusionGroup> FusionBuilder::run() {
  for (Op* op : reads_.ops()) {
    if (graph_role(op) == GraphRole::Anchor) grow_epilogue(op);
    if (graph_role(op) != GraphRole::Host) continue;
    groups_.emplace_back().host = op;
    claim(op, int(groups_.size()) - 1);
  }
  for (size_t i = reads_.ops().size(); i-- > 0;) {
    Op* op = reads_.ops()[i];
    if (is_fusible(op) && group_of(op) < 0) grow_generated(op);
  }
  find_outputs();
  return late_order(in_order(), reads_);
}

int FusionBuilder::group_of(Op* op) const {
  auto it = group_of_.find(op);
  return it == group_of_.end() ? -1 : it->second;
}

size_t FusionBuilder::weight_of(Op* op) {
  return op->result_count() == 0 ? 1 : element_cost(op->info().elementwise, op->result()->type()->dtype);
}

void FusionBuilder::claim(Op* op, int group) {
  group_of_[op] = group;
  weights_[group] += weight_of(op);
}

bool FusionBuilder::is_inside(Op* op) const {
  return op->block() == reads_.terminator()->block();
}

bool FusionBuilder::is_fusible(Op* op) const {
  return is_inside(op) && (graph_role(op) == GraphRole::Compute ||
                           (op->result_count() == 1 && reads_.forced(op->result())));
}

void FusionBuilder::find_outputs() {
  auto before = [&](Op* a, Op* b) { return reads_.position(a) < reads_.position(b); };
  for (size_t g = 0; g < groups_.size(); ++g) {
    FusionGroup& group = groups_[g];
    std::sort(group.members.begin(), group.members.end(), before);
    std::vector<Op*> ops = group.members;
    if (group.anchor) ops.insert(ops.begin(), group.anchor);
    for (Op* op : ops) {
      for (unsigned r = 0; r < op->result_count(); ++r) {
        const std::vector<ReadSite>& sites = reads_.sites(op->result(r));
        bool outside = std::any_of(sites.begin(), sites.end(), [&](const ReadSite& site) {
          return group_of(site.op) != int(g);
        });
        if (outside) group.outputs.push_back(op->result(r));
      }
    }
  }
}

std::vector<FusionGroup> FusionBuilder::in_order() {
  // Depth first from the last op of each group in order of the program: what is read last is there for the shortest
  // time. A group waits only for groups of ops that stand before its last op, so the stack is as deep as chains of such
  // waits; it is kept explicitly.
  std::vector<int> state(groups_.size());
  std::vector<FusionGroup> ordered;
  std::vector<std::pair<int, bool>> stack;
  // Checks come as early as may be: before what a call must not have done when one of them ends it.
  std::vector<Op*> ops = reads_.ops();
  std::stable_partition(ops.begin(), ops.end(),
                        [](Op* op) { return graph::kind_of(op) == graph::OpKind::Check; });
  std::vector<size_t> last(groups_.size());
  for (Op* op : ops) {
    if (int g = group_of(op); g >= 0) last[size_t(g)] = std::max(last[size_t(g)], reads_.position(op));
  }
  for (Op* op : ops) {
    int of = group_of(op);
    if (of >= 0 && last[size_t(of)] == reads_.position(op)) stack.push_back({of, false});
    while (!stack.empty()) {
      auto [g, done] = stack.back();
      stack.pop_back();
      if (done) {
        ordered.push_back(groups_[size_t(g)]);
        continue;
      }
      if (state[size_t(g)] != 0) continue;
      state[size_t(g)] = 1;
      stack.push_back({g, true});
      for (Op* member : ops_of(groups_[size_t(g)])) {
        for (unsigned i = 0; i < reads_.operand_count(member); ++i) {
          Op* def = reads_.read(member, i).base->def();
          int needed = def ? group_of(def) : -1;
          if (needed >= 0 && state[size_t(needed)] == 0) stack.push_back({needed, false});
        }
      }
    }
  }
  return ordered;
}

}  // namespace tessera
