// Generated kernels that combine rows, where rows are too few for the programs of a GPU.
//
// A program reads its rows from end to end, so that few of them leave most multiprocessors idle, however long they are.
// Such rows are cut into parts of a fixed length, a program each (split_reductions.h). The parts are values of the
// graph, so a copy of the group is cut, and lowered as a block of its own. Whether it runs is a choice of the launch,
// by sizes alone: where rows are many or short the group is one kernel, as if there were no other.

#include <algorithm>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/graph/ops.h"
#include "ir/text/dim_conditions.h"
#include "passes/graph/to_schedule/lowering.h"
#include "passes/graph/to_schedule/reduction_parts.h"
#include "passes/graph/to_schedule/split_reductions.h"

namespace tessera {

namespace {

/// Bytes that a program reads of its rows in the time of the launches that join their parts: about 8000 clocks, 32 in
/// each, since its threads ask for few vectors at a time.
constexpr int64_t joining_bytes = 256 * 1024;
/// Bytes that an element counts at least: those that nobody loads are computed.
constexpr int64_t least_bytes = 2;

/// Bytes that are loaded for an element of the axes that programs have whole.
int64_t bytes_of_element(const FusionGroup& group, const std::vector<BufferAccess>& loads) {
  int64_t bytes = 0;
  for (const BufferAccess& load : loads) {
    bool runs_along = false;
    for (size_t i = 0; i < group.extents.size(); ++i)
      runs_along |= group.whole[i] && !load.strides[i]->is_constant(0);
    if (runs_along) bytes += byte_size(load.base->type()->dtype);
  }
  return std::max(bytes, least_bytes);
}

/// The group's reductions, in its order; none where one of them combines less than whole rows.
std::vector<Op*> row_reductions(const FusionGroup& group) {
  size_t whole = size_t(std::ranges::count(group.whole, true));
  std::vector<Op*> found;
  for (Op* op : group.members) {
    auto reduced = group.reduced.find(op);
    if (reduced == group.reduced.end() || reduced->second.empty()) continue;
    if (reduced->second.size() != whole || !can_split_row(op)) return {};
    found.push_back(op);
  }
  return found;
}

}  // namespace

/// The sizes for which the group's rows are cut into parts; nothing where there are none.
std::optional<std::vector<DimFact>> GraphLowering::few_long_rows(const FusionGroup& group) {
  bool is_gpu = context_.machine && context_.machine->is_gpu();
  if (!is_gpu || in_parts_ || update_of(group) || row_reductions(group).empty()) return std::nullopt;
  std::vector<BufferAccess> loads = group_loads(reads_, group);
  KernelSpace space = plan_space(reads_, group, loads, group_stores(table_, group), context_.machine, halvings(group));
  Dim programs = table_.constant(1), length = table_.constant(1);
  for (size_t k = 0; k < space.rank(); ++k) {
    if (space.whole[k]) length = table_.mul(length, space.extents[k]);
    if (!space.whole[k]) programs = table_.mul(programs, table_.ceildiv(space.extents[k], space.blocks[k]));
  }
  Dim slots = table_.constant(context_.machine->gpu.peaks.multiprocessors);
  Dim bytes = table_.constant(bytes_of_element(group, loads));
  Dim part = table_.constant(elements_of_part), parts = table_.floordiv(length, part);
  // What the busiest multiprocessor reads.
  Dim elements = table_.mul(table_.ceildiv(table_.mul(programs, parts), slots), part);
  Dim cost = table_.add(table_.mul(elements, bytes), table_.constant(joining_bytes));
  return std::vector<DimFact>{{Relation::LessEqual, table_.mul(programs, table_.constant(2)), slots},
                              {Relation::GreaterEqual, parts, table_.constant(2)},
                              {Relation::Greater, table_.mul(length, bytes), cost}};
}

/// The group's members and what is made where they read it, in order of the program.
std::vector<Op*> GraphLowering::ops_with_views(const FusionGroup& group) const {
  std::set<Op*> found(group.members.begin(), group.members.end());
  std::vector<Op*> ops = group.members;
  Block* block = reads_.terminator()->block();
  for (size_t next = 0; next < ops.size(); ++next) {
    for (unsigned i = 0; i < ops[next]->operand_count(); ++i) {
      Op* def = ops[next]->operand(i)->def();
      if (!def || def->block() != block) continue;
      // A buffer that somebody else asks for may be made after this group.
      bool is_buffer = reads_.forced(def->result()) && host_.has_buffer(def->result());
      if (is_made_where_read(def) && !is_buffer && found.insert(def).second) ops.push_back(def);
    }
  }
  std::ranges::sort(ops, {}, [&](Op* op) { return reads_.position(op); });
  return ops;
}

Status GraphLowering::lower_row_parts(const FusionGroup& group, const std::vector<DimFact>& when) {
  OpState state;
  state.info = graph::info(graph::OpKind::Cond);
  state.loc = group.members.back()->loc();
  state.operands.resize(1);
  state.attributes = {graph::attr::Cond::when(module_.context(), fact_attrs(module_.context(), when))};
  Op* choice = module_.create(state);
  choice->move_before(reads_.terminator());
  Block* block = choice->region(graph::at::Cond::then)->add_block();
  std::map<Value*, Value*> copies;
  std::vector<Op*> reductions;
  std::vector<Op*> of_rows = row_reductions(group);
  for (Op* op : ops_with_views(group)) {
    Op* copy = module_.clone(op, copies);
    copy->move_to_end(block);
    if (std::ranges::count(of_rows, op)) reductions.push_back(copy);
  }
  Builder builder(module_, block);
  builder.set_loc(state.loc);
  std::vector<Value*> outputs;
  for (Value* output : group.outputs) outputs.push_back(copies.at(output));
  builder.op(graph::info(graph::OpKind::Yield), {outputs}, {});
  split_rows(reductions);
  Result<std::vector<Value*>> made = GraphLowering(module_, context_, function_, block, true).run();
  if (!made) return failure;
  for (size_t i = 0; i < group.outputs.size(); ++i) host_.define(group.outputs[i], (*made)[i]);
  choice->erase();
  return success;
}

Status GraphLowering::lower_rows(const FusionGroup& group) {
  std::optional<std::vector<DimFact>> when = few_long_rows(group);
  if (!when) return lower_as_kernel(group);
  return lower_either(
      group, *when, [&] { return lower_row_parts(group, *when); }, [&] { return lower_as_kernel(group); });
}

}  // namespace tessera
