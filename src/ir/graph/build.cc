#include "ir/graph/build.h"

#include <algorithm>

#include "ir/graph/op_facts.h"
#include "support/check.h"

namespace tessera::graph {

std::optional<std::vector<Dim>> broadcast_dims(Context& context,
                                               std::span<const std::vector<Dim>> shapes) {
  size_t rank = 0;
  for (const auto& shape : shapes) rank = std::max(rank, shape.size());
  std::vector<Dim> dims(rank, context.dims().constant(1));
  for (const auto& shape : shapes) {
    for (size_t i = 0; i < shape.size(); ++i) {
      Dim& common = dims[rank - shape.size() + i];
      if (shape[i] == common || shape[i]->is_constant(1)) continue;
      if (!common->is_constant(1)) return std::nullopt;
      common = shape[i];
    }
  }
  return dims;
}

std::optional<std::vector<Dim>> gemm_dims(Type a, Type b, bool transpose_a, bool transpose_b) {
  if (a->rank() < 2 || b->rank() < 2) return std::nullopt;
  size_t leading = a->rank() - 2;
  std::vector<Dim> dims(a->dims.begin(), a->dims.end() - 2);
  if (b->rank() != 2) {
    if (b->rank() != a->rank()) return std::nullopt;
    if (!std::equal(dims.begin(), dims.end(), b->dims.begin())) return std::nullopt;
  }
  Dim m = a->dims[leading + transpose_a], k = a->dims[leading + !transpose_a];
  Dim b_k = b->dims[b->rank() - 2 + transpose_b], n = b->dims[b->rank() - 2 + !transpose_b];
  if (k != b_k) return std::nullopt;
  dims.push_back(m);
  dims.push_back(n);
  return dims;
}

std::vector<Dim> reduced_dims(Context& context, Type a, std::span<const int64_t> axes, bool keep) {
  std::vector<Dim> dims;
  for (size_t i = 0; i < a->rank(); ++i) {
    bool reduced = std::find(axes.begin(), axes.end(), int64_t(i)) != axes.end();
    if (!reduced) dims.push_back(a->dims[i]);
    if (reduced && keep) dims.push_back(context.dims().constant(1));
  }
  return dims;
}

namespace {

/// An op the types of whose results its row infers. The rule reads the op, which has any type until then.
Op* inferred_op(Builder& builder, OpKind kind, std::vector<std::vector<Value*>> operands,
                std::vector<OpAttr> attributes = {}, size_t results = 1) {
  std::vector<Type> types(results, builder.context().tensor({}, DType::F32));
  Op* op = builder.op(info(kind), std::move(operands), std::move(types), std::move(attributes));
  for (unsigned i = 0; i < op->result_count(); ++i) op->result(i)->set_type(facts(op).infer(op, i));
  return op;
}

Value* inferred(Builder& builder, OpKind kind, std::vector<std::vector<Value*>> operands,
                std::vector<OpAttr> attributes = {}) {
  return inferred_op(builder, kind, std::move(operands), std::move(attributes))->result();
}

}  // namespace

Value* elementwise(Builder& builder, ElementwiseKind kind, std::initializer_list<Value*> operands) {
  const ElementwiseInfo& row = elementwise_info(kind);
  TSR_CHECK(row.cls != ElementwiseClass::Convert, "a cast is built by cast or cast_to");
  TSR_CHECK(operands.size() == row.operands,
            "an elementwise op was built with too few or many operands");
  std::vector<std::vector<Value*>> slots;
  for (Value* value : operands) slots.push_back({value});
  Type type = (*(operands.end() - 1))->type();
  DType result = row.cls == ElementwiseClass::Compare ? DType::Bool : type->dtype;
  return builder.value(info(kind), std::move(slots), builder.context().with_dtype(type, result));
}

Value* cast(Builder& builder, Value* a, DType dtype) {
  return cast_to(builder, a, builder.context().with_dtype(a->type(), dtype));
}

Value* cast_to(Builder& builder, Value* a, Type type) {
  TSR_CHECK(same_dims(a->type(), type), "a cast keeps the dims");
  if (a->type() == type) return a;
  return builder.value(info(ElementwiseKind::Cast), {{a}}, type);
}

Value* full(Builder& builder, double value, std::vector<Dim> dims, DType dtype) {
  Context& context = builder.context();
  return builder.value(info(OpKind::Full), {}, context.tensor(std::move(dims), dtype),
                       {attr::Full::value(context, value)});
}

Value* scalar(Builder& builder, int64_t value, DType dtype) {
  Context& context = builder.context();
  return builder.value(info(OpKind::Constant), {}, context.tensor({}, dtype),
                       {attr::Constant::values(context.integers({value}))});
}

Value* iota(Builder& builder, int64_t axis, std::vector<Dim> dims, DType dtype) {
  Context& context = builder.context();
  return builder.value(info(OpKind::Iota), {}, context.tensor(std::move(dims), dtype),
                       {attr::Iota::axis(context, axis)});
}

Value* dim(Builder& builder, Dim value) {
  return inferred(builder, OpKind::Dim, {}, {attr::Dim::value(builder.context(), value)});
}

namespace {

/// The type of `a` without policies, under other dims.
Type with_dims(Builder& builder, Value* a, std::vector<Dim> dims) {
  return builder.context().tensor(std::move(dims), a->type()->dtype);
}

}  // namespace

Value* broadcast_to(Builder& builder, Value* a, std::vector<Dim> dims) {
  if (a->type()->dims == dims) return a;
  return builder.value(info(OpKind::Broadcast), {{a}}, with_dims(builder, a, std::move(dims)));
}

Value* reshape(Builder& builder, Value* a, std::vector<Dim> dims) {
  if (a->type()->dims == dims) return a;
  return builder.value(info(OpKind::Reshape), {{a}}, with_dims(builder, a, std::move(dims)));
}

Value* transpose(Builder& builder, Value* a, const std::vector<int64_t>& perm) {
  TSR_CHECK(perm.size() == a->type()->rank(), "a transpose names every axis");
  return inferred(builder, OpKind::Transpose, {{a}}, {attr::Transpose::perm(builder.context(), perm)});
}

Value* slice(Builder& builder, Value* a, const std::vector<Dim>& starts,
             const std::vector<int64_t>& steps, std::vector<Dim> dims) {
  Context& context = builder.context();
  return builder.value(
      info(OpKind::Slice), {{a}}, with_dims(builder, a, std::move(dims)),
      {attr::Slice::starts(context, starts), attr::Slice::steps(context, steps)});
}

Value* windows(Builder& builder, Value* a, int64_t axis, Dim count, Dim size, int64_t step, int64_t dilation) {
  Context& context = builder.context();
  std::vector<Dim> dims = a->type()->dims;
  dims[size_t(axis)] = count;
  dims.push_back(size);
  return builder.value(info(OpKind::Windows), {{a}}, with_dims(builder, a, std::move(dims)),
                       {attr::Windows::axis(context, axis),
                        attr::Windows::dilation(context, dilation),
                        attr::Windows::step(context, step)});
}

Value* concat(Builder& builder, std::vector<Value*> parts, int64_t axis) {
  TSR_CHECK(!parts.empty(), "a concatenation has a part");
  return inferred(builder, OpKind::Concat, {std::move(parts)}, {attr::Concat::axis(builder.context(), axis)});
}

Value* update_slice(Builder& builder, Value* buffer, Value* update, Value* start, int64_t axis, bool wrap) {
  Context& context = builder.context();
  return inferred(builder, OpKind::UpdateSlice, {{buffer}, {update}, {start}},
                  {attr::UpdateSlice::axis(context, axis), attr::UpdateSlice::wrap(context, wrap)});
}

Value* reduce(Builder& builder, Value* a, std::string_view kind, const std::vector<int64_t>& axes,
              bool keep) {
  Context& context = builder.context();
  return inferred(
      builder, OpKind::Reduce, {{a}},
      {attr::Reduce::kind(context, kind), attr::Reduce::axes(context, axes), attr::Reduce::keep(context, keep)});
}

Value* gemm(Builder& builder, Value* a, Value* b, DType accum, bool transpose_a, bool transpose_b) {
  Context& context = builder.context();
  return inferred(builder, OpKind::Gemm, {{a}, {b}},
                  {attr::Gemm::accum(context, accum), attr::Gemm::transpose_a(context, transpose_a),
                   attr::Gemm::transpose_b(context, transpose_b)});
}

Value* softmax(Builder& builder, Value* a) {
  return inferred(builder, OpKind::Softmax, {{a}});
}

Value* rmsnorm(Builder& builder, Value* x, Value* scale, double eps) {
  std::vector<Value*> scales;
  if (scale) scales.push_back(scale);
  return inferred(builder, OpKind::Rmsnorm, {{x}, std::move(scales)}, {attr::Rmsnorm::eps(builder.context(), eps)});
}

std::vector<Value*> flash_attention(Builder& builder, Value* q, Value* k, Value* v,
                                    const Attention& options) {
  Context& context = builder.context();
  auto slot = [](Value* value) { return value ? std::vector<Value*>{value} : std::vector<Value*>{}; };
  std::vector<OpAttr> attributes{attr::FlashAttention::causal(context, options.causal),
                                 attr::FlashAttention::rolling(context, options.rolling)};
  if (options.scale) attributes.push_back(attr::FlashAttention::scale(context, *options.scale));
  if (options.window) attributes.push_back(attr::FlashAttention::window(context, *options.window));
  if (options.dropout != 0) {
    attributes.push_back(attr::FlashAttention::dropout(context, options.dropout));
    attributes.push_back(attr::FlashAttention::stream(context, options.stream));
  }
  Op* op = inferred_op(builder, OpKind::FlashAttention,
                       {{q}, {k}, {v}, slot(options.bias), slot(options.length),
                        slot(options.dropout != 0 ? options.seed : nullptr)},
                       std::move(attributes), options.sums ? 2 : 1);
  std::vector<Value*> results;
  for (unsigned i = 0; i < op->result_count(); ++i) results.push_back(op->result(i));
  return results;
}

Value* embedding(Builder& builder, Value* ids, Value* table) {
  return inferred(builder, OpKind::Embedding, {{ids}, {table}});
}

Value* cross_entropy(Builder& builder, Value* logits, Value* targets) {
  return inferred(builder, OpKind::CrossEntropy, {{logits}, {targets}});
}

namespace {

Value* philox(Builder& builder, OpKind kind, Value* seed, int64_t stream, std::vector<Dim> dims) {
  Context& context = builder.context();
  return builder.value(info(kind), {{seed}}, context.tensor(std::move(dims), DType::F32),
                       {attr::PhiloxUniform::stream(context, stream)});
}

}  // namespace

Value* philox_uniform(Builder& builder, Value* seed, int64_t stream, std::vector<Dim> dims) {
  return philox(builder, OpKind::PhiloxUniform, seed, stream, std::move(dims));
}

Value* philox_normal(Builder& builder, Value* seed, int64_t stream, std::vector<Dim> dims) {
  return philox(builder, OpKind::PhiloxNormal, seed, stream, std::move(dims));
}

}  // namespace tessera::graph
