#include "ir/tile/shared_memory.h"

#include "ir/layout/reduction.h"
#include "ir/layout/scan.h"
#include "ir/layout/text.h"
#include "ir/tile/ops.h"
#include "support/check.h"

namespace tessera::tile {

std::optional<layout::SharedLayout> shared_layout_of(Type view) {
  if (view->layout.empty()) return std::nullopt;
  std::optional<layout::SharedLayout> layout = layout::parse_shared_layout(view->layout);
  TSR_CHECK(layout, "the layout of a view was not verified");
  return layout;
}

bool is_cut_in(const layout::SharedLayout& layout, int64_t parts) {
  return layout.rank() == 2 && layout.extents()[size_t(1 - layout.contiguous_axis())] % (8 * parts) == 0;
}

int64_t slot_bytes(const layout::SharedLayout& layout) {
  int64_t alignment = layout.alignment();
  return (layout.size_bytes() + alignment - 1) / alignment * alignment;
}

int64_t shared_bytes(Type view) {
  std::optional<layout::SharedLayout> layout = shared_layout_of(view);
  int64_t bytes = layout ? slot_bytes(*layout) : byte_size(view->dtype);
  size_t axes = view->rank() - (layout ? size_t(layout->rank()) : 0);
  for (size_t i = 0; i < axes; ++i) bytes *= *view->dims[i]->constant();
  return bytes;
}

int64_t shared_alignment(Type view) {
  std::optional<layout::SharedLayout> layout = shared_layout_of(view);
  return layout ? layout->alignment() : 16;
}

int64_t allocated_shared_bytes(Op* kernel) {
  int64_t bytes = 0;
  walk(kernel, [&](Op* op) {
    if (op->is(info(OpKind::AllocShared))) bytes += shared_bytes(op->result()->type());
  });
  return bytes;
}

std::optional<int64_t> exchanged_bytes(Op* op) {
  std::optional<layout::Layout> from = layout::parse_layout(op->operand(0)->type()->layout);
  if (!from) return std::nullopt;
  int axis = int(op->is(info(OpKind::Reduce)) ? op->attr(attr::Reduce::axis) : op->attr(attr::Scan::axis));
  int64_t element = byte_size(op->result(0)->type()->dtype);
  if (op->is(info(OpKind::Reduce))) {
    layout::Reduction plan = layout::plan_reduction(*from, axis, op->attr(attr::Reduce::keep));
    int64_t slots = plan.slot_count();
    return slots > 1 ? slots * plan.result.element_count() * element : 0;
  }
  std::optional<layout::Scan> plan = layout::plan_scan(*from, axis);
  if (!plan) return std::nullopt;
  return plan->exchanged() * element;
}

}  // namespace tessera::tile
