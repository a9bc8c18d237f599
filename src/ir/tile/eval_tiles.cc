// Ops on values: elementwise ops, shapes and dots.

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/tile/build.h"
#include "ir/tile/eval_run.h"

namespace tessera::tile {

namespace {

/// c += a * b in c's dtype, element by element: one rounding for floats, wrapping for integers.
void multiply_add(DType dtype, const Element* a, const Element* b, std::span<Element> c) {
  if (is_float(dtype)) {
    const Element* operands[] = {a, b, c.data()};
    return evaluate_elementwise_many(ElementwiseKind::Fma, dtype, dtype, operands, c.data(), c.size());
  }
  std::vector<Element> products(c.size());
  const Element* factors[] = {a, b};
  evaluate_elementwise_many(ElementwiseKind::Mul, dtype, dtype, factors, products.data(), c.size());
  const Element* terms[] = {products.data(), c.data()};
  evaluate_elementwise_many(ElementwiseKind::Add, dtype, dtype, terms, c.data(), c.size());
}

Element flushed(Element e) {
  if (std::fabs(e.f) < double(std::numeric_limits<float>::min())) e.f = std::copysign(0.0, e.f);
  return e;
}

/// A fused multiply-add of f32 that takes denormals as zeros and gives none.
Element flushed_fma(Element a, Element b, Element c) {
  Element operands[3] = {flushed(a), flushed(b), flushed(c)};
  return flushed(evaluate_elementwise(ElementwiseKind::Fma, DType::F32, DType::F32, operands));
}

/// Element at `position` of a tile; positions on axes of extent 1 count as 0.
Element pick(const EvalValue& tile, const std::vector<int64_t>& position) {
  size_t flat = 0;
  for (size_t i = 0; i < position.size(); ++i) {
    flat = flat * size_t(tile.dims[i]) + (tile.dims[i] == 1 ? 0 : size_t(position[i]));
  }
  return tile.elements[flat];
}

}  // namespace

Element element_of(Attr value, DType dtype) {
  double number = value->is(AttrKind::Int) ? double(value->integer) : value->number;
  if (is_float(dtype)) return {.f = decode_float(dtype, encode_float(dtype, number))};
  if (value->is(AttrKind::Int)) return {.i = value->integer};
  Element from{.f = number};
  return evaluate_elementwise(ElementwiseKind::Cast, DType::F64, dtype, {&from, 1});
}

int64_t count_of(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

EvalValue& KernelRun::make(Op* op, unsigned n) {
  EvalValue& result = at(op->result(n));
  result.dims = sizes(op->result(n)->type()->dims);
  result.mma.reset();
  result.elements.resize(size_t(count_of(result.dims)));
  return result;
}

void KernelRun::fill(Op* op, Element value) {
  EvalValue& result = make(op);
  result.elements.assign(result.elements.size(), value);
}

void KernelRun::run_elementwise(Op* op) {
  EvalValue& result = make(op);
  ElementwiseKind kind = op->info().elementwise;
  bool choose = elementwise_info(kind).cls == ElementwiseClass::Choose;
  DType dtype = op->operand(choose ? 1 : 0)->type()->dtype, to = op->result()->type()->dtype;
  std::vector<const Element*> from;
  for (unsigned i = 0; i < op->operand_count(); ++i)
    from.push_back(at(op->operand(i)).elements.data());
  evaluate_elementwise_many(kind, dtype, to, from, result.elements.data(), result.elements.size());
}

void KernelRun::run_same(Op* op) {
  EvalValue& result = make(op);
  result.elements = at(op->operand(0)).elements;
}

bool KernelRun::below(const std::vector<int64_t>& position, const std::vector<Value*>& limits) {
  for (size_t i = 0; i < limits.size(); ++i) {
    if (position[i] >= index(limits[i])) return false;
  }
  return true;
}

void KernelRun::run_iota(Op* op) {
  Value* start = op->in(in::Iota::start);
  int64_t first = start ? index(start) : 0;
  size_t axis = size_t(op->attr(attr::Iota::axis));
  EvalValue& result = make(op);
  for_each_index(result.dims, [&](const std::vector<int64_t>& position, size_t flat) {
    Element from{.i = first + position[axis]};
    result.elements[flat] = evaluate_elementwise(ElementwiseKind::Cast, DType::I64,
                                                 op->result()->type()->dtype, {&from, 1});
  });
}

void KernelRun::run_broadcast(Op* op) {
  EvalValue& result = make(op);
  EvalValue& a = at(op->operand(0));
  for_each_index(result.dims, [&](const std::vector<int64_t>& position, size_t flat) {
    result.elements[flat] = pick(a, position);
  });
}

void KernelRun::run_transpose(Op* op) {
  EvalValue& result = make(op);
  EvalValue& a = at(op->operand(0));
  std::vector<int64_t> perm = op->attr(attr::Transpose::perm);
  std::vector<int64_t> source(perm.size());
  for_each_index(result.dims, [&](const std::vector<int64_t>& position, size_t flat) {
    for (size_t i = 0; i < perm.size(); ++i) source[size_t(perm[i])] = position[i];
    result.elements[flat] = pick(a, source);
  });
}

void KernelRun::run_merge(Op* op) {
  EvalValue& result = make(op);
  std::vector<Value*> limits = op->ins(in::Merge::limits);
  for_each_index(result.dims, [&](const std::vector<int64_t>& position, size_t flat) {
    Value* from = op->in(below(position, limits) ? in::Merge::a : in::Merge::b);
    result.elements[flat] = at(from).elements[flat];
  });
}

void KernelRun::run_slice(Op* op) {
  EvalValue& result = make(op);
  const EvalValue& a = at(op->operand(0));
  Position offsets = op->attr(attr::Slice::offsets), source(offsets.size());
  for_each_index(result.dims, [&](const Position& position, size_t flat) {
    size_t from = 0;
    for (size_t i = 0; i < offsets.size(); ++i)
      from = from * size_t(a.dims[i]) + size_t(offsets[i] + position[i]);
    result.elements[flat] = a.elements[from];
  });
}

std::vector<Element> KernelRun::widened(const std::vector<Element>& elements, DType from,
                                        DType to) {
  std::vector<Element> out(elements.size());
  const Element* operands[] = {elements.data()};
  evaluate_elementwise_many(ElementwiseKind::Cast, from, to, operands, out.data(), out.size());
  return out;
}

void add_dot(DType dtype, std::span<const Element> a, std::span<const Element> b,
                 std::span<Element> c, size_t columns, size_t k, size_t present) {
  if (columns == 0) return;
  std::vector<Element> factor(columns);
  for (size_t i = 0; i < c.size() / columns; ++i) {
    for (size_t p = 0; p < present; ++p) {
      std::ranges::fill(factor, a[i * k + p]);
      multiply_add(dtype, factor.data(), b.data() + p * columns, c.subspan(i * columns, columns));
    }
  }
}

void KernelRun::run_dot(Op* op) {
  Value* left = op->in(in::Dot::a);
  Value* right = op->in(in::Dot::b);
  DType dtype = op->result()->type()->dtype;
  std::vector<Element> a = widened(at(left).elements, left->type()->dtype, dtype);
  std::vector<Element> b = widened(at(right).elements, right->type()->dtype, dtype);
  size_t k = size_t(at(left).dims[1]), present = k;
  if (Value* limit = op->in(in::Dot::limit)) {
    present = size_t(std::clamp<int64_t>(index(limit), 0, int64_t(k)));
  }
  EvalValue& result = make(op);
  result.elements = at(op->in(in::Dot::c)).elements;
  add_dot(dtype, a, b, result.elements, size_t(result.dims[1]), k, present);
}

void KernelRun::run_pair_rows(Op* op) {
  const EvalValue& a = at(op->operand(0));
  EvalValue& result = make(op);
  size_t rows = size_t(result.dims[0]), columns = size_t(a.dims[1]);
  for (size_t e = 0; e < 2 * rows * columns; ++e) {
    size_t i = e / (2 * columns), j = e / 2 % columns, p = e % 2;
    result.elements[e] = a.elements[(2 * i + p) * columns + j];
  }
}

void KernelRun::run_dot_pairs(Op* op) {
  const Element one{.f = 1};
  const EvalValue &a = at(op->in(in::DotPairs::a)), &b = at(op->in(in::DotPairs::b));
  EvalValue& result = make(op);
  result.elements = at(op->in(in::DotPairs::c)).elements;
  bool sequential = op->attr(attr::DotPairs::sequential);
  size_t columns = size_t(result.dims[1]), pairs = size_t(b.dims[0]);
  for (size_t e = 0; e < result.elements.size(); ++e) {
    auto add_product = [&](size_t k, Element sum) {
      Element x = a.elements[e / columns * 2 * pairs + k];
      Element y = b.elements[k / 2 * 2 * columns + e % columns * 2 + k % 2];
      return flushed_fma(x, y, sum);
    };
    Element& total = result.elements[e];
    Element sums[2] = {{.f = 0}, {.f = 0}};
    for (size_t pair = 0; pair < pairs; ++pair) {
      if (sequential) {
        total = add_product(2 * pair, add_product(2 * pair + 1, total));
      } else {
        for (size_t half : {0, 1}) sums[half] = add_product(2 * pair + half, sums[half]);
      }
    }
    if (!sequential) total = flushed_fma(flushed_fma(sums[0], one, sums[1]), one, total);
  }
}

}  // namespace tessera::tile
