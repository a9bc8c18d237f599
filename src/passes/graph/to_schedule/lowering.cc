#include "passes/graph/to_schedule/lowering.h"

#include <algorithm>

#include "ir/graph/ops.h"
#include "passes/analysis/kernels.h"
#include "passes/graph/to_schedule/kernel_edit.h"

namespace tessera {

namespace {

/// Calls `visit` for the value of each gir.dim that the group makes where it reads it.
template <typename F>
void for_each_dim(const GraphReads& reads, const FusionGroup& group, F&& visit) {
  for (Op* op : group.members) {
    if (graph::kind_of(op) == graph::OpKind::Dim) visit(op->dim_attr("value"));
    for (unsigned i = 0; i < reads.operand_count(op); ++i) {
      Op* source = read_source(reads, reads.read(op, i));
      if (source && graph::kind_of(source) == graph::OpKind::Dim) visit(source->dim_attr("value"));
    }
  }
}

}  // namespace

/// Kernels round to nearest; a type that says otherwise, or that an integer saturates, is refused.
Status GraphLowering::check_policies(Op* op) {
  if (op->info().elementwise == ElementwiseKind::None) return success;
  const Policies& policies = op->result()->type()->policies;
  bool saturates = policies.saturate && op->info().elementwise == ElementwiseKind::Cast &&
                   is_float(op->result()->type()->dtype) && !is_float(op->operand(0)->type()->dtype);
  if (!policies.stochastic_round && !saturates) return success;
  context_.diagnostics.report(diag::unsupported_policy, op->loc(),
                              saturates ? "saturate" : "stochastic_round", op->name());
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
  for (const FusionGroup& group : group_fusions(reads_)) {
    host_.set_loc(ops_of(group).back()->loc());
    Status lowered = group.host     ? lower_host(group.host)
                     : group.anchor ? lower_anchor(group)
                                    : lower_generated(group);
    if (!lowered) return failure;
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

Status GraphLowering::lower_host(Op* op) {
  std::vector<Value*> operands;
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    Value* buffer = host_.under(host_.buffer(reads_.read(op, i).base), op->operand(i)->type()->dims);
    // A loop takes the memory of what it carries.
    bool taken = graph::kind_of(op) == graph::OpKind::For || graph::kind_of(op) == graph::OpKind::While;
    operands.push_back(taken ? host_.copy(buffer) : buffer);
  }
  if (graph::kind_of(op) == graph::OpKind::Check) return host_.check(op, operands[0]), success;
  Op* made = host_.region_op(op, operands);
  for (unsigned r = 0; r < op->region_count(); ++r) {
    host_.enter(made, op, r);
    Result<std::vector<Value*>> yielded = GraphLowering(module_, context_, function_, op->region(r)->front()).run();
    if (!yielded) return failure;
    host_.leave(*yielded);
  }
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
