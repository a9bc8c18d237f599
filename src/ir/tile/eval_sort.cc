// Sorts, by one total order of all elements.

#include <algorithm>
#include <cmath>

#include "ir/tile/eval_run.h"

namespace tessera::tile {

namespace {

/// NaN is greater than all numbers, and -0 less than 0.
bool is_less(DType dtype, Element a, Element b) {
  if (!is_float(dtype)) {
    Element pair[2] = {a, b};
    return evaluate_elementwise(ElementwiseKind::Lt, dtype, DType::Bool, pair).i;
  }
  if (std::isnan(a.f) || std::isnan(b.f)) return !std::isnan(a.f);
  return a.f < b.f || (a.f == b.f && std::signbit(a.f) && !std::signbit(b.f));
}

}  // namespace

void KernelRun::run_sort(Op* op) {
  const EvalValue a = at(op->in(in::Sort::a));
  DType dtype = op->result()->type()->dtype;
  size_t axis = size_t(op->attr(attr::Sort::axis));
  int64_t extent = a.dims[axis];
  Value* limit = op->in(in::Sort::limit);
  int64_t present = limit ? std::clamp<int64_t>(index(limit), 0, extent) : extent;
  size_t inner = size_t(count_of({a.dims.begin() + long(axis) + 1, a.dims.end()}));
  bool descending = op->attr(attr::Sort::descending);
  auto precedes = [&](Element x, Element y) { return descending ? is_less(dtype, y, x) : is_less(dtype, x, y); };
  EvalValue& result = make(op);
  result.elements = a.elements;
  size_t lines = extent ? a.elements.size() / size_t(extent) : 0;
  for (size_t l = 0; l < lines; ++l) {
    size_t first = l / inner * size_t(extent) * inner + l % inner;
    std::vector<Element> line;
    for (size_t i = 0; i < size_t(present); ++i) line.push_back(a.elements[first + i * inner]);
    std::ranges::sort(line, precedes);
    for (size_t i = 0; i < line.size(); ++i) result.elements[first + i * inner] = line[i];
  }
}

}  // namespace tessera::tile
