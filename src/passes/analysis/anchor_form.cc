#include "passes/analysis/anchor_form.h"

#include "ir/graph/ops.h"
#include "support/check.h"

namespace tessera {

namespace {

using graph::OpKind;

DimTable& table_of(Op* op) {
  return op->module()->context().dims();
}

/// Product of all dims but the last `kept`.
Dim collapsed(DimTable& table, const std::vector<Dim>& dims, size_t kept) {
  return count_elements(table, {dims.begin(), dims.end() - std::ptrdiff_t(kept)});
}

/// Rows by the last axis: [M, N].
std::vector<Dim> as_rows(Op* op, Value* value) {
  const std::vector<Dim>& dims = value->type()->dims;
  if (dims.empty()) return {table_of(op).constant(1), table_of(op).constant(1)};
  return {collapsed(table_of(op), dims, 1), dims.back()};
}

std::vector<Dim> as_vector(Op* op, Value* value) {
  return {collapsed(table_of(op), value->type()->dims, 0)};
}

/// Axis numbers that make all but the last `kept` axes of a result one.
std::vector<int> grouped_axes(size_t rank, size_t kept) {
  std::vector<int> axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(i + kept < rank ? 0 : int(i + kept - rank + 1));
  return axes;
}

/// Transposes the last two axes.
std::vector<int64_t> swap_last(size_t rank) {
  std::vector<int64_t> perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(int64_t(i));
  std::swap(perm[rank - 1], perm[rank - 2]);
  return perm;
}

/// A sum of 16 bits is rounded every 64 along k (docs/numerics.md), which makes the tile of k part
/// of the kernel's meaning.
void set_accumulator(Op* op, AnchorForm& form) {
  Context& context = op->module()->context();
  DType accum = op->dtype_attr("accum");
  form.arguments["total"] = context.dtype(accum);
  if (!is_float(accum) || dtype_info(accum).bits != 16) return;
  form.kernel += "_rounded";
  form.schedule["block"] = context.dict({{"k", context.integer(64)}});
}

AnchorForm gemm_form(Op* op) {
  DimTable& table = table_of(op);
  std::vector<Dim> a = op->in(graph::in::Gemm::a)->type()->dims;
  std::vector<Dim> b = op->in(graph::in::Gemm::b)->type()->dims;
  const std::vector<Dim>& result = op->result()->type()->dims;
  AnchorForm form;
  form.transposed.resize(2);
  if (op->flag("transpose_a")) {
    form.transposed[0] = swap_last(a.size());
    std::swap(a[a.size() - 1], a[a.size() - 2]);
  }
  if (op->flag("transpose_b")) {
    form.transposed[1] = swap_last(b.size());
    std::swap(b[b.size() - 1], b[b.size() - 2]);
  }
  if (b.size() == 2) {
    form.kernel = "matmul";
    form.operands = {{collapsed(table, a, 1), a.back()}, b};
    form.results = {{collapsed(table, result, 1), result.back()}};
    form.result_axes = grouped_axes(result.size(), 1);
  } else {
    form.kernel = "matmul_batched";
    size_t m = a.size() - 2, n = b.size() - 1;
    form.operands = {{collapsed(table, a, 2), a[m], a[m + 1]},
                     {collapsed(table, b, 2), b[n - 1], b[n]}};
    form.results = {{collapsed(table, result, 2), a[m], b[n]}};
    form.result_axes = grouped_axes(result.size(), 2);
  }
  set_accumulator(op, form);
  return form;
}

AnchorForm row_form(Op* op, std::string kernel) {
  AnchorForm form;
  form.kernel = std::move(kernel);
  form.operands = {as_rows(op, op->operand(0))};
  form.results = {as_rows(op, op->result())};
  form.result_axes = grouped_axes(op->result()->type()->rank(), 1);
  return form;
}

AnchorForm rmsnorm_form(Op* op) {
  AnchorForm form = row_form(op, op->operand_count() == 2 ? "rmsnorm" : "rmsnorm_safe");
  if (op->operand_count() == 2) form.operands.push_back(as_vector(op, op->operand(1)));
  form.arguments["eps"] = op->attr("eps");
  return form;
}

AnchorForm embedding_form(Op* op) {
  AnchorForm form = row_form(op, "embedding");
  form.operands = {as_vector(op, op->operand(0)), op->operand(1)->type()->dims};
  return form;
}

AnchorForm cross_entropy_form(Op* op) {
  AnchorForm form = row_form(op, "cross_entropy");
  form.operands.push_back(as_vector(op, op->operand(1)));
  form.results = {as_vector(op, op->result())};
  form.result_axes = std::vector<int>(op->result()->type()->rank(), 0);
  return form;
}

AnchorForm call_form(Op* op) {
  AnchorForm form;
  form.kernel = op->string_attr("kernel");
  for (unsigned i = 0; i < op->operand_count(); ++i)
    form.operands.push_back(op->operand(i)->type()->dims);
  for (unsigned i = 0; i < op->result_count(); ++i)
    form.results.push_back(op->result(i)->type()->dims);
  if (op->result_count() != 0) {
    for (size_t i = 0; i < op->result(0)->type()->rank(); ++i) form.result_axes.push_back(int(i));
  }
  if (Attr arguments = op->attr("arguments")) {
    for (const auto& [name, value] : arguments->entries) form.arguments[name] = value;
  }
  form.strided = false;
  return form;
}

}  // namespace

AnchorForm anchor_form(Op* op) {
  AnchorForm form;
  switch (graph::kind_of(op)) {
    case OpKind::Gemm:
      form = gemm_form(op);
      break;
    case OpKind::Softmax:
      form = row_form(op, "softmax");
      break;
    case OpKind::Rmsnorm:
      form = rmsnorm_form(op);
      break;
    case OpKind::Embedding:
      form = embedding_form(op);
      break;
    case OpKind::CrossEntropy:
      form = cross_entropy_form(op);
      break;
    case OpKind::KernelCall:
      form = call_form(op);
      break;
    default:
      TSR_UNREACHABLE("not an anchor: " + std::string(op->name()));
  }
  form.transposed.resize(form.operands.size());
  return form;
}

std::optional<Access> anchor_access(DimTable& table, const AnchorForm& form, unsigned position,
                                    const Access& access) {
  Access permuted = access;
  const std::vector<int64_t>& perm = form.transposed[position];
  for (size_t i = 0; i < perm.size(); ++i) {
    permuted.dims[i] = access.dims[size_t(perm[i])];
    permuted.strides[i] = access.strides[size_t(perm[i])];
  }
  return reshape_access(table, permuted, form.operands[position]);
}

}  // namespace tessera
