#pragma once
// Small random graphs: each op takes values made before, of shapes over M, N and a few constants.

#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ir/core/builder.h"
#include "ir/core/common_attributes.h"
#include "ir/graph/build.h"
#include "ir/graph/ops.h"
#include "passes/analysis/access.h"

namespace tessera {

/// The seeds of a run: 1 to `last`, or what the environment's TESSERA_RANDOM_GRAPHS says, which is
/// the last one or `first-last`.
inline std::pair<unsigned, unsigned> random_graph_seeds(unsigned last) {
  const char* range = std::getenv("TESSERA_RANDOM_GRAPHS");
  if (!range) return {1, last};
  char* end = nullptr;
  unsigned first = unsigned(std::strtoul(range, &end, 10));
  if (*end != '-') return {1, first};
  return {first, unsigned(std::strtoul(end + 1, nullptr, 10))};
}

class RandomGraph {
 public:
  RandomGraph(Module& module, unsigned seed)
      : context_(module.context()), random_(seed), builder_(module) {
    OpState state;
    state.info = graph::info(graph::OpKind::Func);
    std::vector<Attr> args;
    for (const char* name : {"x", "y", "w", "b"}) {
      args.push_back(
          context_.dict({{"kind", context_.string("input")}, {"name", context_.string(name)}}));
    }
    state.attributes = {graph::attr::Func::args(context_, args),
                        graph::attr::Func::role(context_, "entry"),
                        common::Function::symbol(context_, "f")};
    function_ = module.create(state);
    function_->move_to_end(module.body());
    Block* body = function_->region()->add_block();
    values_.push_back(body->add_arg(tensor({m(), n()}, DType::F32), "x"));
    values_.push_back(body->add_arg(tensor({n(), m()}, DType::BF16), "y"));
    values_.push_back(body->add_arg(tensor({number(2), m(), number(6)}, DType::F32), "w"));
    values_.push_back(body->add_arg(tensor({n()}, DType::F32), "b"));
    builder_.set_end(body);
  }

  /// Adds ops until there are `count` of them, and returns the last one made and some that nothing
  /// reads.
  Op* finish(size_t count) {
    while (values_.size() < count + 4) step();
    std::vector<Value*> results;
    for (size_t i = values_.size(); i-- > 4 && results.size() < 4;) {
      if (results.empty() || (values_[i]->unused() && pick(4))) results.push_back(values_[i]);
    }
    std::vector<Attr> names;
    for (size_t i = 0; i < results.size(); ++i) {
      names.push_back(context_.dict({{"name", context_.string("r" + std::to_string(i))}}));
    }
    builder_.op(graph::info(graph::OpKind::Return), {results}, {});
    function_->set(common::Entry::results, names);
    return function_;
  }

 private:
  using K = graph::OpKind;
  using E = ElementwiseKind;

  size_t pick(size_t n) { return random_() % n; }
  Dim number(int64_t value) { return context_.dims().constant(value); }
  Dim m() { return context_.dims().symbol("M"); }
  Dim n() { return context_.dims().symbol("N"); }
  Type tensor(std::vector<Dim> dims, DType dtype) {
    return context_.tensor(std::move(dims), dtype);
  }
  Value* any() {
    return pick(2) ? values_[pick(values_.size())]
                   : values_[values_.size() - 1 - pick(std::min<size_t>(values_.size(), 4))];
  }
  Value* add(const OpInfo* info, std::vector<std::vector<Value*>> operands, Type type,
             std::vector<OpAttr> attributes = {}) {
    values_.push_back(builder_.value(info, std::move(operands), type, std::move(attributes)));
    return values_.back();
  }
  Value* add(K kind, std::vector<std::vector<Value*>> operands, Type type,
             std::vector<OpAttr> attributes = {}) {
    return add(graph::info(kind), std::move(operands), type, std::move(attributes));
  }

  void step() {
    Value* a = any();
    switch (pick(14)) {
      case 0:
      case 1:
        return unary(a);
      case 2:
      case 3:
      case 4:
        return binary(a);
      case 5:
        return cast(a);
      case 6:
        return broadcast(a);
      case 7:
        return transpose(a);
      case 8:
        return reshape(a);
      case 9:
        return pick(3) ? slice(a) : windows(a);
      case 10:
        return reduce(a);
      case 11:
        return concat(a);
      case 12:
        return gemm(a);
      case 13:
        return pick(2) ? softmax(a) : mask(a);
    }
  }

  void unary(Value* a) {
    static constexpr E kinds[] = {E::Neg, E::Abs, E::Relu, E::Sigmoid, E::Tanh};
    add(graph::info(kinds[pick(5)]), {{a}}, a->type());
  }

  /// Another value of the same type, or one that is broadcast to it.
  Value* partner(Value* a) {
    for (int tries = 0; tries < 8; ++tries) {
      Value* b = any();
      if (b->type() == a->type()) return b;
      if (b->type()->dtype != a->type()->dtype || b->type()->rank() > a->type()->rank()) continue;
      bool fits = true;
      size_t skip = a->type()->rank() - b->type()->rank();
      for (size_t i = 0; i < b->type()->rank(); ++i) {
        fits = fits && (b->type()->dims[i] == a->type()->dims[i + skip] ||
                        b->type()->dims[i]->is_constant(1));
      }
      if (fits) return add(K::Broadcast, {{b}}, a->type());
    }
    return a;
  }

  void binary(Value* a) {
    static constexpr E kinds[] = {E::Add, E::Sub, E::Mul, E::Max, E::Min};
    Value* b = partner(a);
    if (pick(2)) std::swap(a, b);
    add(graph::info(kinds[pick(5)]), {{a}, {b}}, a->type());
  }

  void cast(Value* a) {
    DType to = a->type()->dtype == DType::F32 ? DType::BF16 : DType::F32;
    add(graph::info(E::Cast), {{a}}, tensor(a->type()->dims, to));
  }

  void broadcast(Value* a) {
    if (a->type()->rank() > 2) return;
    std::vector<Dim> dims = a->type()->dims;
    dims.insert(dims.begin(), pick(2) ? m() : number(3));
    add(K::Broadcast, {{a}}, tensor(dims, a->type()->dtype));
  }

  void transpose(Value* a) {
    std::vector<int64_t> perm(a->type()->rank());
    for (size_t i = 0; i < perm.size(); ++i) perm[i] = int64_t(i);
    std::shuffle(perm.begin(), perm.end(), random_);
    std::vector<Dim> dims;
    for (int64_t axis : perm) dims.push_back(a->type()->dims[size_t(axis)]);
    add(K::Transpose, {{a}}, tensor(dims, a->type()->dtype),
        {graph::attr::Transpose::perm(context_, perm)});
  }

  void reshape(Value* a) {
    std::vector<Dim> dims = a->type()->dims;
    if (dims.size() > 1 && pick(2)) {
      size_t at = pick(dims.size() - 1);
      dims[at] = context_.dims().mul(dims[at], dims[at + 1]);
      dims.erase(dims.begin() + std::ptrdiff_t(at) + 1);
    } else if (dims.size() < 3) {
      dims.insert(dims.begin() + std::ptrdiff_t(pick(dims.size() + 1)), number(1));
    }
    add(K::Reshape, {{a}}, tensor(dims, a->type()->dtype));
  }

  void slice(Value* a) {
    std::vector<Dim> dims = a->type()->dims;
    std::vector<Dim> starts(dims.size(), number(0));
    std::vector<int64_t> steps(dims.size(), 1);
    for (size_t i = 0; i < dims.size(); ++i) {
      auto extent = dims[i]->constant();
      if (!pick(2)) continue;
      if (!extent) {
        cut(dims[i], starts[i], steps[i]);
        continue;
      }
      if (*extent < 2) continue;
      steps[i] = 1 + int64_t(pick(2));
      int64_t start = int64_t(pick(2));
      starts[i] = number(start);
      dims[i] = number((*extent - start + steps[i] - 1) / steps[i]);
    }
    values_.push_back(graph::slice(builder_, a, starts, steps, dims));
  }

  /// Windows of 2 elements along an axis of known extent.
  void windows(Value* a) {
    for (size_t axis = 0; axis < a->type()->rank() && a->type()->rank() < 4; ++axis) {
      auto extent = a->type()->dims[axis]->constant();
      if (!extent || *extent < 3) continue;
      int64_t dilation = 1 + int64_t(pick(2)), step = 1 + int64_t(pick(2));
      Dim count = number((*extent - dilation + step - 1) / step);
      values_.push_back(graph::windows(builder_, a, int64_t(axis), count, number(2), step, dilation));
      return;
    }
    slice(a);
  }

  /// Every second element of an axis, or its second half.
  void cut(Dim& extent, Dim& start, int64_t& step) {
    DimTable& dims = context_.dims();
    if (pick(2)) {
      step = 2;
      extent = dims.ceildiv(extent, number(2));
      return;
    }
    Dim half = dims.sub(extent, dims.ceildiv(extent, number(2)));
    start = dims.sub(extent, half);
    extent = half;
  }

  void reduce(Value* a) {
    if (a->type()->rank() == 0) return;
    std::vector<Dim> dims;
    std::vector<int64_t> axes;
    bool keep = pick(2) != 0;
    size_t only = pick(2 * a->type()->rank());  // often one axis
    for (size_t i = 0; i < a->type()->rank(); ++i) {
      bool reduced = only < a->type()->rank()
                         ? i == only
                         : pick(2) || (i + 1 == a->type()->rank() && axes.empty());
      if (reduced) axes.push_back(int64_t(i));
      if (!reduced) dims.push_back(a->type()->dims[i]);
      if (reduced && keep) dims.push_back(number(1));
    }
    add(K::Reduce, {{a}}, tensor(dims, a->type()->dtype),
        {graph::attr::Reduce::axes(context_, axes),
         common::Along::keep(context_, keep),
         common::Along::kind(context_, a->type()->dtype == DType::F32 && pick(2) ? "sum" : "max")});
  }

  void concat(Value* a) {
    if (a->type()->rank() == 0) return;
    size_t axis = pick(a->type()->rank());
    for (int tries = 0; tries < 8; ++tries) {
      Value* b = any();
      if (b->type()->rank() != a->type()->rank() || b->type()->dtype != a->type()->dtype) continue;
      std::vector<Dim> dims = b->type()->dims;
      dims[axis] = a->type()->dims[axis];
      if (dims != a->type()->dims) continue;
      dims[axis] = context_.dims().add(dims[axis], b->type()->dims[axis]);
      add(K::Concat, {{a, b}}, tensor(dims, a->type()->dtype),
          {common::Along::axis(context_, int64_t(axis))});
      return;
    }
  }

  void gemm(Value* a) {
    if (a->type()->rank() < 2) return;
    for (int tries = 0; tries < 12; ++tries) {
      Value* b = any();
      if (b->type()->rank() != 2 || b->type()->dtype != a->type()->dtype) continue;
      const std::vector<Dim>& x = a->type()->dims;
      const std::vector<Dim>& y = b->type()->dims;
      bool ta = pick(2) != 0, tb = pick(2) != 0;
      Dim k = ta ? x[x.size() - 2] : x.back();
      if (k != (tb ? y[1] : y[0])) continue;
      std::vector<Dim> dims = x;
      dims[dims.size() - 2] = ta ? x.back() : x[x.size() - 2];
      dims.back() = tb ? y[0] : y[1];
      add(K::Gemm, {{a}, {b}}, tensor(dims, DType::F32),
          {graph::attr::Gemm::accum(context_, DType::F32),
           graph::attr::Gemm::transpose_a(context_, ta),
           graph::attr::Gemm::transpose_b(context_, tb)});
      return;
    }
  }

  void softmax(Value* a) {
    size_t rank = a->type()->rank();
    if (rank == 0 || a->type()->dtype != DType::F32) return;
    size_t axis = pick(rank);
    if (pick(2)) return softmax_by_hand(a, int64_t(axis));
    std::vector<int64_t> perm(rank);
    for (size_t i = 0; i < rank; ++i) perm[i] = int64_t(i);
    std::swap(perm[axis], perm[rank - 1]);
    Value* turned = graph::transpose(builder_, a, perm);
    values_.push_back(graph::transpose(builder_, graph::softmax(builder_, turned), perm));
  }

  void softmax_by_hand(Value* a, int64_t axis) {
    const std::vector<Dim>& dims = a->type()->dims;
    auto whole = [&](const char* kind, Value* value) {
      return graph::broadcast_to(builder_, graph::reduce(builder_, value, kind, {axis}, true),
                                 dims);
    };
    Value* e = graph::elementwise(builder_, E::Exp, {graph::sub(builder_, a, whole("max", a))});
    values_.push_back(graph::div(builder_, e, whole("sum", e)));
  }

  /// A causal mask: -1 above the diagonal of the last two axes.
  void mask(Value* a) {
    if (a->type()->rank() < 2) return;
    Type coordinates = tensor(a->type()->dims, DType::I32);
    auto iota = [&](size_t axis) {
      return builder_.value(graph::info(K::Iota), {}, coordinates,
                            {common::Along::axis(context_, int64_t(axis))});
    };
    Value* row = iota(a->type()->rank() - 2);
    Value* column = iota(a->type()->rank() - 1);
    Value* below =
        builder_.value(graph::info(E::Ge), {{row}, {column}}, tensor(a->type()->dims, DType::Bool));
    Value* other = builder_.value(graph::info(K::Full), {}, a->type(),
                                  {common::Constant::value(context_, -1.0)});
    add(graph::info(E::Select), {{below}, {a}, {other}}, a->type());
  }

  Context& context_;
  std::mt19937 random_;
  Builder builder_;
  Op* function_ = nullptr;
  std::vector<Value*> values_;
};

}  // namespace tessera
