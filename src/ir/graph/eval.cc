// Walks a function's ops in order with a table of the values that are still needed. A value is
// dropped after its last use, so that only live values take memory. Values around a region that it
// uses are dropped when the op with that region is done.

#include "ir/graph/eval.h"

#include <fmt/format.h>

#include <unordered_map>

#include "ir/graph/eval_ops.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera::graph {

DType held_dtype(EvalMode mode, DType dtype) {
  return mode == EvalMode::F64 && is_float(dtype) ? DType::F64 : dtype;
}

namespace {


class Evaluator {
 public:
  Evaluator(DimValues dims, const EvalOptions& options, DiagnosticEngine& diagnostics)
      : dims_(std::move(dims)), options_(options), diagnostics_(diagnostics) {}

  Result<std::vector<TensorValue>> run(Op* function, std::vector<TensorValue> arguments);

 private:
  struct Held {
    TensorValue value;
    size_t uses;   ///< still to come
    size_t depth;  ///< of the region it was made in
  };

  const TensorValue& in(Op* op, unsigned slot, unsigned i = 0) const {
    return values_.at(op->in(slot, i)).value;
  }
  void hold(Value* value, TensorValue tensor);
  void drop(std::unordered_map<Value*, Held>::iterator held);
  void release(Value* value);
  void release_operands(Op* op);
  void release_captured(Op* op);
  /// The value itself after its last use, else a copy; nullopt when there is no memory for one.
  std::optional<TensorValue> take(Value* value);

  std::optional<int64_t> size(Dim dim) const { return tessera::evaluate(dim, dims_); }
  std::optional<Extents> extents(Type type) const { return tessera::evaluate(type->dims, dims_); }
  Result<TensorValue> allocate(Op* op, Type type);
  Status too_large(Op* op, Type type);

  Status evaluate_op(Op* op);
  Status compute(Op* op, TensorValue& result);
  Status reshape(Op* op);
  Status slice(Op* op, TensorValue& result);
  Status windows(Op* op, TensorValue& result);
  Status call(Op* op);
  Status flash_attention(Op* op);
  Status update_slice(Op* op);
  Status check(Op* op);
  Status loop(Op* op);
  Status repeat(Op* op);
  std::optional<bool> is_taken(Op* op) const;
  Status branch(Op* op);
  Status run_ops(Block* block);
  Result<std::vector<TensorValue>> take_all(Op* op, unsigned slot);
  Result<std::vector<TensorValue>> run_region(Op* op, unsigned region,
                                              std::vector<TensorValue> arguments);
  Status finish(Op* op, std::vector<TensorValue> results);
  void elementwise(Op* op, TensorValue& result);
  void constant(Op* op, TensorValue& result);
  void gemm(Op* op, TensorValue& result);
  Element rounded(Attr value, DType dtype) const;
  uint64_t philox_key(Op* op) const;

  DimValues dims_;
  const EvalOptions& options_;
  DiagnosticEngine& diagnostics_;
  std::unordered_map<Value*, Held> values_;
  uint64_t bytes_ = 0;  ///< of the values
  size_t depth_ = 0;
  size_t total_ = 0, done_ = 0;  ///< ops of the function's own block
};

void Evaluator::hold(Value* value, TensorValue tensor) {
  size_t uses = value->count_uses();
  if (!uses) return;
  size_t bytes = tensor.byte_count();
  if (values_.emplace(value, Held{std::move(tensor), uses, depth_}).second) bytes_ += bytes;
}

void Evaluator::drop(std::unordered_map<Value*, Held>::iterator held) {
  bytes_ -= held->second.value.byte_count();
  values_.erase(held);
}

void Evaluator::release(Value* value) {
  auto it = values_.find(value);
  bool own = it != values_.end() && it->second.depth == depth_;
  if (own && --it->second.uses == 0) drop(it);
}

void Evaluator::release_operands(Op* op) {
  for (unsigned i = 0; i < op->operand_count(); ++i) release(op->operand(i));
}

void Evaluator::release_captured(Op* op) {
  walk(op, [&](Op* inner) { release_operands(inner); });
}

std::optional<TensorValue> Evaluator::take(Value* value) {
  auto it = values_.find(value);
  Held& held = it->second;
  if (held.depth < depth_) return held.value.clone();
  if (held.uses > 1) {
    --held.uses;
    return held.value.clone();
  }
  bytes_ -= held.value.byte_count();
  TensorValue taken = std::move(held.value);
  values_.erase(it);
  return taken;
}

Status Evaluator::too_large(Op* op, Type type) {
  diagnostics_.report(diag::unsupported_tensor_size, op->loc(), type->text,
                      options_.max_tensor_bytes);
  return failure;
}

Result<TensorValue> Evaluator::allocate(Op* op, Type type) {
  std::optional<Extents> sizes = extents(type);
  if (!sizes) {
    diagnostics_.report(diag::eval_unknown_dim, op->loc(), type->text);
    return failure;
  }
  for (size_t i = 0; i < sizes->size(); ++i) {
    if ((*sizes)[i] >= 0) continue;
    diagnostics_.report(diag::eval_negative_dim, op->loc(), type->dims[i]->text, (*sizes)[i]);
    return failure;
  }
  DType dtype = held_dtype(options_.mode, type->dtype);
  uint64_t count = uint64_t(count_elements(*sizes).value_or(0));
  bool is_small = count <= options_.max_tensor_bytes / byte_size(dtype);  // others are refused below
  if (is_small && options_.may_go_on && !options_.may_go_on(bytes_ + count * byte_size(dtype))) return failure;
  std::optional<TensorValue> value =
      TensorValue::make(dtype, std::move(*sizes), options_.max_tensor_bytes);
  if (!value) return (void)too_large(op, type), failure;
  return std::move(*value);
}

Element Evaluator::rounded(Attr value, DType dtype) const {
  if (!is_float(dtype)) {
    if (value->is(AttrKind::Bool)) return {.i = value->boolean};
    return {.i = value->is(AttrKind::Int) ? value->integer : int64_t(value->number)};
  }
  return {.f = decode_float(dtype, encode_float(dtype, value->number))};
}

void Evaluator::constant(Op* op, TensorValue& result) {
  const std::vector<Attr>& values = op->attr(attr::Constant::values);
  for (size_t i = 0; i < values.size(); ++i)
    result.set(int64_t(i), rounded(values[i], result.dtype()));
}

uint64_t Evaluator::philox_key(Op* op) const {
  return uint64_t(in(op, in::PhiloxUniform::seed).get(0).i) ^
         uint64_t(op->attr(attr::PhiloxUniform::stream));
}

void Evaluator::elementwise(Op* op, TensorValue& result) {
  if (kind_of(op) == OpKind::Cast) {
    return eval_cast(in(op, 0), op->result()->type()->policies.saturate, result);
  }
  std::vector<const TensorValue*> operands;
  for (unsigned i = 0; i < op->operand_count(); ++i) operands.push_back(&in(op, i));
  eval_elementwise(op->info().elementwise, operands.back()->dtype(), operands, result);
}

void Evaluator::gemm(Op* op, TensorValue& result) {
  GemmOptions gemm{op->in(in::Gemm::a)->type()->dtype, op->attr(attr::Gemm::accum),
                   op->attr(attr::Gemm::transpose_a), op->attr(attr::Gemm::transpose_b)};
  if (options_.mode == EvalMode::F64)
    gemm.operand = gemm.accum = held_dtype(EvalMode::F64, gemm.accum);
  eval_gemm(in(op, in::Gemm::a), in(op, in::Gemm::b), gemm, result);
}

Status Evaluator::slice(Op* op, TensorValue& result) {
  const TensorValue& a = in(op, in::Slice::a);
  std::vector<Dim> starts = op->attr(attr::Slice::starts);
  std::vector<int64_t> steps = op->attr(attr::Slice::steps);
  Extents strides = row_major_strides(a.dims());
  if (result.count() == 0) return success;
  int64_t offset = 0;
  for (size_t i = 0; i < a.rank(); ++i) {
    std::optional<int64_t> start = size(starts[i]);
    if (!start)
      return diagnostics_.report(diag::eval_unknown_dim, op->loc(), starts[i]->text), failure;
    __int128 last = __int128(*start) + __int128(result.dims()[i] - 1) * steps[i];
    if (*start < 0 || last >= a.dims()[i]) {
      diagnostics_.report(diag::eval_bounds, op->loc(), *start, result.dims()[i], steps[i], i,
                          a.dims()[i]);
      return failure;
    }
    offset += *start * strides[i];
    // A step of a single element moves nowhere, and may be too large to multiply with.
    strides[i] = result.dims()[i] > 1 ? strides[i] * steps[i] : 0;
  }
  copy_strided(a, strides, offset, result);
  return success;
}

Status Evaluator::windows(Op* op, TensorValue& result) {
  const TensorValue& a = in(op, in::Windows::a);
  size_t axis = size_t(op->attr(attr::Windows::axis));
  int64_t step = op->attr(attr::Windows::step), dilation = op->attr(attr::Windows::dilation);
  if (result.count() == 0) return success;
  Extents strides = row_major_strides(a.dims());
  int64_t count = result.dims()[axis], size = result.dims().back(), extent = a.dims()[axis];
  __int128 last = __int128(count - 1) * step + __int128(size - 1) * dilation;
  if (last >= extent) {
    diagnostics_.report(diag::eval_bounds, op->loc(), 0, count, step, axis, extent);
    return failure;
  }
  strides.push_back(size > 1 ? strides[axis] * dilation : 0);
  strides[axis] = count > 1 ? strides[axis] * step : 0;
  copy_strided(a, strides, 0, result);
  return success;
}

Status Evaluator::compute(Op* op, TensorValue& result) {
  switch (kind_of(op)) {
#define ELEMENTWISE(Name, ...) case OpKind::Name:
#include "ir/numbers/elementwise.def"
    elementwise(op, result);
    break;
    case OpKind::Full: {
      Element value = rounded(op->attr(attr::Full::value), result.dtype());
      for (int64_t i = 0; i < result.count(); ++i) result.set(i, value);
      break;
    }
    case OpKind::Constant:
      constant(op, result);
      break;
    case OpKind::Iota:
      eval_iota(op->attr(attr::Iota::axis), result);
      break;
    case OpKind::Dim: {
      std::optional<int64_t> value = size(op->attr(attr::Dim::value));
      if (!value) {
        diagnostics_.report(diag::eval_unknown_dim, op->loc(), op->attr(attr::Dim::value)->text);
        return failure;
      }
      result.set(0, {.i = *value});
      break;
    }
    case OpKind::Broadcast:
      eval_broadcast(in(op, 0), result);
      break;
    case OpKind::Transpose:
      eval_transpose(in(op, 0), op->attr(attr::Transpose::perm).vector(), result);
      break;
    case OpKind::Slice:
      return slice(op, result);
    case OpKind::Windows:
      return windows(op, result);
    case OpKind::Concat: {
      std::vector<const TensorValue*> parts;
      for (unsigned i = 0; i < op->operand_count(); ++i) parts.push_back(&in(op, 0, i));
      eval_concat(parts, op->attr(attr::Concat::axis), result);
      break;
    }
    case OpKind::Reduce:
      eval_reduce(in(op, 0), op->attr(attr::Reduce::kind), op->attr(attr::Reduce::axes).vector(),
                  result);
      break;
    case OpKind::Gemm:
      gemm(op, result);
      break;
    case OpKind::Softmax:
      eval_softmax(in(op, 0), result);
      break;
    case OpKind::Rmsnorm: {
      bool scaled = op->in(in::Rmsnorm::scale) != nullptr;
      eval_rmsnorm(in(op, in::Rmsnorm::x), scaled ? &in(op, in::Rmsnorm::scale) : nullptr,
                   op->attr(attr::Rmsnorm::eps), result);
      break;
    }
    case OpKind::Embedding:
      eval_embedding(in(op, in::Embedding::ids), in(op, in::Embedding::table), result);
      break;
    case OpKind::CrossEntropy:
      eval_cross_entropy(in(op, in::CrossEntropy::logits), in(op, in::CrossEntropy::targets),
                         result);
      break;
    case OpKind::PhiloxUniform:
      eval_philox_uniform(philox_key(op), result);
      break;
    case OpKind::PhiloxNormal:
      eval_philox_normal(philox_key(op), result);
      break;
    case OpKind::Func:
    case OpKind::Return:
    case OpKind::Reshape:
    case OpKind::Barrier:
    case OpKind::FlashAttention:
    case OpKind::KernelCall:
    case OpKind::UpdateSlice:
    case OpKind::Check:
    case OpKind::For:
    case OpKind::While:
    case OpKind::Cond:
    case OpKind::Yield:
    case OpKind::CustomCall:
    case OpKind::CustomTangent:
    case OpKind::Checkpoint:
    case OpKind::CheckpointTangent:
    case OpKind::Named:
      TSR_UNREACHABLE("an op that is evaluated elsewhere");
  }
  return success;
}

Status Evaluator::reshape(Op* op) {
  std::optional<Extents> sizes = extents(op->result()->type());
  if (!sizes || count_elements(*sizes) != in(op, 0).count()) {
    diagnostics_.report(diag::eval_unknown_dim, op->loc(), op->result()->type()->text);
    return failure;
  }
  std::optional<TensorValue> value = take(op->operand(0));
  if (!value) return too_large(op, op->result()->type());
  value->reshape(std::move(*sizes));
  hold(op->result(), std::move(*value));
  for (unsigned i = 1; i < op->operand_count(); ++i) release(op->operand(i));
  return success;
}

Status Evaluator::call(Op* op) {
  if (!options_.call_kernel) {
    diagnostics_.report(diag::unsupported_kernel_call, op->loc(),
                        op->attr(attr::KernelCall::kernel));
    return failure;
  }
  std::vector<const TensorValue*> operands;
  for (unsigned i = 0; i < op->operand_count(); ++i) operands.push_back(&in(op, 0, i));
  Result<std::vector<TensorValue>> results = options_.call_kernel(op, operands, dims_);
  if (!results) return failure;
  TSR_CHECK(results->size() == op->result_count(), "a kernel gave another number of results");
  for (unsigned i = 0; i < op->result_count(); ++i) hold(op->result(i), std::move((*results)[i]));
  release_operands(op);
  return success;
}

Status Evaluator::flash_attention(Op* op) {
  using slot = in::FlashAttention;
  std::vector<TensorValue> results;
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Result<TensorValue> result = allocate(op, op->result(i)->type());
    if (!result) return failure;
    results.push_back(std::move(*result));
  }
  auto optional = [&](unsigned s) { return op->in(s) ? &in(op, s) : nullptr; };
  AttentionInputs inputs{in(op, slot::q), in(op, slot::k), in(op, slot::v), optional(slot::bias)};
  const TensorValue* length = optional(slot::length);
  inputs.length = length ? length->get(0).i : inputs.k.dims()[2];
  AttentionOptions options;
  if (std::optional<double> scale = op->attr(attr::FlashAttention::scale)) options.scale = *scale;
  if (std::optional<int64_t> window = op->attr(attr::FlashAttention::window))
    options.window = *window;
  options.causal = op->attr(attr::FlashAttention::causal);
  options.rolling = op->attr(attr::FlashAttention::rolling);
  if (std::optional<double> dropout = op->attr(attr::FlashAttention::dropout)) {
    options.dropout = *dropout;
    options.key = uint64_t(in(op, slot::seed).get(0).i) ^
                  uint64_t(op->required(attr::FlashAttention::stream));
  }
  eval_flash_attention(inputs, options, results[0], results.size() == 2 ? &results[1] : nullptr);
  for (unsigned i = 0; i < op->result_count(); ++i) hold(op->result(i), std::move(results[i]));
  release_operands(op);
  return success;
}

Status Evaluator::evaluate_op(Op* op) {
  bool rounds = op->info().elementwise != ElementwiseKind::None;
  if (rounds && op->result()->type()->policies.stochastic_round) {
    diagnostics_.report(diag::unsupported_policy, op->loc(), "stochastic_round", op->name());
    return failure;
  }
  switch (kind_of(op)) {
    case OpKind::Reshape:
    case OpKind::Barrier: return reshape(op);
    case OpKind::KernelCall: return call(op);
    case OpKind::FlashAttention: return flash_attention(op);
    case OpKind::UpdateSlice: return update_slice(op);
    case OpKind::Check: return check(op);
    case OpKind::For: return loop(op);
    case OpKind::While: return repeat(op);
    case OpKind::Cond: return branch(op);
    default: break;
  }
  Result<TensorValue> result = allocate(op, op->result()->type());
  if (!result || compute(op, *result).failed()) return failure;
  hold(op->result(), std::move(*result));
  release_operands(op);
  return success;
}

Status Evaluator::update_slice(Op* op) {
  std::optional<TensorValue> buffer = take(op->in(in::UpdateSlice::buffer));
  if (!buffer) return too_large(op, op->result()->type());
  eval_update_slice(in(op, in::UpdateSlice::update), in(op, in::UpdateSlice::start).get(0).i,
                    op->attr(attr::UpdateSlice::axis), op->attr(attr::UpdateSlice::wrap), *buffer);
  hold(op->result(), std::move(*buffer));
  release(op->in(in::UpdateSlice::update));
  release(op->in(in::UpdateSlice::start));
  return success;
}

Status Evaluator::check(Op* op) {
  bool holds = in(op, in::Check::condition).get(0).i != 0;
  release_operands(op);
  if (!holds) diagnostics_.report(diag::eval_check, op->loc(), op->attr(attr::Check::message));
  return holds ? Status(success) : failure;
}

Result<std::vector<TensorValue>> Evaluator::take_all(Op* op, unsigned slot) {
  std::vector<TensorValue> values;
  for (Value* value : op->ins(slot)) {
    std::optional<TensorValue> taken = take(value);
    if (!taken) return (void)too_large(op, value->type()), failure;
    values.push_back(std::move(*taken));
  }
  return values;
}

Result<std::vector<TensorValue>> Evaluator::run_region(Op* op, unsigned region,
                                                       std::vector<TensorValue> arguments) {
  Block* block = op->region(region)->front();
  ++depth_;
  for (unsigned i = 0; i < block->arg_count(); ++i) hold(block->arg(i), std::move(arguments[i]));
  bool failed = run_ops(block).failed();
  Result<std::vector<TensorValue>> yielded = failure;
  if (!failed) yielded = take_all(block->terminator(), 0);
  --depth_;
  return yielded;
}

Status Evaluator::finish(Op* op, std::vector<TensorValue> results) {
  for (unsigned i = 0; i < op->result_count(); ++i) hold(op->result(i), std::move(results[i]));
  release_captured(op);
  return success;
}

Status Evaluator::loop(Op* op) {
  std::optional<int64_t> count = size(op->attr(attr::For::count));
  if (!count) {
    diagnostics_.report(diag::eval_unknown_dim, op->loc(), op->attr(attr::For::count)->text);
    return failure;
  }
  std::string counter(op->attr(attr::For::counter));
  Result<std::vector<TensorValue>> carried = take_all(op, in::For::inits);
  for (int64_t i = 0; carried && i < *count; ++i) {
    dims_[counter] = i;
    carried = run_region(op, at::For::body, std::move(*carried));
  }
  dims_.erase(counter);
  return carried ? finish(op, std::move(*carried)) : failure;
}

Status Evaluator::repeat(Op* op) {
  Result<std::vector<TensorValue>> carried = take_all(op, in::While::inits);
  while (carried) {
    std::vector<TensorValue> seen;
    for (const TensorValue& value : *carried) {
      std::optional<TensorValue> copy = value.clone();
      if (!copy) return too_large(op, op->result(unsigned(seen.size()))->type());
      seen.push_back(std::move(*copy));
    }
    Result<std::vector<TensorValue>> truth =
        run_region(op, at::While::condition, std::move(seen));
    if (!truth) return failure;
    if (!(*truth)[0].get(0).i) return finish(op, std::move(*carried));
    carried = run_region(op, at::While::body, std::move(*carried));
  }
  return failure;
}

/// Whether a branch runs its first region; nothing where a size has no value.
std::optional<bool> Evaluator::is_taken(Op* op) const {
  if (op->in(in::Cond::condition)) return in(op, in::Cond::condition).get(0).i != 0;
  bool all = true;
  for (const DimFact& fact : read_facts(op->attr(attr::Cond::when))) {
    std::optional<int64_t> left = size(fact.left), right = size(fact.right);
    if (!left || !right) return std::nullopt;
    all = all && holds(*left, fact.relation, *right);
  }
  return all;
}

Status Evaluator::branch(Op* op) {
  std::optional<bool> taken = is_taken(op);
  if (!taken) {
    diagnostics_.report(diag::eval_unknown_dim, op->loc(), op->node(attr::Cond::when)->text);
    return failure;
  }
  Result<std::vector<TensorValue>> results =
      run_region(op, *taken ? at::Cond::then : at::Cond::otherwise, {});
  if (!results) return failure;
  release_operands(op);
  return finish(op, std::move(*results));
}

Status Evaluator::run_ops(Block* block) {
  for (Op* op : *block) {
    if (op->is_terminator()) break;
    if (options_.may_go_on && !options_.may_go_on(bytes_)) return failure;
    if (evaluate_op(op).failed()) return failure;
    if (depth_ == 0 && options_.progress) options_.progress(++done_, total_);
  }
  return success;
}

Result<std::vector<TensorValue>> Evaluator::run(Op* function, std::vector<TensorValue> arguments) {
  Block* body = function->region()->front();
  for (Op* op : *body) total_ += !op->is_terminator();
  for (unsigned i = 0; i < body->arg_count(); ++i) hold(body->arg(i), std::move(arguments[i]));
  if (run_ops(body).failed()) return failure;
  return take_all(body->terminator(), 0);
}

}  // namespace

std::optional<TensorValue> cast_tensor(const TensorValue& value, DType dtype) {
  std::optional<TensorValue> result = TensorValue::make(dtype, value.dims());
  if (result) eval_cast(value, false, *result);
  return result;
}

Result<std::vector<TensorValue>> evaluate(Op* function, std::vector<TensorValue> arguments,
                                          const EvalOptions& options,
                                          DiagnosticEngine& diagnostics) {
  Result<DimValues> dims = bind_dims(function, arguments, options, diagnostics);
  if (!dims) return failure;
  for (TensorValue& argument : arguments) {
    DType held = held_dtype(options.mode, argument.dtype());
    if (held == argument.dtype()) continue;
    std::optional<TensorValue> widened = cast_tensor(argument, held);
    if (!widened) {
      std::string what = fmt::format("tensor of {} elements", argument.count());
      diagnostics.report(diag::unsupported_tensor_size, function->loc(), what,
                         options.max_tensor_bytes);
      return failure;
    }
    argument = std::move(*widened);
  }
  return Evaluator(std::move(*dims), options, diagnostics).run(function, std::move(arguments));
}

}  // namespace tessera::graph
