#include "passes/analysis/parts_form.h"

#include "ir/graph/attention.h"
#include "ir/graph/ops.h"

namespace tessera {

namespace {

using graph::OpKind;

/// No source can name it.
constexpr std::string_view count_name = "parts.";

/// Of a matmul, and of a call of a kernel that sums as one does: its first operand ends in the axis that is summed.
PartsForm gemm_parts(Op* op, const AnchorForm& form) {
  Context& context = op->module()->context();
  DimTable& table = context.dims();
  PartsForm made;
  made.count = table.symbol(std::string(count_name));
  made.axis = "k";
  made.length = form.operands[0].back();
  made.parts = form;
  made.parts.kernel += "_parts";
  std::vector<Dim> part = form.results[0], several = form.results[0];
  bool is_batched = part.size() == 3;
  Dim leading = is_batched ? table.mul(made.count, part[0]) : made.count;
  if (is_batched) part.erase(part.begin());
  part.insert(part.begin(), leading);
  several.insert(several.begin(), made.count);
  made.parts.results = {part};
  made.parts.arguments["Q"] = context.dim(leading);
  made.joined.kernel = is_batched ? "matmul_batched_joined" : "matmul_joined";
  made.joined.operands = {several};
  made.joined.results = form.results;
  made.joined.result_axes = form.result_axes;
  return made;
}

PartsForm attention_parts(Op* op, const AnchorForm& form, int64_t shared) {
  Context& context = op->module()->context();
  DimTable& table = context.dims();
  PartsForm made;
  made.count = table.symbol(std::string(count_name));
  made.parts = form;
  made.parts.kernel += "_parts";
  made.joined.kernel = form.kernel + "_joined";
  std::vector<Dim> q = form.operands[0], v = form.operands[2];
  made.axis = "n";
  made.length = v[2];
  Dim heads = table.constant(shared), rows = table.mul(heads, q[2]), leading = table.mul(made.count, q[0]);
  Dim tiles = shared == 1 ? q[1] : v[1];
  auto packed = [&](const std::vector<Dim>& dims) { return std::vector<Dim>{dims[0], tiles, rows, dims[3]}; };
  made.parts.operands[0] = packed(q);
  if (op->in(graph::in::FlashAttention::bias)) made.parts.operands[3] = packed(form.operands[3]);
  made.parts.results = {{leading, tiles, rows, v[3]}, {leading, tiles, rows}, {leading, tiles, rows}};
  made.parts.arguments["Q"] = context.dim(leading);
  made.parts.arguments["shared"] = context.integer(shared);
  if (shared > 1) made.rows = rows;
  std::vector<Dim> sums = {made.count, q[0], q[1], q[2]}, values = sums;
  values.push_back(v[3]);
  made.joined.operands = {values, sums, sums};
  made.joined.results = form.results;
  made.joined.result_axes = form.result_axes;
  return made;
}

/// Whether kernels of attention have tiles of numbers: sizes choose among depths otherwise.
bool has_parts(Op* op, const AnchorForm& form) {
  bool is_plain = op->result_count() == 1 && !op->has(graph::attr::FlashAttention::dropout);
  return is_plain && form.operands[0][3]->constant() && form.operands[2][3]->constant();
}

}  // namespace

std::optional<PartsForm> parts_form(Op* anchor, const AnchorForm& form, bool packed) {
  if (anchor->is(graph::info(OpKind::Gemm))) {
    return is_plain_matmul(form) && !packed ? std::optional(gemm_parts(anchor, form)) : std::nullopt;
  }
  if (anchor->is(graph::info(OpKind::KernelCall))) {
    return packed ? std::nullopt : std::optional(gemm_parts(anchor, form));
  }
  if (!anchor->is(graph::info(OpKind::FlashAttention)) || !has_parts(anchor, form)) return std::nullopt;
  std::optional<int64_t> shared = graph::heads_per_group(form.operands[0][1], form.operands[1][1]);
  if (!shared || (packed && *shared == 1)) return std::nullopt;
  return attention_parts(anchor, form, packed ? *shared : 1);
}

}  // namespace tessera
