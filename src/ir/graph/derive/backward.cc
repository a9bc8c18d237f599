#include "ir/graph/derive/backward.h"

#include "ir/graph/build.h"
#include "ir/graph/derive/term.h"
#include "ir/graph/op_facts.h"
#include "support/check.h"

namespace tessera::graph {

Value* Backward::cotangent(const Value* value) const {
  auto found = cotangents_.find(value);
  return found == cotangents_.end() ? nullptr : found->second;
}

void Backward::seed(const Value* value, Value* cotangent) {
  Value*& sum = cotangents_[value];
  sum = sum ? total(*builder_, sum, cotangent) : cotangent;
}

void Backward::add(Value* value, Value* term) {
  if (!is_linear(value)) return;
  TSR_CHECK(same_dims(value->type(), term->type()) && value->type()->dtype == term->type()->dtype,
            "a cotangent has the dims and the dtype of its value");
  seed(value, term);
}

void Backward::set(Value* value, Value* sum) {
  if (is_linear(value)) cotangents_[value] = sum;
}

void Backward::refuse(Op* op, std::string why) {
  if (!refused_.op) refused_ = {op, std::move(why)};
}

bool Backward::pull(const std::vector<Op*>& ops, const std::vector<Value*>& inputs) {
  linear_.insert(inputs.begin(), inputs.end());
  for (Op* op : ops) {
    bool depends = false;
    for_each_operand(op, [&](Value* value) { depends = depends || is_linear(value); });
    for (unsigned i = 0; depends && i < op->result_count(); ++i) {
      if (is_float(op->result(i)->type()->dtype)) linear_.insert(op->result(i));
    }
  }
  for (auto at = ops.rbegin(); at != ops.rend(); ++at) {
    Op* op = *at;
    bool wanted = false;
    for (unsigned i = 0; i < op->result_count(); ++i) {
      wanted = wanted || (is_linear(op->result(i)) && cotangent(op->result(i)));
    }
    if (!wanted) continue;
    builder_->set_loc(op->loc());
    if (auto rule = facts(op).transpose) {
      rule(op, *this);
    } else {
      refuse(op, "is not taken backwards yet");
    }
    if (refused_.op) return false;
  }
  return true;
}

}  // namespace tessera::graph
