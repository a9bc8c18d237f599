// Writes gir.flash_attention as what it means: a matmul, a softmax, a matmul.
//
// Heads of q that share a head of k and v become rows of one matmul, so that k and v are read as they are:
// [B, H, S, D] is [B, G, H/G * S, D]. Weights are [B, H, S, T] for what is done to each, and nothing of that is more
// than elementwise: the scale and the mask fold into the first matmul, dropout and the rounding of weights into the
// softmax. They are in memory, which is why a kernel that never has all of them does it where there is one.

#include <cmath>

#include "ir/graph/attention.h"
#include "ir/graph/build.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using graph::OpKind;
using Kind = ElementwiseKind;
using slot = graph::in::FlashAttention;
using Attention = graph::attr::FlashAttention;

class AttentionDecomposer {
 public:
  explicit AttentionDecomposer(Op* op)
      : op_(op), dims_(graph::attention_weights(op)), b_(*op->module()), dtype_(op->result(0)->type()->dtype) {
    b_.set_before(op);
    b_.set_loc(op->loc());
  }

  void run() {
    Value* scores = masked(biased(scaled(matmul(op_->in(slot::q), op_->in(slot::k), true))));
    DType stored = op_->in(slot::v)->type()->dtype;
    Value* weights = graph::cast(b_, dropped(graph::softmax(b_, scores)), stored);
    std::vector<Value*> results = {matmul(weights, op_->in(slot::v), false)};
    if (op_->result_count() == 2) results.push_back(sums(scores));
    for (unsigned i = 0; i < op_->result_count(); ++i) {
      results[i]->set_name(op_->result(i)->name());
      op_->result(i)->replace_all_uses(results[i]);
    }
    op_->erase();
  }

 private:
  DimTable& table() { return b_.context().dims(); }
  Value* all(double value) { return graph::full(b_, value, dims_, dtype_); }
  Value* size(Dim value) { return graph::dim(b_, value); }

  /// a [B, H, S, X] times each head's own b, for heads that share one.
  Value* matmul(Value* a, Value* b, bool transpose) {
    const std::vector<Dim> from = a->type()->dims;
    Dim groups = b->type()->dims[1];
    int64_t shared = *graph::heads_per_group(from[1], groups);
    std::vector<Dim> rows = {from[0], groups, table().mul(table().constant(shared), from[2]), from[3]};
    Value* made = graph::gemm(b_, graph::reshape(b_, a, rows), b, dtype_, false, transpose);
    return graph::reshape(b_, made, {from[0], from[1], from[2], made->type()->dims[3]});
  }

  Value* scaled(Value* scores) {
    if (std::optional<double> scale = op_->attr(Attention::scale))
      return graph::mul(b_, scores, all(*scale));
    Dim depth = op_->in(slot::q)->type()->dims[3];
    if (auto known = depth->constant()) return graph::mul(b_, scores, all(1 / std::sqrt(double(*known))));
    Value* root = graph::elementwise(b_, Kind::Sqrt, {graph::cast(b_, size(depth), dtype_)});
    return graph::div(b_, scores, graph::broadcast_to(b_, root, dims_));
  }

  Value* biased(Value* scores) {
    Value* bias = op_->in(slot::bias);
    return bias ? graph::add(b_, scores, graph::cast(b_, bias, dtype_)) : scores;
  }

  Value* both(Value* a, Value* b) { return a ? graph::elementwise(b_, Kind::And, {a, b}) : b; }
  Value* spread(Value* scalar) { return graph::broadcast_to(b_, scalar, dims_); }

  /// The key of each weight. Of keys that roll the last one is number (length - 1) % T, those up to there
  /// came in this iteration, and those behind it in the iteration before, which for the first iteration is below 0.
  Value* keys(Value* length) {
    Value* slot = graph::iota(b_, 3, dims_, DType::I64);
    if (!op_->attr(Attention::rolling)) return slot;
    Value* room = size(dims_[3]);
    Value* last = graph::sub(b_, length, graph::scalar(b_, 1, DType::I64));
    Value* newest = graph::elementwise(b_, Kind::Mod, {last, room});
    Value* iteration = graph::sub(b_, last, newest);
    Value* came = graph::elementwise(b_, Kind::Le, {slot, spread(newest)});
    return graph::select(b_, came, graph::add(b_, slot, spread(iteration)),
                         graph::add(b_, slot, spread(graph::sub(b_, iteration, room))));
  }

  Value* masked(Value* scores) {
    Value* length = op_->in(slot::length);
    std::optional<int64_t> window = op_->attr(Attention::window);
    bool causal = op_->attr(Attention::causal);
    if (!length && !window && !causal) return scores;
    Value* key = keys(length);
    Value* shift = graph::sub(b_, length ? length : size(dims_[3]), size(dims_[2]));
    Value* place = graph::add(b_, graph::iota(b_, 2, dims_, DType::I64), spread(shift));
    Value* seen = nullptr;
    if (op_->attr(Attention::rolling)) {
      seen = graph::elementwise(b_, Kind::Ge, {key, spread(graph::scalar(b_, 0, DType::I64))});
    } else if (length) {
      seen = graph::elementwise(b_, Kind::Lt, {key, spread(length)});
    }
    if (causal) seen = both(seen, graph::elementwise(b_, Kind::Le, {key, place}));
    if (window) {
      Value* reach = spread(graph::scalar(b_, *window, DType::I64));
      seen = both(seen, graph::elementwise(b_, Kind::Gt, {key, graph::sub(b_, place, reach)}));
      seen = both(seen, graph::elementwise(b_, Kind::Lt, {key, graph::add(b_, place, reach)}));
    }
    return graph::select(b_, seen, scores, all(-INFINITY));
  }

  Value* dropped(Value* weights) {
    std::optional<double> dropout = op_->attr(Attention::dropout);
    if (!dropout) return weights;
    Value* drawn =
        graph::philox_uniform(b_, op_->in(slot::seed), op_->required(Attention::stream), dims_);
    Value* falls =
        graph::elementwise(b_, Kind::Lt, {drawn, graph::full(b_, *dropout, dims_, DType::F32)});
    return graph::select(b_, falls, all(0), graph::mul(b_, weights, all(1 / (1 - *dropout))));
  }

  /// max + log(sum(exp(score - max))) of each row; -inf of one that sees nothing.
  Value* sums(Value* scores) {
    Value* most = graph::reduce(b_, scores, "max", {3}, true);
    const std::vector<Dim> rows = most->type()->dims;
    Value* none = graph::elementwise(b_, Kind::Eq, {most, graph::full(b_, -INFINITY, rows, dtype_)});
    most = graph::select(b_, none, graph::full(b_, 0, rows, dtype_), most);
    Value* weights = graph::elementwise(b_, Kind::Exp, {graph::sub(b_, scores, graph::broadcast_to(b_, most, dims_))});
    Value* sum = graph::reduce(b_, weights, "sum", {3}, true);
    Value* all = graph::add(b_, most, graph::elementwise(b_, Kind::Log, {sum}));
    return graph::reshape(b_, all, {rows.begin(), rows.end() - 1});
  }

  Op* op_;
  const std::vector<Dim> dims_;
  Builder b_;
  DType dtype_;
};

}  // namespace

Status decompose_attention(Module& module, PassContext&) {
  std::vector<Op*> found;
  for (Op* function : *module.body()) {
    walk(function, [&](Op* op) {
      if (!op->is(graph::info(OpKind::FlashAttention))) return;
      if (!graph::has_attention_kernel(op)) found.push_back(op);
    });
  }
  for (Op* op : found) AttentionDecomposer(op).run();
  return success;
}

}  // namespace tessera
