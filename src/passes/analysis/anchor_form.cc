#include "passes/analysis/anchor_form.h"

#include <algorithm>

#include "ir/graph/ops.h"
#include "ir/schedule/schedule_keys.h"
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
  DType accum = op->attr(graph::attr::Gemm::accum);
  form.arguments["total"] = context.dtype(accum);
  if (!is_float(accum) || dtype_info(accum).bits != 16) return;
  form.kernel += "_rounded";
  schedule::give(form.schedule, schedule::key::block(context.dict({{"k", context.integer(64)}})));
}

AnchorForm gemm_form(Op* op) {
  DimTable& table = table_of(op);
  std::vector<Dim> a = op->in(graph::in::Gemm::a)->type()->dims;
  std::vector<Dim> b = op->in(graph::in::Gemm::b)->type()->dims;
  const std::vector<Dim>& result = op->result()->type()->dims;
  AnchorForm form;
  form.transposed.resize(2);
  if (op->attr(graph::attr::Gemm::transpose_a)) {
    form.transposed[0] = swap_last(a.size());
    std::swap(a[a.size() - 1], a[a.size() - 2]);
  }
  if (op->attr(graph::attr::Gemm::transpose_b)) {
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
  form.arguments["eps"] = op->node(graph::attr::Rmsnorm::eps);
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

/// Operands and results as they are; a bias, a length and a seed are left out where there is none.
AnchorForm attention_form(Op* op) {
  AnchorForm form;
  form.kernel = "flash_attention_2";
  if (op->has(graph::attr::FlashAttention::dropout)) form.kernel += "_dropout";
  if (op->result_count() == 2) form.kernel += "_lse";
  for (unsigned slot = 0; slot < op->slot_count(); ++slot) {
    for (Value* operand : op->ins(slot)) {
      form.operands.push_back(operand->type()->dims);
      form.parameters.push_back(slot);
    }
  }
  for (unsigned i = 0; i < op->result_count(); ++i)
    form.results.push_back(op->result(i)->type()->dims);
  form.result_axes = {0, 1, 2, 3};
  auto pass = [&](auto key) {
    if (Attr value = op->node(key)) form.arguments[std::string(key.name)] = value;
  };
  using graph::attr::FlashAttention;
  pass(FlashAttention::causal);
  pass(FlashAttention::rolling);
  pass(FlashAttention::window);
  pass(FlashAttention::scale);
  pass(FlashAttention::dropout);
  pass(FlashAttention::stream);
  return form;
}

AnchorForm call_form(Op* op) {
  AnchorForm form;
  form.kernel = op->attr(graph::attr::KernelCall::kernel);
  for (unsigned i = 0; i < op->operand_count(); ++i)
    form.operands.push_back(op->operand(i)->type()->dims);
  for (unsigned i = 0; i < op->result_count(); ++i)
    form.results.push_back(op->result(i)->type()->dims);
  if (op->result_count() != 0) {
    for (size_t i = 0; i < op->result(0)->type()->rank(); ++i) form.result_axes.push_back(int(i));
  }
  if (op->has(graph::attr::KernelCall::parameters)) {
    for (int64_t number : op->attr(graph::attr::KernelCall::parameters))
      form.parameters.push_back(size_t(number));
  }
  if (Attr arguments = op->attr(graph::attr::KernelCall::arguments)) {
    for (const auto& [name, value] : arguments->entries) form.arguments[name] = value;
  }
  if (Attr sizes = op->attr(graph::attr::KernelCall::sizes)) {
    for (const auto& [name, value] : sizes->entries) form.sizes[name] = value->dim;
  }
  form.strided = false;
  return form;
}

}  // namespace

bool is_plain_matmul(const AnchorForm& form) { return form.kernel == "matmul" || form.kernel == "matmul_batched"; }

bool is_convolution(const AnchorForm& form) { return form.kernel == "convolution"; }

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
    case OpKind::FlashAttention:
      form = attention_form(op);
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

namespace {

/// Axes that lie one after the other in memory count as one: the number of runs among axes [begin, end), counted from
/// the last one, that each axis belongs to. Axes of one element belong to the run behind them.
size_t find_runs(DimTable& table, const Access& access, size_t begin, size_t end, std::vector<size_t>& run_of) {
  size_t runs = 0;
  Dim outer = nullptr;
  for (size_t i = end; i-- > begin;) {
    if (access.dims[i]->is_constant(1)) {
      run_of[i] = runs == 0 ? 0 : runs - 1;
      continue;
    }
    if (!outer || access.strides[i] != outer) ++runs;
    run_of[i] = runs - 1;
    outer = table.mul(access.strides[i], access.dims[i]);
  }
  return runs;
}

/// Windows in a row from which on each of their runs is worth a pass over the matrix.
constexpr int64_t enough_windows = 28;

}  // namespace

std::optional<AnchorForm> window_matmul_form(Op* gemm, Op* windows, const Access& access) {
  DimTable& table = table_of(gemm);
  const std::vector<Dim>& rows = windows->result()->type()->dims;
  const std::vector<Dim>& b = gemm->in(graph::in::Gemm::b)->type()->dims;
  DType dtype = gemm->in(graph::in::Gemm::a)->type()->dtype;
  size_t lead = rows.size() - 1, rank = access.dims.size();
  bool fits = b.size() == 2 && !gemm->attr(graph::attr::Gemm::transpose_a) &&
              !gemm->attr(graph::attr::Gemm::transpose_b) && rank > lead &&
              std::equal(rows.begin(), rows.begin() + long(lead), access.dims.begin());
  if (!fits || (dtype != DType::F32 && dtype != DType::F64)) return std::nullopt;
  std::vector<size_t> run_of(rank);
  size_t row_runs = find_runs(table, access, 0, lead, run_of);
  size_t inner_runs = find_runs(table, access, lead, rank, run_of);
  if (row_runs > 3 || inner_runs != 2) return std::nullopt;
  // Axes of the kernel: P, Y, R, X, K.
  std::vector<std::vector<int64_t>> axes(5);
  for (size_t i = 0; i < rank; ++i) {
    size_t place = i < lead ? (run_of[i] == 0 ? 3 : 2 - run_of[i]) : (run_of[i] == 0 ? 4 : 2);
    axes[place].push_back(int64_t(i));
  }
  AnchorForm form;
  form.kernel = "matmul_windows";
  form.operands.resize(2);
  form.transposed.resize(2);
  for (const std::vector<int64_t>& group : axes) {
    std::vector<Dim> extents;
    for (int64_t axis : group) extents.push_back(access.dims[size_t(axis)]);
    form.operands[0].push_back(count_elements(table, extents));
    form.transposed[0].insert(form.transposed[0].end(), group.begin(), group.end());
  }
  const std::vector<Dim>& dims = form.operands[0];
  std::optional<int64_t> in_a_row = dims[3]->constant();
  if (in_a_row && *in_a_row < enough_windows) return std::nullopt;
  form.operands[1] = {dims[2], dims[4], b[1]};
  form.results = {{table.mul(dims[0], dims[1]), dims[3], b[1]}};
  for (size_t i = 0; i < lead; ++i) form.result_axes.push_back(run_of[i] == 0 ? 1 : 0);
  form.result_axes.push_back(2);
  set_accumulator(gemm, form);
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
