#pragma once
// Builds graph ops with the result type inferred from the operands. Each function inserts one op at
// the builder's point and gives its result. Operands must obey the op's rules (ops.def): what a
// user may get wrong is checked before, with a diagnostic; here a wrong operand is a bug of the
// caller.
//
// Result types carry no numerics policies; `cast_to` makes a value of a given type, policies
// included.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/core/builder.h"
#include "ir/graph/ops.h"

namespace tessera::graph {

// Shapes.

/// The common shape of operands aligned at the right, where missing dims and extents of 1 repeat;
/// nullopt when two extents differ and neither is 1.
std::optional<std::vector<Dim>> broadcast_dims(Context& context,
                                               std::span<const std::vector<Dim>> shapes);
/// The dims of the matmul of the last two axes; nullopt when the operands do not fit.
std::optional<std::vector<Dim>> gemm_dims(Type a, Type b, bool transpose_a, bool transpose_b);
/// The dims left after combining those along `axes`, which are sorted; with `keep` they become 1.
std::vector<Dim> reduced_dims(Context& context, Type a, std::span<const int64_t> axes, bool keep);

// Elementwise ops. Operands have one shape, see broadcast_to.

/// Any elementwise op but a cast, by its meaning.
Value* elementwise(Builder& builder, ElementwiseKind kind, std::initializer_list<Value*> operands);
inline Value* neg(Builder& b, Value* x) {
  return elementwise(b, ElementwiseKind::Neg, {x});
}
inline Value* add(Builder& b, Value* x, Value* y) {
  return elementwise(b, ElementwiseKind::Add, {x, y});
}
inline Value* sub(Builder& b, Value* x, Value* y) {
  return elementwise(b, ElementwiseKind::Sub, {x, y});
}
inline Value* mul(Builder& b, Value* x, Value* y) {
  return elementwise(b, ElementwiseKind::Mul, {x, y});
}
inline Value* div(Builder& b, Value* x, Value* y) {
  return elementwise(b, ElementwiseKind::Div, {x, y});
}
inline Value* select(Builder& b, Value* condition, Value* x, Value* y) {
  return elementwise(b, ElementwiseKind::Select, {condition, x, y});
}
/// The elements in another dtype; `a` itself when it has that dtype and no policies.
Value* cast(Builder& builder, Value* a, DType dtype);
/// A value of exactly that type, whose dims are a's; `a` itself when it has it.
Value* cast_to(Builder& builder, Value* a, Type type);

// Values from nothing.

Value* full(Builder& builder, double value, std::vector<Dim> dims, DType dtype);
/// An integer constant of rank 0, exact for all 64 bits.
Value* scalar(Builder& builder, int64_t value, DType dtype);
Value* iota(Builder& builder, int64_t axis, std::vector<Dim> dims, DType dtype);
/// The value of a dimension expression as an i64 tensor of rank 0.
Value* dim(Builder& builder, Dim value);

// Other shapes.

/// `a` itself when it has these dims.
Value* broadcast_to(Builder& builder, Value* a, std::vector<Dim> dims);
/// `a` itself when it has these dims.
Value* reshape(Builder& builder, Value* a, std::vector<Dim> dims);
Value* transpose(Builder& builder, Value* a, const std::vector<int64_t>& perm);
/// Elements starts[i] + j*steps[i] for j < dims[i] along each axis i.
Value* slice(Builder& builder, Value* a, const std::vector<Dim>& starts,
             const std::vector<int64_t>& steps, std::vector<Dim> dims);
/// `count` windows of `size` elements along `axis`, see gir.windows.
Value* windows(Builder& builder, Value* a, int64_t axis, Dim count, Dim size, int64_t step, int64_t dilation);
Value* concat(Builder& builder, std::vector<Value*> parts, int64_t axis);

/// `buffer` with `update` from `start`, an i64 of rank 0, on along `axis`.
Value* update_slice(Builder& builder, Value* buffer, Value* update, Value* start, int64_t axis, bool wrap);

// Contractions, reductions and what neural networks are made of.

/// `kind` is "sum", "prod", "max" or "min"; `axes` are sorted.
Value* reduce(Builder& builder, Value* a, std::string_view kind, const std::vector<int64_t>& axes,
              bool keep = false);
Value* gemm(Builder& builder, Value* a, Value* b, DType accum, bool transpose_a = false,
            bool transpose_b = false);
Value* softmax(Builder& builder, Value* a);
/// `scale` may be null.
Value* rmsnorm(Builder& builder, Value* x, Value* scale, double eps);
struct Attention {
  Value* bias = nullptr;    ///< [B, H, S, T]
  Value* length = nullptr;  ///< an i64 tensor of rank 0
  Value* seed = nullptr;    ///< a u64 tensor of rank 0, for dropout
  std::optional<double> scale;
  bool rolling = false;     ///< `length` counts all keys there were, and the last T are there
  bool causal = false;
  std::optional<int64_t> window;
  double dropout = 0;
  int64_t stream = 0;
  bool sums = false;  ///< gives a second result
};
/// The results of gir.flash_attention.
std::vector<Value*> flash_attention(Builder& builder, Value* q, Value* k, Value* v,
                                    const Attention& options);
Value* embedding(Builder& builder, Value* ids, Value* table);
Value* cross_entropy(Builder& builder, Value* logits, Value* targets);
/// `seed` is a u64 tensor of rank 0; the result is f32.
Value* philox_uniform(Builder& builder, Value* seed, int64_t stream, std::vector<Dim> dims);
Value* philox_normal(Builder& builder, Value* seed, int64_t stream, std::vector<Dim> dims);

}  // namespace tessera::graph
