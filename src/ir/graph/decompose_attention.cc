// What gir.flash_attention means: a matmul, a softmax, a matmul.
//
// Heads of q that share a head of k and v become rows of one matmul, so that k and v are read as they are:
// [B, H, S, D] is [B, G, H/G * S, D]. Weights are [B, H, S, T] for what is done to each, and nothing of that is more
// than elementwise: the scale and the mask fold into the first matmul, dropout and the rounding of weights into the
// softmax. They are in memory, which is why a kernel that never has all of them does it where there is one.

#include <cmath>

#include "ir/graph/attention.h"
#include "ir/graph/build.h"
#include "ir/graph/op_facts.h"

namespace tessera::graph {

namespace {

using Kind = ElementwiseKind;
using slot = in::FlashAttention;
using Option = attr::FlashAttention;

class AttentionDecomposer {
 public:
  AttentionDecomposer(Op* op, Builder& builder)
      : op_(op), dims_(attention_weights(op)), b_(builder), dtype_(op->result(0)->type()->dtype) {}

  std::vector<Value*> run() {
    Value* scores = masked(biased(scaled(matmul(op_->in(slot::q), op_->in(slot::k), true))));
    DType stored = op_->in(slot::v)->type()->dtype;
    Value* weights = cast(b_, dropped(softmax(b_, scores)), stored);
    std::vector<Value*> results = {matmul(weights, op_->in(slot::v), false)};
    if (op_->result_count() == 2) results.push_back(sums(scores));
    return results;
  }

 private:
  DimTable& table() { return b_.context().dims(); }
  Value* all(double value) { return full(b_, value, dims_, dtype_); }
  Value* size(Dim value) { return dim(b_, value); }

  /// a [B, H, S, X] times each head's own b, for heads that share one.
  Value* matmul(Value* a, Value* b, bool transpose) {
    const std::vector<Dim> from = a->type()->dims;
    Dim groups = b->type()->dims[1];
    int64_t shared = *heads_per_group(from[1], groups);
    std::vector<Dim> rows = {from[0], groups, table().mul(table().constant(shared), from[2]), from[3]};
    Value* made = gemm(b_, reshape(b_, a, rows), b, dtype_, false, transpose);
    return reshape(b_, made, {from[0], from[1], from[2], made->type()->dims[3]});
  }

  Value* scaled(Value* scores) {
    if (std::optional<double> scale = op_->attr(Option::scale))
      return mul(b_, scores, all(*scale));
    Dim depth = op_->in(slot::q)->type()->dims[3];
    if (auto known = depth->constant()) return mul(b_, scores, all(1 / std::sqrt(double(*known))));
    Value* root = elementwise(b_, Kind::Sqrt, {cast(b_, size(depth), dtype_)});
    return div(b_, scores, broadcast_to(b_, root, dims_));
  }

  Value* biased(Value* scores) {
    Value* bias = op_->in(slot::bias);
    return bias ? add(b_, scores, cast(b_, bias, dtype_)) : scores;
  }

  Value* both(Value* a, Value* b) { return a ? elementwise(b_, Kind::And, {a, b}) : b; }
  Value* spread(Value* scalar) { return broadcast_to(b_, scalar, dims_); }

  /// The key of each weight. Of keys that roll the last one is number (length - 1) % T, those up to there
  /// came in this iteration, and those behind it in the iteration before, which for the first iteration is below 0.
  Value* keys(Value* length) {
    Value* slot = iota(b_, 3, dims_, DType::I64);
    if (!op_->attr(Option::rolling)) return slot;
    Value* room = size(dims_[3]);
    Value* last = sub(b_, length, scalar(b_, 1, DType::I64));
    Value* newest = elementwise(b_, Kind::Mod, {last, room});
    Value* iteration = sub(b_, last, newest);
    Value* came = elementwise(b_, Kind::Le, {slot, spread(newest)});
    return select(b_, came, add(b_, slot, spread(iteration)),
                         add(b_, slot, spread(sub(b_, iteration, room))));
  }

  Value* masked(Value* scores) {
    Value* length = op_->in(slot::length);
    std::optional<int64_t> window = op_->attr(Option::window);
    bool causal = op_->attr(Option::causal);
    if (!length && !window && !causal) return scores;
    Value* key = keys(length);
    Value* shift = sub(b_, length ? length : size(dims_[3]), size(dims_[2]));
    Value* place = add(b_, iota(b_, 2, dims_, DType::I64), spread(shift));
    Value* seen = nullptr;
    if (op_->attr(Option::rolling)) {
      seen = elementwise(b_, Kind::Ge, {key, spread(scalar(b_, 0, DType::I64))});
    } else if (length) {
      seen = elementwise(b_, Kind::Lt, {key, spread(length)});
    }
    if (causal) seen = both(seen, elementwise(b_, Kind::Le, {key, place}));
    if (window) {
      Value* reach = spread(scalar(b_, *window, DType::I64));
      seen = both(seen, elementwise(b_, Kind::Gt, {key, sub(b_, place, reach)}));
      seen = both(seen, elementwise(b_, Kind::Lt, {key, add(b_, place, reach)}));
    }
    return select(b_, seen, scores, all(-INFINITY));
  }

  Value* dropped(Value* weights) {
    std::optional<double> dropout = op_->attr(Option::dropout);
    if (!dropout) return weights;
    Value* drawn =
        philox_uniform(b_, op_->in(slot::seed), op_->required(Option::stream), dims_);
    Value* falls =
        elementwise(b_, Kind::Lt, {drawn, full(b_, *dropout, dims_, DType::F32)});
    return select(b_, falls, all(0), mul(b_, weights, all(1 / (1 - *dropout))));
  }

  /// max + log(sum(exp(score - max))) of each row; -inf of one that sees nothing.
  Value* sums(Value* scores) {
    Value* most = reduce(b_, scores, "max", {3}, true);
    const std::vector<Dim> rows = most->type()->dims;
    Value* none = elementwise(b_, Kind::Eq, {most, full(b_, -INFINITY, rows, dtype_)});
    most = select(b_, none, full(b_, 0, rows, dtype_), most);
    Value* weights = elementwise(b_, Kind::Exp, {sub(b_, scores, broadcast_to(b_, most, dims_))});
    Value* sum = reduce(b_, weights, "sum", {3}, true);
    Value* all = add(b_, most, elementwise(b_, Kind::Log, {sum}));
    return reshape(b_, all, {rows.begin(), rows.end() - 1});
  }

  Op* op_;
  const std::vector<Dim> dims_;
  Builder& b_;
  DType dtype_;
};

}  // namespace

std::vector<Value*> decompose_attention(Op* op, Builder& builder) { return AttentionDecomposer(op, builder).run(); }

}  // namespace tessera::graph
