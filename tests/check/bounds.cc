#include "check/bounds.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "check/bounds_ops.h"
#include "ir/core/common_attributes.h"
#include "support/check.h"

namespace tessera::check {

namespace {

using graph::OpKind;

class Evaluator {
 public:
  explicit Evaluator(const DimValues& dims) : dims_(dims) {}

  Bounds run(Op* function, const std::vector<TensorValue>& arguments) {
    Block* body = function->region()->front();
    for (unsigned i = 0; i < body->arg_count(); ++i) {
      values_.emplace(body->arg(i), RangeTensor::of(arguments[i]));
    }
    bounds_.results = run_block(body);
    return std::move(bounds_);
  }

 private:
  using Values = std::vector<RangeTensor>;

  Values run_block(Block* block) {
    for (Op* op : *block) {
      if (!op->is_terminator()) step(op);
    }
    Values values;
    Op* last = block->terminator();
    for (unsigned i = 0; i < last->operand_count(); ++i) values.push_back(values_.at(last->operand(i)));
    return values;
  }

  Values run_region(Op* op, unsigned region, const Values& arguments) {
    Block* block = op->region(region)->front();
    for (unsigned i = 0; i < block->arg_count(); ++i) values_.insert_or_assign(block->arg(i), arguments[i]);
    return run_block(block);
  }

  const RangeTensor& in(Op* op, unsigned position) const { return values_.at(op->operand(position)); }
  int64_t size(Dim dim) const {
    std::optional<int64_t> value = evaluate(dim, dims_);
    TSR_CHECK(value, "a dim has no value");
    return *value;
  }

  RangeTensor made(Type type) const {
    RangeTensor tensor{type->dtype, *evaluate(type->dims, dims_), {}};
    tensor.ranges.resize(size_t(*count_elements(tensor.dims)));
    return tensor;
  }

  void step(Op* op) {
    std::vector<RangeTensor> results;
    for (unsigned i = 0; i < op->result_count(); ++i) results.push_back(made(op->result(i)->type()));
    bool known = op->region_count() ? control(op, results) : results.size() == 1 && compute(op, results[0]);
    known = known || op->is(graph::info(OpKind::Check));
    if (op->is(graph::info(OpKind::FlashAttention))) known = attention(op, results);
    if (!known) {
      bounds_.without_rule.insert(std::string(op->name()));
      for (RangeTensor& result : results) {
        std::fill(result.ranges.begin(), result.ranges.end(), any_value(result.dtype));
      }
    }
    for (unsigned i = 0; i < op->result_count(); ++i) values_.insert_or_assign(op->result(i), std::move(results[i]));
  }

  bool control(Op* op, Values& results) {
    if (op->is(graph::info(OpKind::Cond))) return branch(op, results);
    Values carried;
    for (unsigned i = 0; i < op->operand_count(); ++i) carried.push_back(in(op, i));
    if (op->is(graph::info(OpKind::For))) {
      std::string counter(op->attr(common::Loop::counter));
      int64_t count = size(op->attr(common::Loop::count));
      for (int64_t i = 0; i < count; ++i) {
        dims_[counter] = i;
        carried = run_region(op, graph::at::For::body, carried);
      }
      dims_.erase(counter);
    } else {
      // A condition that is not certain makes anything possible.
      for (int iteration = 0;; ++iteration) {
        RangeTensor truth = run_region(op, graph::at::While::condition, carried).at(0);
        if (!is_point(DType::Bool, truth.ranges[0]) || iteration == most_iterations) return false;
        if (!truth.ranges[0].low.i) break;
        carried = run_region(op, graph::at::While::body, carried);
      }
    }
    results = std::move(carried);
    return true;
  }

  bool branch(Op* op, Values& results) {
    const Range condition = in(op, 0).ranges[0];
    bool may = condition.high.i != 0, may_not = condition.low.i == 0;
    if (may) results = run_region(op, graph::at::Cond::then, {});
    if (!may_not) return true;
    Values others = run_region(op, graph::at::Cond::otherwise, {});
    for (size_t i = 0; i < results.size(); ++i) {
      for (size_t e = 0; may && e < results[i].ranges.size(); ++e) {
        others[i].ranges[e] = hull(results[i].dtype, results[i].ranges[e], others[i].ranges[e]);
      }
    }
    results = std::move(others);
    return true;
  }

  bool attention(Op* op, Values& results) {
    namespace at = graph::in;
    auto optional = [&](unsigned slot) { return op->slot_size(slot) ? &values_.at(op->in(slot)) : nullptr; };
    const RangeTensor* length = optional(at::FlashAttention::length);
    bool certain = !length || is_point(length->dtype, length->ranges[0]);
    if (!certain || op->slot_size(at::FlashAttention::seed)) return false;
    const RangeTensor &q = values_.at(op->in(at::FlashAttention::q)), &k = values_.at(op->in(at::FlashAttention::k));
    AttentionRanges ranges{
        &q,
        &k,
        &values_.at(op->in(at::FlashAttention::v)),
        optional(at::FlashAttention::bias),
        length ? length->ranges[0].low.i : k.dims[2],
        op->attr(graph::attr::FlashAttention::scale).value_or(1 / std::sqrt(double(q.dims[3]))),
        op->attr(graph::attr::FlashAttention::causal),
        std::nullopt};
    ranges.window = op->attr(graph::attr::FlashAttention::window);
    attend(ranges, results[0], results.size() > 1 ? &results[1] : nullptr);
    return true;
  }

  bool compute(Op* op, RangeTensor& result) {
    if (op->info().elementwise != ElementwiseKind::None) return elements(op, result);
    switch (graph::kind_of(op)) {
      case OpKind::Full:
        return fill(result, number(op->attr(graph::attr::Full::value), result.dtype));
      case OpKind::Constant: return constant(op, result);
      case OpKind::Iota: return iota(op, result);
      case OpKind::Dim: return fill(result, {.i = size(op->attr(graph::attr::Dim::value))});
      case OpKind::Reshape: return result.ranges = in(op, 0).ranges, true;
      case OpKind::Broadcast:
      case OpKind::Transpose:
      case OpKind::Slice: return view(op, result);
      case OpKind::Windows: return windows(op, result);
      case OpKind::Concat: return concat(op, result);
      case OpKind::UpdateSlice: return update(op, result);
      default: return mathematics(op, result);
    }
  }

  bool mathematics(Op* op, RangeTensor& result) {
    switch (graph::kind_of(op)) {
      case OpKind::Reduce:
        reduce(in(op, 0), op->attr(graph::attr::Reduce::kind),
               op->attr(graph::attr::Reduce::axes).vector(), result);
        return true;
      case OpKind::Gemm:
        multiply(in(op, 0), in(op, 1),
                 {op->attr(graph::attr::Gemm::accum), op->attr(graph::attr::Gemm::transpose_a),
                  op->attr(graph::attr::Gemm::transpose_b)},
                 result);
        return true;
      case OpKind::Softmax: return softmax(in(op, 0), result), true;
      case OpKind::Rmsnorm:
        rmsnorm(in(op, 0), op->operand_count() > 1 ? &in(op, 1) : nullptr,
                op->attr(graph::attr::Rmsnorm::eps), result);
        return true;
      case OpKind::Embedding: return embed(in(op, 0), in(op, 1), result), true;
      case OpKind::CrossEntropy: return cross_entropy(in(op, 0), in(op, 1), result), true;
      case OpKind::PhiloxUniform: return random(op, uniform, result);
      case OpKind::PhiloxNormal: return random(op, normal, result);
      default: return false;
    }
  }

  static Element number(Attr value, DType dtype) {
    if (is_float(dtype)) return {.f = rounded(dtype, value->number)};
    if (value->is(AttrKind::Bool)) return {.i = value->boolean};
    return {.i = value->is(AttrKind::Int) ? value->integer : int64_t(value->number)};
  }

  bool fill(RangeTensor& result, Element value) {
    std::fill(result.ranges.begin(), result.ranges.end(), point_range(result.dtype, value));
    return true;
  }

  bool constant(Op* op, RangeTensor& result) {
    const std::vector<Attr>& numbers = op->attr(graph::attr::Constant::values);
    for (size_t i = 0; i < numbers.size(); ++i) {
      result.ranges[i] = point_range(result.dtype, number(numbers[i], result.dtype));
    }
    return true;
  }

  bool iota(Op* op, RangeTensor& result) {
    size_t axis = size_t(op->attr(graph::attr::Iota::axis));
    int64_t inner = row_strides(result.dims)[axis];
    for (int64_t i = 0; i < result.count(); ++i) {
      result.ranges[size_t(i)] = point_range(result.dtype, {.i = i / inner % result.dims[axis]});
    }
    return true;
  }

  bool elements(Op* op, RangeTensor& result) {
    const Policies& policies = op->result()->type()->policies;
    if (policies.stochastic_round) return false;
    std::vector<const RangeTensor*> operands;
    for (unsigned i = 0; i < op->operand_count(); ++i) operands.push_back(&in(op, i));
    if (policies.saturate && is_float(result.dtype)) return saturating_cast(*operands[0], result);
    std::vector<Range> at(operands.size());
    for (size_t i = 0; i < result.ranges.size(); ++i) {
      for (size_t o = 0; o < at.size(); ++o) at[o] = operands[o]->ranges[i];
      result.ranges[i] =
          elementwise(op->info().elementwise, operands.back()->dtype, result.dtype, at);
    }
    return true;
  }

  bool saturating_cast(const RangeTensor& a, RangeTensor& result) {
    for (size_t i = 0; i < result.ranges.size(); ++i) {
      Range wide = elementwise(ElementwiseKind::Cast, a.dtype, DType::F64, {&a.ranges[i], 1});
      for (Element* end : {&wide.low, &wide.high}) {
        end->f = decode_float(result.dtype, encode_float(result.dtype, end->f, true));
      }
      bool none = !has_numbers(a.dtype, a.ranges[i]);
      result.ranges[i] = none ? point_range(result.dtype, {.f = std::nan("")}) : wide;
    }
    return true;
  }

  bool view(Op* op, RangeTensor& result) {
    const RangeTensor& a = in(op, 0);
    Extents own = row_strides(a.dims), strides(result.rank(), 0);
    int64_t offset = 0;
    if (graph::kind_of(op) == OpKind::Transpose) {
      std::vector<int64_t> perm = op->attr(graph::attr::Transpose::perm);
      for (size_t i = 0; i < perm.size(); ++i) strides[i] = own[size_t(perm[i])];
    } else if (graph::kind_of(op) == OpKind::Broadcast) {
      size_t missing = result.rank() - a.rank();
      for (size_t i = 0; i < a.rank(); ++i) strides[missing + i] = a.dims[i] == 1 ? 0 : own[i];
    } else {
      std::vector<Dim> starts = op->attr(graph::attr::Slice::starts);
      std::vector<int64_t> steps = op->attr(graph::attr::Slice::steps);
      for (size_t i = 0; i < a.rank(); ++i) {
        offset += result.count() ? size(starts[i]) * own[i] : 0;
        strides[i] = own[i] * steps[i];
      }
    }
    rearrange(a, strides, offset, result);
    return true;
  }

  bool windows(Op* op, RangeTensor& result) {
    const RangeTensor& a = in(op, 0);
    Extents strides = row_strides(a.dims);
    size_t axis = size_t(op->attr(common::Along::axis));
    int64_t along = strides[axis];
    strides[axis] = along * op->attr(graph::attr::Windows::step);
    strides.push_back(along * op->attr(graph::attr::Windows::dilation));
    rearrange(a, strides, 0, result);
    return true;
  }

  bool concat(Op* op, RangeTensor& result) {
    std::vector<const RangeTensor*> parts;
    for (unsigned i = 0; i < op->operand_count(); ++i) parts.push_back(&in(op, i));
    concatenate(parts, size_t(op->attr(common::Along::axis)), result);
    return true;
  }

  bool update(Op* op, RangeTensor& result) {
    const RangeTensor& start = in(op, 2);
    if (!is_point(start.dtype, start.ranges[0])) return false;
    result.ranges = in(op, 0).ranges;
    update_slice(in(op, 1), start.ranges[0].low.i, size_t(op->attr(graph::attr::UpdateSlice::axis)),
                 op->attr(graph::attr::UpdateSlice::wrap), result);
    return true;
  }

  bool random(Op* op, void (*draw)(uint64_t, RangeTensor&), RangeTensor& result) {
    const RangeTensor& seed = in(op, 0);
    if (!is_point(seed.dtype, seed.ranges[0])) return false;
    draw(uint64_t(seed.ranges[0].low.i) ^ uint64_t(op->attr(graph::attr::PhiloxUniform::stream)),
         result);
    return true;
  }

  static constexpr int most_iterations = 1000;

  DimValues dims_;
  std::unordered_map<Value*, RangeTensor> values_;
  Bounds bounds_;
};

}  // namespace

Bounds bounds_of(Op* function, const std::vector<TensorValue>& arguments, const DimValues& dims) {
  return Evaluator(dims).run(function, arguments);
}

}  // namespace tessera::check
