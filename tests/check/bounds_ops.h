#pragma once
// The rules of single ops; results have been given their dtype and extents, and are filled.

#include <optional>
#include <string_view>

#include "check/range.h"
#include "ir/core/op.h"

namespace tessera::check {

using Extents = std::vector<int64_t>;

Extents row_strides(const Extents& dims);
/// Elements offset + sum(index * stride) of `from`, in row-major order of the result.
void rearrange(const RangeTensor& from, const Extents& strides, int64_t offset, RangeTensor& result);
void concatenate(std::span<const RangeTensor* const> parts, size_t axis, RangeTensor& result);

/// A sum, product or extreme of elements in any order, each step rounded to the dtype.
Range reduced(std::string_view kind, DType dtype, std::span<const Range> elements);
void reduce(const RangeTensor& a, std::string_view kind, std::span<const int64_t> axes, RangeTensor& result);

/// A matmul summed in `accum`, in any order.
struct Product {
  DType accum;
  bool transpose_a, transpose_b;
};
void multiply(const RangeTensor& a, const RangeTensor& b, const Product& product, RangeTensor& result);

void softmax(const RangeTensor& a, RangeTensor& result);
/// `scale` may be null.
void rmsnorm(const RangeTensor& x, const RangeTensor* scale, double eps, RangeTensor& result);
void cross_entropy(const RangeTensor& logits, const RangeTensor& targets, RangeTensor& result);
void embed(const RangeTensor& ids, const RangeTensor& table, RangeTensor& result);
/// Normal numbers: what the interpreter gives, and what other functions may give.
void normal(uint64_t key, RangeTensor& result);
void uniform(uint64_t key, RangeTensor& result);

/// The operands of attention; `bias` may be null. The scale is one of the graph's or 1 / sqrt(D).
struct AttentionRanges {
  const RangeTensor *q, *k, *v, *bias;
  int64_t length;
  double scale;
  bool causal;
  std::optional<int64_t> window;
};
/// `sums` may be null.
void attend(const AttentionRanges& in, RangeTensor& result, RangeTensor* sums);
/// `result` holds the buffer, and elements start + j along the axis become those of the update.
void update_slice(const RangeTensor& update, int64_t start, size_t axis, bool wraps, RangeTensor& result);

}  // namespace tessera::check
