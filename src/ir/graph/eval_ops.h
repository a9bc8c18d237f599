#pragma once
// The ops of the interpreter, on concrete tensors. Each fills a result that has been allocated with
// the dims of its type and the dtype it is held in; operands are held likewise (eval.h). Shapes
// have been verified.

#include <optional>
#include <span>

#include "ir/numbers/tensor.h"

namespace tessera::graph {

using Extents = std::vector<int64_t>;

/// Elements of a strided window of a tensor, in row-major order of the result's extents. Strides
/// and offset count elements; all addressed elements lie in `from`.
void copy_strided(const TensorValue& from, const Extents& strides, int64_t offset, TensorValue& to);
/// The strides of contiguous row-major extents.
Extents row_major_strides(const Extents& dims);

void eval_elementwise(ElementwiseKind kind, DType dtype,
                      std::span<const TensorValue* const> operands, TensorValue& result);
/// A cast; `saturate` clamps an overflowing float to the largest finite value.
void eval_cast(const TensorValue& a, bool saturate, TensorValue& result);

void eval_iota(int64_t axis, TensorValue& result);
void eval_broadcast(const TensorValue& a, TensorValue& result);
void eval_transpose(const TensorValue& a, std::span<const int64_t> perm, TensorValue& result);
void eval_concat(std::span<const TensorValue* const> parts, int64_t axis, TensorValue& result);
/// Writes the update over the elements of `buffer` from `start` on along `axis`; one that would not fit
/// changes nothing, or goes round where it `wraps`.
void eval_update_slice(const TensorValue& update, int64_t start, int64_t axis, bool wraps,
                       TensorValue& buffer);
void eval_embedding(const TensorValue& ids, const TensorValue& table, TensorValue& result);

/// How a reduction combines: an elementwise op, and what no element gives.
struct Reduction {
  ElementwiseKind combine;
  Element identity;
};
Reduction reduction(std::string_view kind, DType dtype);
void eval_reduce(const TensorValue& a, std::string_view kind, std::span<const int64_t> axes,
                 TensorValue& result);

/// `operand` is the dtype of a and b in the IR, which decides how often partial sums are rounded.
struct GemmOptions {
  DType operand;
  DType accum;
  bool transpose_a = false;
  bool transpose_b = false;
};
void eval_gemm(const TensorValue& a, const TensorValue& b, const GemmOptions& options,
               TensorValue& result);

void eval_softmax(const TensorValue& a, TensorValue& result);
/// `scale` may be null.
void eval_rmsnorm(const TensorValue& x, const TensorValue* scale, double eps, TensorValue& result);
void eval_cross_entropy(const TensorValue& logits, const TensorValue& targets, TensorValue& result);

struct AttentionInputs {
  const TensorValue& q;
  const TensorValue& k;
  const TensorValue& v;
  const TensorValue* bias = nullptr;
  int64_t length = 0;  ///< keys that are there
};
struct AttentionOptions {
  std::optional<double> scale;
  bool causal = false;
  bool rolling = false;
  std::optional<int64_t> window;
  double dropout = 0;
  uint64_t key = 0;  ///< of Philox, where there is dropout
};
/// `sums` may be null.
void eval_flash_attention(const AttentionInputs& in, const AttentionOptions& options,
                          TensorValue& result, TensorValue* sums);

void eval_philox_uniform(uint64_t key, TensorValue& result);
void eval_philox_normal(uint64_t key, TensorValue& result);

}  // namespace tessera::graph
