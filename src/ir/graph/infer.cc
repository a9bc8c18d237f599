// The types of results, from operands and attributes that obey an op's rules.

#include "ir/graph/attention.h"
#include "ir/graph/build.h"
#include "ir/graph/op_facts.h"
#include "support/check.h"

namespace tessera::graph {

namespace {

/// Of a value's dtype, under these dims.
Type with_dims(Value* like, Op* op, std::vector<Dim> dims) {
  return op->module()->context().tensor(std::move(dims), like->type()->dtype);
}

}  // namespace

Type infer_dim(Op* op, unsigned) { return op->module()->context().tensor({}, DType::I64); }

Type infer_as_first(Op* op, unsigned) { return with_dims(op->operand(0), op, op->operand(0)->type()->dims); }

Type infer_transpose(Op* op, unsigned) {
  Value* a = op->in(in::Transpose::a);
  std::vector<Dim> dims;
  std::vector<int64_t> perm = op->attr(attr::Transpose::perm);
  for (int64_t axis : perm) dims.push_back(a->type()->dims[size_t(axis)]);
  return with_dims(a, op, std::move(dims));
}

Type infer_concat(Op* op, unsigned) {
  DimTable& table = op->module()->context().dims();
  size_t axis = size_t(op->attr(attr::Concat::axis));
  std::vector<Dim> dims = op->operand(0)->type()->dims;
  for (unsigned i = 1; i < op->operand_count(); ++i) {
    dims[axis] = table.add(dims[axis], op->operand(i)->type()->dims[axis]);
  }
  return with_dims(op->operand(0), op, std::move(dims));
}

Type infer_reduce(Op* op, unsigned) {
  Value* a = op->in(in::Reduce::a);
  std::vector<int64_t> axes = op->attr(attr::Reduce::axes);
  return with_dims(a, op, reduced_dims(op->module()->context(), a->type(), axes, op->attr(attr::Reduce::keep)));
}

Type infer_gemm(Op* op, unsigned) {
  auto dims = gemm_dims(op->in(in::Gemm::a)->type(), op->in(in::Gemm::b)->type(), op->attr(attr::Gemm::transpose_a),
                        op->attr(attr::Gemm::transpose_b));
  TSR_CHECK(dims.has_value(), "the operands of a matmul do not fit");
  return op->module()->context().tensor(std::move(*dims), op->attr(attr::Gemm::accum));
}

Type infer_flash_attention(Op* op, unsigned result) {
  Type q = op->in(in::FlashAttention::q)->type();
  std::vector<Dim> dims(q->dims.begin(), q->dims.end() - 1);
  if (result == 0) dims.push_back(op->in(in::FlashAttention::v)->type()->dims.back());
  return op->module()->context().tensor(std::move(dims), attention_dtype(q->dtype));
}

Type infer_embedding(Op* op, unsigned) {
  Value* table = op->in(in::Embedding::table);
  std::vector<Dim> dims = op->in(in::Embedding::ids)->type()->dims;
  dims.push_back(table->type()->dims.at(1));
  return with_dims(table, op, std::move(dims));
}

Type infer_cross_entropy(Op* op, unsigned) {
  return with_dims(op->in(in::CrossEntropy::logits), op, op->in(in::CrossEntropy::targets)->type()->dims);
}

}  // namespace tessera::graph
