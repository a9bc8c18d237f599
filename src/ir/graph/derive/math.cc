// Matmuls, and what neural networks are made of.

#include "ir/graph/build.h"
#include "ir/graph/derive/backward.h"
#include "ir/graph/derive/term.h"
#include "ir/graph/op_facts.h"

namespace tessera::graph {

void jvp_gemm(Op* op, Forward& forward) {
  Builder& builder = forward.builder();
  Value* a = op->in(in::Gemm::a);
  Value* b = op->in(in::Gemm::b);
  auto product = [&](Value* left, Value* right) {
    return gemm(builder, left, right, op->attr(attr::Gemm::accum), op->attr(attr::Gemm::transpose_a),
                op->attr(attr::Gemm::transpose_b));
  };
  Value* total = nullptr;
  if (Value* tangent = forward.tangent(a)) total = product(tangent, b);
  if (Value* tangent = forward.tangent(b)) {
    Value* term = product(a, tangent);
    total = total ? add(builder, total, term) : term;
  }
  forward.set(op->result(), total);
}

namespace {

Value* exchanged(Builder& builder, Value* a) {
  std::vector<int64_t> perm(a->type()->rank());
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = int64_t(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(builder, a, perm);
}

/// The rows of all matrices under each other.
Value* stacked(Builder& builder, Value* a) {
  const std::vector<Dim>& dims = a->type()->dims;
  Dim rows = builder.context().dims().constant(1);
  for (size_t axis = 0; axis + 1 < dims.size(); ++axis) rows = builder.context().dims().mul(rows, dims[axis]);
  return reshape(builder, a, {rows, dims.back()});
}

}  // namespace

// With G the cotangent of A B: G B^T for A, and A^T G for B. G is rounded to the dtype of the operands, and their
// cotangents are rounded to it once.
void transpose_gemm(Op* op, Backward& backward) {
  Builder& builder = backward.builder();
  Value* a = op->in(in::Gemm::a);
  Value* b = op->in(in::Gemm::b);
  DType accum = op->attr(attr::Gemm::accum), dtype = a->type()->dtype;
  bool transpose_a = op->attr(attr::Gemm::transpose_a), transpose_b = op->attr(attr::Gemm::transpose_b);
  Value* g = cast(builder, backward.cotangent(op->result()), dtype);
  if (backward.is_linear(a)) {
    bool one_b = b->type()->rank() < a->type()->rank();
    Value* of_a = transpose_a && !one_b ? gemm(builder, b, g, accum, transpose_b, true)
                                        : gemm(builder, g, b, accum, false, !transpose_b);
    if (transpose_a && one_b) of_a = exchanged(builder, of_a);
    backward.add(a, cast(builder, of_a, dtype));
  }
  if (backward.is_linear(b)) {
    if (b->type()->rank() < a->type()->rank()) {
      // One matrix for all of a: its cotangent is a sum over all rows.
      a = stacked(builder, transpose_a ? exchanged(builder, a) : a);
      g = stacked(builder, g);
      transpose_a = false;
    }
    Value* of_b =
        transpose_b ? gemm(builder, g, a, accum, true, transpose_a) : gemm(builder, a, g, accum, !transpose_a, false);
    backward.add(b, cast(builder, of_b, dtype));
  }
}

namespace {

/// The rank of a value less one: its last axis.
std::vector<int64_t> last_axis(Value* value) {
  return {int64_t(value->type()->rank()) - 1};
}

/// The sum of each row, as often as it has elements.
Term row_sums(Term x) {
  Builder& builder = *x.builder;
  Value* total = reduce(builder, x.value, "sum", last_axis(x.value));
  return {&builder, spread(builder, total, last_axis(x.value), x.value->type()->dims)};
}

/// 1 / the number of elements of a row.
Term row_share(Term x) {
  Builder& builder = *x.builder;
  Value* count = cast(builder, dim(builder, x.value->type()->dims.back()), x.value->type()->dtype);
  return 1.0 / Term{&builder, broadcast_to(builder, count, x.value->type()->dims)};
}

}  // namespace

void jvp_softmax(Op* op, Forward& forward) {
  Term y = wide(forward.builder(), op->result()), t = wide(forward.builder(), forward.tangent(op->operand(0)));
  forward.set(op->result(), (y * (t - row_sums(y * t))).in(op->result()->type()->dtype).value);
}

// With r = 1 / sqrt(mean(x^2) + eps) and n = r x: the tangent of n is r (t - n mean(n t)).
void jvp_rmsnorm(Op* op, Forward& forward) {
  Builder& builder = forward.builder();
  Value* scale = op->in(in::Rmsnorm::scale);
  Term x = wide(builder, op->in(in::Rmsnorm::x)), share = row_share(x);
  Term r = (row_sums(x * x) * share + op->attr(attr::Rmsnorm::eps)).apply(ElementwiseKind::Rsqrt), n = x * r;
  auto scaled = [&](Term of, Value* by) {
    if (!by) return of;
    return of * Term{&builder, broadcast_to(builder, wide(builder, by).value, x.value->type()->dims)};
  };
  Term total;
  if (Value* tangent = forward.tangent(op->in(in::Rmsnorm::x))) {
    Term t = wide(builder, tangent);
    total = scaled(r * (t - n * (row_sums(n * t) * share)), scale);
  }
  if (Value* tangent = scale ? forward.tangent(scale) : nullptr) {
    Term of_scale = scaled(n, tangent);
    total = total ? total + of_scale : of_scale;
  }
  forward.set(op->result(), total.in(op->result()->type()->dtype).value);
}

// The tangent of -log(softmax(l)[target]) is sum((softmax(l) - [column = target]) t). The softmax is exp(l - s) with
// one s for each row, so that it is made where it is used.
void jvp_cross_entropy(Op* op, Forward& forward) {
  Builder& builder = forward.builder();
  Value* logits = op->in(in::CrossEntropy::logits);
  Value* targets = op->in(in::CrossEntropy::targets);
  Term l = wide(builder, logits), t = wide(builder, forward.tangent(logits));
  const std::vector<Dim>& dims = logits->type()->dims;
  std::vector<int64_t> rows = last_axis(logits);
  auto spread_rows = [&](Term of) { return Term{&builder, spread(builder, of.value, rows, dims)}; };
  Term most{&builder, reduce(builder, l.value, "max", rows)};
  Term total{&builder, reduce(builder, (l - spread_rows(most)).apply(ElementwiseKind::Exp).value, "sum", rows)};
  Term shares = (l - spread_rows(most + total.apply(ElementwiseKind::Log))).apply(ElementwiseKind::Exp);
  Term column{&builder, iota(builder, rows[0], dims, DType::I64)};
  Term wanted = spread_rows({&builder, cast(builder, targets, DType::I64)});
  Term is_target = column.apply(ElementwiseKind::Eq, wanted);
  Term slope = where(is_target, shares + -1.0, shares);
  Value* sums = reduce(builder, (slope * t).value, "sum", rows);
  forward.set(op->result(), cast(builder, sums, op->result()->type()->dtype));
}

void jvp_embedding(Op* op, Forward& forward) {
  Value* rows = forward.tangent(op->in(in::Embedding::table));
  forward.set(op->result(), embedding(forward.builder(), op->in(in::Embedding::ids), rows));
}

// Rows that are read several times get the sum of what all their readers give.
void transpose_embedding(Op* op, Backward& backward) {
  Value* table = op->in(in::Embedding::table);
  Value* rows =
      backward.library().add_rows(op->in(in::Embedding::ids), backward.cotangent(op->result()), table->type());
  if (!rows) return backward.refuse(op, "");  // the library said why
  backward.add(table, rows);
}

void jvp_decomposed(Op* op, Forward& forward) {
  if (forward.library().push_fused(op, forward)) return;
  Builder& builder = forward.builder();
  Op* before = last_op(builder);
  std::vector<Value*> results = facts(op).decompose(op, builder);
  if (!forward.push(ops_since(builder, before))) return;
  for (unsigned i = 0; i < op->result_count(); ++i) forward.set(op->result(i), forward.tangent(results[i]));
}

}  // namespace tessera::graph
