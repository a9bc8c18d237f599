#include "passes/graph/to_schedule/lowering.h"

#include <algorithm>

#include "ir/graph/ops.h"
#include "ir/graph/regions.h"
#include "ir/host/ops.h"
#include "passes/analysis/kernels.h"
#include "passes/analysis/tile_halvings.h"
#include "passes/graph/to_schedule/kernel_edit.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

/// Calls `visit` for the value of each gir.dim that the group makes where it reads it.
template <typename F>
void for_each_dim(const GraphReads& reads, const FusionGroup& group, F&& visit) {
  for (Op* op : group.members) {
    if (graph::kind_of(op) == graph::OpKind::Dim) visit(op->attr(graph::attr::Dim::value));
    for (unsigned i = 0; i < reads.operand_count(op); ++i) {
      Op* source = read_source(reads, reads.read(op, i));
      if (source && graph::kind_of(source) == graph::OpKind::Dim)
        visit(source->attr(graph::attr::Dim::value));
    }
  }
}

/// The call that a group's launches are for.
Loc place_of(const FusionGroup& group) { return ops_of(group).back()->loc(); }

}  // namespace

int64_t GraphLowering::halvings(const FusionGroup& group) const { return tile_halvings(module_, place_of(group)); }

/// Kernels round to nearest; a type that says otherwise is refused.
Status GraphLowering::check_policies(Op* op) {
  if (op->info().elementwise == ElementwiseKind::None) return success;
  if (!op->result()->type()->policies.stochastic_round) return success;
  context_.diagnostics.report(diag::unsupported_policy, op->loc(), "stochastic_round", op->name());
  return failure;
}

Result<std::vector<Value*>> GraphLowering::run() {
  for (Op* op : reads_.ops()) {
    if (graph_role(op) != GraphRole::Unknown) continue;
    context_.diagnostics.report(diag::unsupported_graph_op, op->loc(), op->name());
    return failure;
  }
  for (Op* op : *reads_.terminator()->block()) {
    if (check_policies(op).failed()) return failure;
  }
  for (const FusionGroup& group : fitting_groups()) {
    host_.set_loc(place_of(group));
    size_t launched = host_.launches().size();
    Status lowered = group.host     ? lower_host(group.host)
                     : group.anchor ? lower_anchor(group)
                                    : lower_generated(group);
    if (!lowered) return failure;
    if (!context_.launched || in_parts_) continue;
    context_.launched(ops_of(group), std::span(host_.launches()).subspan(launched));
  }
  std::vector<Value*> results;
  Op* end = reads_.terminator();
  host_.set_loc(end->loc());
  for (unsigned i = 0; i < end->operand_count(); ++i) {
    results.push_back(
        host_.under(host_.buffer(reads_.read(end, i).base), end->operand(i)->type()->dims));
  }
  return results;
}

namespace {

/// What a value of a block is, but for parts that were replaced there: a value of the block, or one from outside.
Value* updated_in(Block* block, Value* value) {
  while (value->def() && value->def()->block() == block) {
    Op* def = value->def();
    if (graph::kind_of(def) == graph::OpKind::UpdateSlice) {
      value = def->in(graph::in::UpdateSlice::buffer);
    } else if (graph::kind_of(def) == graph::OpKind::For || graph::kind_of(def) == graph::OpKind::While) {
      value = def->operand(value->index());
    } else if (graph::kind_of(def) == graph::OpKind::Cond) {
      Value* both[2];
      for (unsigned r = 0; r < 2; ++r) {
        Block* inner = def->region(r)->front();
        both[r] = updated_in(inner, inner->terminator()->operand(value->index()));
      }
      bool is_inside = both[0]->parent_block()->parent_op() == def;
      if (both[0] != both[1] || is_inside) return value;
      value = both[0];
    } else {
      return value;
    }
  }
  return value;
}

}  // namespace

/// For each result of a branch the value of which either region replaces parts, or nothing; null for all others. Each
/// value is named once. A branch takes its memory, as a loop takes that of what it carries.
std::vector<Value*> GraphLowering::updated_by(Op* branch) const {
  std::vector<Value*> updated;
  std::vector<Value*> used = graph::captured_values(branch);
  for (unsigned i = 0; i < branch->result_count(); ++i) {
    Value* before[2];
    bool changes = false;
    for (unsigned r = 0; r < 2; ++r) {
      Block* block = branch->region(r)->front();
      Value* yielded = block->terminator()->operand(i);
      before[r] = updated_in(block, yielded);
      changes |= before[r] != yielded;
    }
    auto place = std::find(used.begin(), used.end(), before[0]);
    bool taken = std::find(updated.begin(), updated.end(), before[0]) != updated.end();
    bool fits = changes && before[0] == before[1] && place != used.end() && !taken;
    unsigned position = branch->operand_count() + unsigned(place - used.begin());
    fits = fits && reads_.read(branch, position).base == before[0];
    updated.push_back(fits ? before[0] : nullptr);
  }
  return updated;
}

Status GraphLowering::lower_host(Op* op) {
  if (graph::kind_of(op) == graph::OpKind::Barrier) {
    Value* buffer = host_.buffer(reads_.read(op, 0).base);
    return host_.define(op->result(), host_.under(buffer, op->result()->type()->dims)), success;
  }
  std::vector<Value*> operands;
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    Value* buffer = host_.under(host_.buffer(reads_.read(op, i).base), op->operand(i)->type()->dims);
    // A loop takes the memory of what it carries.
    bool taken = graph::kind_of(op) == graph::OpKind::For || graph::kind_of(op) == graph::OpKind::While;
    operands.push_back(taken ? host_.copy(buffer) : buffer);
  }
  if (graph::kind_of(op) == graph::OpKind::Check) return host_.check(op, operands[0]), success;
  std::vector<Value*> updated, places, outside;
  if (graph::kind_of(op) == graph::OpKind::Cond) updated = updated_by(op);
  for (Value* value : updated) {
    places.push_back(value ? host_.copy(host_.under(host_.buffer(value), value->type()->dims)) : nullptr);
  }
  std::erase(updated, nullptr);
  for (Value* value : updated) outside.push_back(host_.buffer(value));
  Op* made = host_.region_op(op, operands, places);
  for (unsigned r = 0; r < op->region_count(); ++r) {
    host_.enter(made, op, r);
    Block* block = made->region(r)->front();
    for (size_t i = 0; i < updated.size(); ++i) host_.define(updated[i], block->arg(unsigned(i)));
    Result<std::vector<Value*>> yielded = GraphLowering(module_, context_, function_, op->region(r)->front()).run();
    if (!yielded) return failure;
    host_.leave(*yielded);
  }
  for (size_t i = 0; i < updated.size(); ++i) host_.define(updated[i], outside[i]);
  return success;
}

void GraphLowering::add_carriers(Op* kernel, std::vector<Value*>& operands) {
  std::map<std::string, Dim> dims;
  for (const std::string& name : mentioned_dims(kernel)) dims[name] = table_.symbol(name);
  add_carriers(kernel, dims, operands);
}

void GraphLowering::add_carriers(Op* kernel, const std::map<std::string, Dim>& dims, std::vector<Value*>& operands) {
  std::vector<std::string> known = free_dims(kernel);
  for (const auto& [name, of_caller] : dims) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    Value* carrier = host_.carrier(of_caller);
    std::vector<Dim> extents = carrier->type()->dims;
    extents[0] = table_.symbol(name);
    add_input(kernel, module_.context().tensor(extents, carrier->type()->dtype), {});
    operands.push_back(carrier);
  }
}

bool GraphLowering::mentions_dims(const FusionGroup& group) const {
  bool found = false;
  for_each_dim(reads_, group, [&](Dim value) { found |= !value->constant().has_value(); });
  return found;
}

Status GraphLowering::lower_either(const FusionGroup& group, const std::vector<DimFact>& when,
                                   const std::function<Status()>& taken, const std::function<Status()>& otherwise) {
  std::vector<DimFact> known = graph::facts_around(ops_of(group).back());
  bool always = true;
  for (const DimFact& fact : when) {
    std::optional<bool> holds = decide(table_, fact, known);
    if (holds == false || fact.left->overflow || fact.right->overflow) return otherwise();
    always &= holds == true;
  }
  if (always) return taken();
  std::vector<Value*> outputs = group.members.empty() ? std::vector{group.anchor->result(0)} : group.outputs;
  Op* choice = host_.choice(when, outputs);
  for (unsigned region = 0; region < 2; ++region) {
    host_.enter(choice, nullptr, region);
    Status lowered = region == host::at::If::then ? taken() : otherwise();
    if (!lowered) return failure;
    std::vector<Value*> made;
    for (Value* output : outputs) made.push_back(host_.under(host_.buffer(output), output->type()->dims));
    host_.leave(made);
  }
  for (size_t i = 0; i < outputs.size(); ++i) host_.define(outputs[i], choice->result(unsigned(i)));
  return success;
}

std::string GraphLowering::next_symbol() const { return function_.entry + "." + std::to_string(function_.named); }

Op* GraphLowering::keep_kernel(Op* kernel) {
  erase_unused(kernel);
  for (Op* known : function_.kernels) {
    if (!same_kernel(known, kernel)) continue;
    kernel->erase();
    return known;
  }
  function_.kernels.push_back(kernel);
  function_.named += symbol_name(kernel) == next_symbol();
  return kernel;
}

}  // namespace tessera
