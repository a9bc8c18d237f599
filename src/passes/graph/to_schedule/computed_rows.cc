#include "passes/graph/to_schedule/computed_rows.h"

#include <limits>
#include <set>
#include <vector>

#include "ir/graph/build.h"
#include "ir/graph/ops.h"
#include "passes/analysis/graph_reads.h"

namespace tessera {

namespace {

using graph::OpKind;
using Kind = ElementwiseKind;

bool is_elementwise(Op* op) { return op && op->info().elementwise != Kind::None; }

/// Whether what arithmetic and views are made of in the block is the result of no kernel of the library.
bool is_free_of_anchors(Value* value, Block* block, std::set<Value*>& seen) {
  Op* op = value->def();
  if (!op || op->block() != block || !seen.insert(value).second) return true;
  if (graph_role(op) == GraphRole::Anchor) return false;
  if (!is_elementwise(op) && graph_role(op) != GraphRole::View) return true;
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    if (!is_free_of_anchors(op->operand(i), block, seen)) return false;
  }
  return true;
}

bool is_computed(Value* rows, Block* block) {
  Value* value = rows;
  while (value->def() && value->def()->is(graph::info(Kind::Cast))) value = value->def()->operand(0);
  std::set<Value*> seen;
  return is_elementwise(value->def()) && value->def()->block() == block && is_free_of_anchors(rows, block, seen);
}

class Rows {
 public:
  explicit Rows(Op* op) : op_(op), b_(*op->module()), x_(op->operand(0)), dims_(x_->type()->dims) {
    b_.set_before(op);
    b_.set_loc(op->loc());
    line_ = dims_;
    line_.back() = b_.context().dims().constant(1);
  }

  void run() {
    Value* result = op_->is(graph::info(OpKind::Softmax)) ? softmax() : rmsnorm();
    result->set_name(op_->result()->name());
    op_->result()->replace_all_uses(result);
    op_->erase();
  }

 private:
  DType dtype() const { return x_->type()->dtype; }
  Value* along(Value* a, const char* kind) { return graph::reduce(b_, a, kind, {int64_t(dims_.size()) - 1}, true); }
  Value* spread(Value* a) { return graph::broadcast_to(b_, a, dims_); }
  Value* each(double number) { return graph::full(b_, number, line_, dtype()); }

  Value* softmax() {
    Value* top = along(x_, "max");
    Value* none = graph::elementwise(b_, Kind::Eq, {top, each(-std::numeric_limits<double>::infinity())});
    Value* shift = graph::elementwise(b_, Kind::Select, {none, each(0), top});
    Value* e = graph::elementwise(b_, Kind::Exp, {graph::elementwise(b_, Kind::Sub, {x_, spread(shift)})});
    Value* total = along(e, "sum");
    Value* empty = graph::elementwise(b_, Kind::Eq, {total, each(0)});
    Value* by = graph::elementwise(b_, Kind::Select, {empty, each(1), total});
    return graph::elementwise(b_, Kind::Div, {e, spread(by)});
  }

  Value* rmsnorm() {
    Value* count = graph::cast(b_, graph::dim(b_, dims_.back()), dtype());
    Value* squares = along(graph::mul(b_, x_, x_), "sum");
    Value* mean = graph::elementwise(b_, Kind::Div, {squares, graph::broadcast_to(b_, count, line_)});
    Value* eps = each(op_->attr(graph::attr::Rmsnorm::eps));
    Value* factor = graph::elementwise(b_, Kind::Rsqrt, {graph::add(b_, mean, eps)});
    Value* result = graph::mul(b_, x_, spread(factor));
    Value* scale = op_->in(graph::in::Rmsnorm::scale);
    return scale ? graph::mul(b_, result, spread(graph::cast(b_, scale, dtype()))) : result;
  }

  Op* op_;
  Builder b_;
  Value* x_;
  std::vector<Dim> dims_, line_;  ///< of rows, and of what is combined of each
};

}  // namespace

void write_computed_rows(Op* function) {
  std::vector<Op*> found;
  walk(function, [&](Op* op) {
    OpKind kind = graph::kind_of(op);
    bool of_rows = kind == OpKind::Softmax || kind == OpKind::Rmsnorm;
    // The kernels of narrower numbers compute in f32.
    if (of_rows && byte_size(op->operand(0)->type()->dtype) >= 4 && is_computed(op->operand(0), op->block()))
      found.push_back(op);
  });
  for (Op* op : found) Rows(op).run();
}

}  // namespace tessera
