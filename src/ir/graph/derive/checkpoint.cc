// Functions whose values are computed again where they are taken backwards. Until then the ops of a call are in a
// region, which only its results leave: reverse mode keeps what the region uses from outside, and makes the tangents of
// a copy of it. A barrier behind the cotangents keeps the copy apart from the first computation.

#include <algorithm>
#include <map>
#include <string_view>

#include "ir/graph/build.h"
#include "ir/graph/derive/backward.h"
#include "ir/graph/op_facts.h"
#include "ir/graph/regions.h"
#include "support/check.h"

namespace tessera::graph {

namespace {

std::vector<Value*> results_of(Op* op) {
  std::vector<Value*> results;
  for (unsigned i = 0; i < op->result_count(); ++i) results.push_back(op->result(i));
  return results;
}

/// The results that hold what is kept, for the values of the region.
std::map<Value*, Value*> kept_values(Op* call) {
  std::vector<Value*> yields = yielded(only_block(call, at::Checkpoint::body));
  std::map<Value*, Value*> kept;
  for (size_t i = yields.size() - size_t(call->attr(attr::Checkpoint::kept)); i < yields.size(); ++i) {
    kept[yields[i]] = call->result(unsigned(i));
  }
  return kept;
}

bool is_float_value(const Value* value) { return is_float(value->type()->dtype); }

/// Of what has an effect, which is not done again.
constexpr std::string_view not_repeated = "has an effect, which a checkpoint does not repeat";

/// Whether floats that an op gives depend on values with tangents. `values` has what is in the place of its operands.
bool reads_tangents(Op* op, const Values& values, const Forward& forward) {
  bool reads = false;
  for_each_operand(op, [&](Value* value) { reads = reads || forward.tangent(mapped(values, value)); });
  return reads && std::ranges::any_of(results_of(op), is_float_value);
}

/// One copy of a call, made where its cotangents are known.
class Again {
 public:
  Again(Op* call, const std::vector<Value*>& cotangents, Backward& backward)
      : call_(call),
        after_(cotangents),
        backward_(&backward),
        builder_(&backward.builder()),
        forward_(backward.builder(), Forward::Purpose::Transposed, backward.library()) {}

  /// Computes the values, with tangents of the floats among the inputs; false when an op was refused.
  bool compute() {
    for (Value* input : call_->ins(in::Checkpoint::inputs)) {
      values_[input] = behind(input);
      if (!is_float_value(input)) continue;
      tangents_.push_back(full(*builder_, 0, input->type()->dims, input->type()->dtype));
      forward_.set(values_[input], tangents_.back());
    }
    kept_ = kept_values(call_);
    for (Op* op : *only_block(call_, at::Checkpoint::body)) {
      if (!op->is_terminator() && !compute(op)) return false;
    }
    return true;
  }

  /// Adds to the cotangents of the floats among the inputs, `tangents`, from those of the results; in the order that
  /// sums have without a checkpoint. False when an op was refused.
  bool pull(const std::vector<Value*>& cotangents, const std::vector<Value*>& tangents) {
    Backward inner(*builder_, backward_->library());
    for (size_t i = 0; i < tangents.size(); ++i) {
      if (Value* sum = backward_->cotangent(tangents[i])) inner.seed(tangents_[i], sum);
    }
    std::vector<Value*> yields = yielded(only_block(call_, at::Checkpoint::body));
    size_t next = 0;
    for (Value* yield : yields) {
      if (!is_float_value(yield)) continue;
      Value* tangent = forward_.tangent(mapped(values_, yield));
      if (Value* cotangent = cotangents[next++]; cotangent && tangent) inner.seed(tangent, cotangent);
    }
    if (!inner.pull(linear_, tangents_)) return refuse(inner.refused()), false;
    for (size_t i = 0; i < tangents.size(); ++i) {
      if (Value* sum = inner.cotangent(tangents_[i])) backward_->set(tangents[i], sum);
    }
    drop_unused(linear_);
    return true;
  }

 private:
  Value* behind(Value* value) {
    Type type = plain(*builder_, value->type());
    return builder_->value(info(OpKind::Barrier), {{value}, after_}, type);
  }

  void refuse(const NoDerivative& refused) { backward_->refuse(refused.op, refused.why); }

  bool compute(Op* op) {
    if (!op->is_pure()) return take(op);
    Op* copy = copied(op, *builder_, values_);
    if (!forward_.push({copy})) return refuse(forward_.refused()), false;
    for (Op* linear : ops_since(*builder_, copy)) linear_.push_back(linear);
    for (Value* result : results_of(op)) {
      Value* again = forward_.now(values_[result]);
      auto kept = kept_.find(result);
      if (kept != kept_.end()) {
        Value* tangent = forward_.tangent(again);
        again = behind(kept->second);
        forward_.set(again, tangent);
      }
      values_[result] = again;
    }
    return true;
  }

  /// What has an effect is not done again: its results are kept.
  bool take(Op* op) {
    if (reads_tangents(op, values_, forward_)) return refuse({op, std::string(not_repeated)}), false;
    for (Value* result : results_of(op)) values_[result] = behind(kept_.at(result));
    return true;
  }

  Op* call_;
  std::vector<Value*> after_;
  Backward* backward_;
  Builder* builder_;
  Forward forward_;
  Values values_;                  ///< of the copy, for those of the call
  std::map<Value*, Value*> kept_;  ///< results of the call, for values of its region
  std::vector<Value*> tangents_;   ///< of the inputs that are floats
  std::vector<Op*> linear_;        ///< the ops that make tangents
};

/// The tangents of a copy, which computes nothing that is not there: equal ops are merged.
void push_copy(Op* call, Forward& forward) {
  Block* body = only_block(call, at::Checkpoint::body);
  std::vector<Value*> yields = yielded(body);
  std::map<Value*, Value*> kept = kept_values(call);
  Values values;
  for (Op* op : *body) {
    if (op->is_terminator()) continue;
    if (!op->is_pure()) {
      if (reads_tangents(op, values, forward)) return forward.refuse(op, std::string(not_repeated));
      for (Value* result : results_of(op)) values[result] = kept.at(result);
    } else if (!forward.push({copied(op, forward.builder(), values)})) {
      return;
    }
    for (Value* result : results_of(op)) values[result] = forward.now(values[result]);
  }
  for (size_t i = 0; i < yields.size(); ++i) {
    forward.set(call->result(unsigned(i)), forward.tangent(mapped(values, yields[i])));
  }
}

}  // namespace

void jvp_checkpoint(Op* op, Forward& forward) {
  if (forward.purpose() == Forward::Purpose::Along) return push_copy(op, forward);
  std::vector<Value*> tangents, floats;
  for (Value* input : op->ins(in::Checkpoint::inputs)) {
    if (is_float_value(input)) tangents.push_back(forward.tangent_or_zero(input));
  }
  std::vector<Type> types;
  for (Value* result : results_of(op)) {
    if (!is_float_value(result)) continue;
    floats.push_back(result);
    types.push_back(plain(forward.builder(), result->type()));
  }
  Op* tangent = forward.builder().op(info(OpKind::CheckpointTangent), {results_of(op), tangents}, types, {});
  for (size_t i = 0; i < floats.size(); ++i) forward.set(floats[i], tangent->result(unsigned(i)));
}

void transpose_checkpoint_tangent(Op* op, Backward& backward) {
  Op* call = op->ins(in::CheckpointTangent::outputs)[0]->def();
  TSR_CHECK(call && call->is(info(OpKind::Checkpoint)), "tangents of a checkpoint are beside it");
  std::vector<Value*> cotangents, known;
  for (Value* tangent : results_of(op)) {
    cotangents.push_back(backward.cotangent(tangent));
    if (cotangents.back()) known.push_back(cotangents.back());
  }
  Again again(call, known, backward);
  if (again.compute()) again.pull(cotangents, op->ins(in::CheckpointTangent::tangents));
}

}  // namespace tessera::graph
