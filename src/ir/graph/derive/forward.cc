#include "ir/graph/derive/forward.h"

#include "ir/graph/build.h"
#include "ir/graph/op_facts.h"
#include "support/check.h"

namespace tessera::graph {

Value* Forward::tangent(const Value* value) const {
  auto found = tangents_.find(now(value));
  return found == tangents_.end() ? nullptr : found->second;
}

Value* Forward::tangent_or_zero(Value* value) {
  Value* known = tangent(value);
  return known ? known : full(*builder_, 0, value->type()->dims, value->type()->dtype);
}

void Forward::set(const Value* value, Value* tangent) {
  if (!tangent) return;
  TSR_CHECK(same_dims(value->type(), tangent->type()) && value->type()->dtype == tangent->type()->dtype,
            "a tangent has the dims and the dtype of its value");
  tangents_[now(value)] = tangent;
}

void Forward::replace(Value* value, Value* with) {
  value->replace_all_uses(with);
  replaced_[value] = with;
}

const Value* Forward::now(const Value* value) const {
  auto found = replaced_.find(value);
  return found == replaced_.end() ? value : now(found->second);
}

void Forward::refuse(Op* op, std::string why) {
  if (!refused_.op) refused_ = {op, std::move(why)};
}

namespace {

bool depends(Op* op, const Forward& forward) {
  bool found = false;
  for_each_operand(op, [&](Value* value) { found = found || forward.tangent(value); });
  return found;
}

bool has_float(Op* op) {
  for (unsigned i = 0; i < op->result_count(); ++i) {
    if (is_float(op->result(i)->type()->dtype)) return true;
  }
  return false;
}

}  // namespace

bool Forward::push(const std::vector<Op*>& ops) {
  for (Op* op : ops) {
    if (!has_float(op) || !depends(op, *this)) continue;
    builder_->set_loc(op->loc());
    facts(op).jvp(op, *this);
    if (refused_.op) return false;
  }
  return true;
}

Op* last_op(const Builder& builder) {
  return builder.before() ? builder.before()->prev() : builder.block()->back();
}

std::vector<Op*> ops_since(const Builder& builder, Op* before) {
  std::vector<Op*> ops;
  for (Op* op = before ? before->next() : builder.block()->front(); op && op != builder.before(); op = op->next())
    ops.push_back(op);
  return ops;
}

void drop_unused(const std::vector<Op*>& ops) {
  for (auto at = ops.rbegin(); at != ops.rend(); ++at) {
    bool used = false;
    for (unsigned i = 0; i < (*at)->result_count(); ++i) used = used || !(*at)->result(i)->unused();
    if (!used) (*at)->erase();
  }
}

}  // namespace tessera::graph
