// Scans: as for reductions the order in which elements are combined is part of the result.

#include <algorithm>

#include "ir/layout/scan.h"
#include "ir/layout/text.h"
#include "ir/tile/build.h"
#include "ir/tile/eval_run.h"
#include "support/check.h"

namespace tessera::tile {

namespace {

/// How many neighbouring groups are joined, step by step, along an axis of `extent` elements.
std::vector<int64_t> joined_groups(Type tile, int axis, int64_t extent) {
  if (tile->layout.empty()) {
    constexpr int64_t run = 16;
    return {2, 2, 2, 2, std::max<int64_t>(1, (extent + run - 1) / run)};
  }
  std::optional<layout::Layout> layout = layout::parse_layout(tile->layout);
  TSR_CHECK(layout, "the layout of a tile was not verified");
  std::optional<layout::Scan> plan = layout::plan_scan(*layout, axis);
  TSR_CHECK(plan, "a scan of a tile whose layout has no plan for it");
  std::vector<int64_t> counts;
  for (const layout::ScanStep& step : plan->steps) counts.push_back(step.count);
  if (counts.empty()) counts.push_back(1);
  return counts;
}

/// One line of elements along the axis.
class LineScan {
 public:
  LineScan(ElementwiseKind kind, DType dtype, bool reverse) : kind_(kind), dtype_(dtype), reverse_(reverse) {}

  /// `totals` starts as the elements, `line` as the elements or, for an exclusive scan, as what no
  /// element gives; it becomes the result.
  std::optional<Element> run(std::vector<Element>& line, std::vector<Element> totals,
                             const std::vector<int64_t>& counts, std::optional<Element> before) {
    size_t size = 1;
    for (size_t step = 0; step < counts.size(); ++step) {
      std::optional<Element> first = step + 1 == counts.size() ? before : std::nullopt;
      size_t count = size_t(counts[step]);
      std::vector<Element> joined;
      for (size_t group = 0; group < totals.size(); group += count) {
        size_t end = std::min(group + count, totals.size());
        joined.push_back(join(line, totals, group, end, size, first));
      }
      totals = std::move(joined);
      size *= count;
    }
    return totals.empty() ? before : totals[0];
  }

 private:
  Element combine(Element a, Element b) const {
    Element pair[2] = {a, b};
    return evaluate_elementwise(kind_, dtype_, dtype_, pair);
  }

  /// Joins the groups from `begin` to `end`, each of `size` elements but for the last of all.
  Element join(std::vector<Element>& line, const std::vector<Element>& totals, size_t begin, size_t end, size_t size,
               std::optional<Element> running) const {
    for (size_t n = 0; n < end - begin; ++n) {
      size_t group = reverse_ ? end - 1 - n : begin + n;
      size_t last = std::min((group + 1) * size, line.size());
      for (size_t i = group * size; running && i < last; ++i) line[i] = combine(*running, line[i]);
      running = running ? combine(*running, totals[group]) : totals[group];
    }
    return *running;
  }

  ElementwiseKind kind_;
  DType dtype_;
  bool reverse_;
};

}  // namespace

void KernelRun::run_scan(Op* op) {
  const EvalValue a = at(op->in(in::Scan::a));
  Type type = op->in(in::Scan::a)->type();
  size_t axis = size_t(op->attr(attr::Scan::axis));
  int64_t extent = a.dims[axis];
  Value* limit = op->in(in::Scan::limit);
  int64_t present = limit ? std::clamp<int64_t>(index(limit), 0, extent) : extent;
  std::string_view kind = op->attr(attr::Scan::kind);
  Element none = element_of(reduction_identity(kernel_->module()->context(), kind, type->dtype), type->dtype);
  std::vector<int64_t> counts = joined_groups(type, int(axis), extent);
  LineScan scan(reduction_op(kind), type->dtype, op->attr(attr::Scan::reverse));
  EvalValue& result = make(op, 0);
  EvalValue& total = make(op, 1);
  Value* before = op->in(in::Scan::before);
  size_t inner = size_t(count_of({a.dims.begin() + long(axis) + 1, a.dims.end()}));
  for (size_t l = 0; l < total.elements.size(); ++l) {
    size_t first = (l / inner) * size_t(extent) * inner + l % inner;
    std::vector<Element> elements(static_cast<size_t>(extent), none);
    for (size_t i = 0; i < size_t(present); ++i) elements[i] = a.elements[first + i * inner];
    std::vector<Element> line =
        op->attr(attr::Scan::exclusive) ? std::vector<Element>(elements.size(), none) : elements;
    std::optional<Element> start;
    if (before) start = at(before).elements[l];
    total.elements[l] = scan.run(line, elements, counts, start).value_or(none);
    for (size_t i = 0; i < line.size(); ++i) result.elements[first + i * inner] = line[i];
  }
}

}  // namespace tessera::tile
