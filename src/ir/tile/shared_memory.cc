#include "ir/tile/shared_memory.h"

#include "ir/layout/text.h"
#include "support/check.h"

namespace tessera::tile {

std::optional<layout::SharedLayout> shared_layout_of(Type view) {
  if (view->layout.empty()) return std::nullopt;
  std::optional<layout::SharedLayout> layout = layout::parse_shared_layout(view->layout);
  TSR_CHECK(layout, "the layout of a view was not verified");
  return layout;
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

}  // namespace tessera::tile
