// Combines along axes that are not neighbours one group of neighbours after the other (GPUs).
//
// Neighbours are one axis to a kernel. Along several its program would hold what the inner ones give until the outer
// ones are done, for which a GPU's has no memory but its registers. What the inner ones give is kept in the precision
// that sums are made in.

#include "ir/core/machine.h"
#include "ir/graph/build.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using graph::OpKind;

/// The axes that a reduction combines, in groups with no other elements between them; axes of extent 1 go along.
std::vector<std::vector<int64_t>> groups_of(Op* op) {
  const std::vector<Dim>& dims = op->operand(0)->type()->dims;
  std::vector<std::vector<int64_t>> groups;
  int64_t last = -1;  // of more than one element
  for (int64_t axis : op->ints_attr("axes")) {
    bool apart = false;
    for (int64_t i = last + 1; last >= 0 && i < axis; ++i) apart |= !dims[size_t(i)]->is_constant(1);
    bool is_one = dims[size_t(axis)]->is_constant(1);
    if (groups.empty() || (apart && !is_one)) groups.emplace_back();
    groups.back().push_back(axis);
    if (!is_one) last = axis;
  }
  return groups;
}

void split(Op* op, const std::vector<std::vector<int64_t>>& groups) {
  Builder builder(*op->module());
  builder.set_before(op);
  builder.set_loc(op->loc());
  std::string kind(op->string_attr("kind"));
  DType dtype = op->result()->type()->dtype;
  bool rounds = is_float(dtype) && byte_size(dtype) < 4 && (kind == "sum" || kind == "prod");
  Value* value = op->operand(0);
  if (rounds) value = graph::cast(builder, value, DType::F32);
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    value = graph::reduce(builder, value, kind, *group, op->flag("keep"));
  }
  if (rounds) value = graph::cast(builder, value, dtype);
  op->result()->replace_all_uses(value);
  op->erase();
}

}  // namespace

Status split_reductions(Module& module, PassContext& context) {
  if (!context.machine || !context.machine->is_gpu()) return success;
  std::vector<Op*> found;
  for (Op* function : *module.body()) {
    walk(function, [&](Op* op) {
      if (op->is(graph::info(OpKind::Reduce))) found.push_back(op);
    });
  }
  for (Op* op : found) {
    if (auto groups = groups_of(op); groups.size() > 1) split(op, groups);
  }
  return success;
}

}  // namespace tessera
