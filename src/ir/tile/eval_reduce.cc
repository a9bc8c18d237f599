// Reductions: the order in which elements are combined is part of the result.

#include <algorithm>

#include "ir/layout/reduction.h"
#include "ir/layout/text.h"
#include "ir/tile/build.h"
#include "ir/tile/eval_run.h"
#include "support/check.h"

namespace tessera::tile {

namespace {

using layout::InputDim;
using layout::Layout;
using layout::Point;

struct Combination {
  ElementwiseKind kind;
  DType dtype;
  Element none;  ///< what no element gives

  Element operator()(Element a, Element b) const {
    Element pair[2] = {a, b};
    return evaluate_elementwise(kind, dtype, dtype, pair);
  }
};

/// Combines a row as a tree over the extent.
Element tree(std::vector<Element>& row, const Combination& combine, int64_t extent) {
  int64_t half = 1;
  while (half < extent) half *= 2;
  for (half /= 2; half >= 1; half /= 2) {
    for (int64_t i = 0; i < half && i + half < int64_t(row.size()); ++i)
      row[size_t(i)] = combine(row[size_t(i)], row[size_t(i + half)]);
  }
  return row[0];
}

size_t flat_index(const Layout& layout, const Point& point) {
  size_t flat = 0;
  for (int axis = 0; axis < layout.rank(); ++axis)
    flat = flat * size_t(layout.extent(axis)) + size_t(point[size_t(axis)]);
  return flat;
}

/// The warps and threads of a machine, one warp after the other.
class ThreadedReduction {
 public:
  ThreadedReduction(const Layout& source, int axis, bool keep, const Combination& combine)
      : source_(source),
        axis_(size_t(axis)),
        plan_(layout::plan_reduction(source, axis, keep)),
        combine_(combine) {}

  /// Elements from `present` on along the axis count as none.
  void run(const std::vector<Element>& elements, int64_t present, std::vector<Element>& results) {
    size_t slots = size_t(plan_.slot_count());
    std::vector<std::vector<Element>> partial(slots, results);
    for (int warp = 0; warp < source_.warps(); ++warp) {
      if (!is_canonical(warp)) continue;
      for (int reg = 0; reg < plan_.result.registers_per_thread(); ++reg) {
        std::vector<Element> lanes = combine_lanes(elements, present, reg, warp);
        for (int lane = 0; lane < source_.lanes(); ++lane) {
          size_t to = flat_index(plan_.result, plan_.result.coordinates(reg, lane, warp));
          partial[size_t(plan_.slot_of(warp))][to] = lanes[size_t(lane)];
        }
      }
    }
    for (size_t e = 0; e < results.size(); ++e) {
      results[e] = partial[0][e];
      for (size_t slot = 1; slot < slots; ++slot)
        results[e] = combine_(results[e], partial[slot][e]);
    }
  }

 private:
  bool is_canonical(int warp) const {
    for (const layout::IndexField& field : source_.free_fields(InputDim::Warp)) {
      if (field.of(warp) != 0) return false;
    }
    return true;
  }

  std::vector<Element> combine_lanes(const std::vector<Element>& elements, int64_t present, int reg,
                                     int warp) const {
    std::vector<Element> lanes;
    for (int lane = 0; lane < source_.lanes(); ++lane) {
      std::optional<Element> sum;
      for (int from : plan_.registers[size_t(reg)]) {
        Point point = source_.coordinates(from, lane, warp);
        bool there = point[axis_] < present;
        Element e = there ? elements[flat_index(source_, point)] : combine_.none;
        sum = sum ? combine_(*sum, e) : e;
      }
      lanes.push_back(*sum);
    }
    for (int mask : plan_.lane_masks) {
      std::vector<Element> before = lanes;
      for (size_t lane = 0; lane < lanes.size(); ++lane)
        lanes[lane] = combine_(before[lane], before[lane ^ size_t(mask)]);
    }
    return lanes;
  }

  const Layout& source_;
  size_t axis_;
  layout::Reduction plan_;
  const Combination& combine_;
};

}  // namespace

void KernelRun::run_reduce(Op* op) {
  const EvalValue& a = at(op->in(in::Reduce::a));
  Type type = op->in(in::Reduce::a)->type();
  size_t axis = size_t(op->attr(attr::Reduce::axis));
  Value* limit = op->in(in::Reduce::limit);
  int64_t extent = a.dims[axis];
  int64_t present = limit ? std::clamp<int64_t>(index(limit), 0, extent) : extent;
  std::string_view kind = op->attr(attr::Reduce::kind);
  Attr none = reduction_identity(kernel_->module()->context(), kind, type->dtype);
  Combination combine{reduction_op(kind), type->dtype, element_of(none, type->dtype)};
  EvalValue& result = make(op);
  if (!type->layout.empty()) {
    std::optional<Layout> layout = layout::parse_layout(type->layout);
    TSR_CHECK(layout, "the layout of a tile was not verified");
    ThreadedReduction(*layout, int(axis), op->attr(attr::Reduce::keep), combine)
        .run(a.elements, present, result.elements);
    return;
  }
  size_t inner = size_t(count_of({a.dims.begin() + long(axis) + 1, a.dims.end()}));
  std::vector<Element> row(static_cast<size_t>(present));
  if (row.empty()) {
    std::ranges::fill(result.elements, combine.none);
    return;
  }
  for (size_t r = 0; r < result.elements.size(); ++r) {
    const Element* first = a.elements.data() + (r / inner) * size_t(extent) * inner + r % inner;
    for (size_t i = 0; i < row.size(); ++i) row[i] = first[i * inner];
    result.elements[r] = tree(row, combine, extent);
  }
}

}  // namespace tessera::tile
