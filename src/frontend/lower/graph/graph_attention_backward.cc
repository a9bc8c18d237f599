// Derivatives of attention by the kernels of stdlib/flash_attention_backward.tsr, which never have all weights in
// memory.

#include <cmath>

#include "frontend/lower/graph/graph_builder.h"
#include "ir/graph/attention.h"
#include "ir/graph/derive/backward.h"
#include "support/check.h"

namespace tessera::frontend {

using graph::OpKind;
using slot = graph::in::FlashAttention;
using Option = graph::attr::FlashAttention;

namespace {

/// Whether the kernels take an attention: one of plain scores, of heads whose rows registers hold, and of more weights
/// than are as well in memory.
bool has_kernels(Op* op) {
  constexpr int64_t largest_head = 128, few_weights = 64 * 64;
  if (op->operand_count() != 3 || op->attr(Option::rolling)) return false;
  const std::vector<Dim>& q = op->in(slot::q)->type()->dims;
  const std::vector<Dim>& v = op->in(slot::v)->type()->dims;
  if (op->in(slot::q)->type()->dtype == DType::F64) return false;
  for (Dim head : {q[3], v[3]}) {
    auto known = head->constant();
    if (!known || *known > largest_head) return false;
  }
  auto rows = q[2]->constant(), keys = v[2]->constant();
  return !rows || !keys || *rows * *keys > few_weights;
}

Value* zero_or(Value* cotangent, Value* like, Builder& builder) {
  const Type type = like->type();
  return cotangent ? cotangent : graph::full(builder, 0, type->dims, type->dtype);
}

}  // namespace

/// Sets the tangents of attention that is taken backwards once; false where it is decomposed.
bool GraphBuilder::push_attention(Op* op, graph::Forward& forward) {
  bool is_once = forward.purpose() == graph::Forward::Purpose::Transposed && function_.recorded == 0 &&
                 function_.mapped == 0;
  if (!is_once || !op->is(graph::info(OpKind::FlashAttention)) || !has_kernels(op)) return false;
  // The kernels need the sums of the rows, too.
  Builder before(*op->module());
  before.set_before(op);
  before.set_loc(op->loc());
  graph::Attention options;
  options.scale = op->attr(Option::scale);
  options.causal = op->attr(Option::causal);
  options.window = op->attr(Option::window);
  options.sums = true;
  std::vector<Value*> inputs = {op->in(slot::q), op->in(slot::k), op->in(slot::v)}, tangents;
  std::vector<Value*> outputs = graph::flash_attention(before, inputs[0], inputs[1], inputs[2], options);
  for (unsigned i = 0; i < op->result_count(); ++i) forward.replace(op->result(i), outputs[i]);
  std::vector<Type> types;
  for (unsigned i = 0; i < op->result_count(); ++i) types.push_back(outputs[i]->type());
  for (Value* input : inputs) tangents.push_back(forward.tangent_or_zero(input));
  Op* linear = forward.builder().op(
      graph::info(OpKind::CustomTangent), {inputs, outputs, tangents}, types,
      {graph::attr::CustomTangent::call(context(), int64_t(function_.custom_calls.size()))});
  function_.custom_calls.push_back({nullptr, outputs[0]->def(), {}, {}});
  for (unsigned i = 0; i < op->result_count(); ++i) forward.set(outputs[i], linear->result(i));
  return true;
}

/// Adds to the cotangents of q, k and v, by attention_backward of the library.
void GraphBuilder::pull_attention(Op* op, Op& attention, graph::Backward& backward, Loc loc) {
  std::vector<Value*> inputs = op->ins(graph::in::CustomTangent::inputs);
  std::vector<Value*> outputs = op->ins(graph::in::CustomTangent::outputs);
  std::vector<Value*> tangents = op->ins(graph::in::CustomTangent::tangents);
  SourceModule* library = session().load_library("tessera.flash_attention_backward");
  TSR_CHECK(library, "the library has a module for the derivatives of attention");
  auto tensor = [&](Value* value) { return handle(value, {value->type()->dtype, {}, false}, loc); };
  Value* dy = zero_or(backward.cotangent(op->result(0)), outputs[0], builder_);
  Value* dlse = op->result_count() == 2 ? backward.cotangent(op->result(1)) : nullptr;
  auto shared = graph::heads_per_group(inputs[0]->type()->dims[1], inputs[1]->type()->dims[1]);
  double depth = double(*inputs[0]->type()->dims[3]->constant());
  double scale = attention.attr(Option::scale).value_or(1 / std::sqrt(depth));
  std::vector<CallArgument> arguments;
  for (Value* value : {inputs[0], inputs[1], inputs[2], outputs[0], outputs[1], dy}) {
    arguments.push_back({"", tensor(value), loc});
  }
  arguments.push_back({"", dlse ? tensor(dlse) : Datum::none(), loc});
  arguments.push_back({"shared", Datum::integer(*shared), loc});
  arguments.push_back({"causal", Datum::boolean(attention.attr(Option::causal)), loc});
  arguments.push_back({"window", Datum::integer(attention.attr(Option::window).value_or(0)), loc});
  arguments.push_back({"scale", Datum::number(scale), loc});
  Datum function = evaluator_.lookup("attention_backward", *library->scope, loc);
  Datum given = evaluator_.call(function, std::move(arguments), loc);
  if (given.is_poison()) return backward.refuse(op, "");
  for (size_t i = 0; i < tangents.size(); ++i) {
    Value* cotangent = stored(given.elements()[i].as_ir());
    backward.add(tangents[i], convert(cotangent, tangents[i]->type()->dtype));
  }
}

}  // namespace tessera::frontend
