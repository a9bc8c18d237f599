#include "ir/layout/shared_layout.h"

#include <algorithm>
#include <bit>

#include "support/check.h"
#include "support/hash.h"

namespace tessera::layout {

namespace {

constexpr int64_t max_size_bytes = int64_t(1) << 40;

int64_t round_up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

std::optional<SharedLayout> SharedLayout::prepare(std::span<const int32_t> extents,
                                                  int element_bytes, std::span<const int> order) {
  bool good = !extents.empty() && extents.size() <= size_t(max_rank) && element_bytes >= 1 &&
              element_bytes <= 8 && std::has_single_bit(uint32_t(element_bytes));
  if (!good) return std::nullopt;
  SharedLayout layout;
  layout.rank_ = int(extents.size());
  layout.element_bytes_ = element_bytes;
  layout.extents_.fill(1);
  int64_t bytes = element_bytes;
  for (int axis = 0; axis < layout.rank_; ++axis) {
    if (extents[axis] < 1 || extents[axis] > max_extent) return std::nullopt;
    layout.extents_[axis] = extents[axis];
    bytes *= extents[axis];
    if (bytes > max_size_bytes) return std::nullopt;
  }
  layout.order_.assign(order.begin(), order.end());
  if (order.empty()) {
    for (int axis = layout.rank_; axis-- > 0;) layout.order_.push_back(axis);
  }
  std::vector<int> sorted = layout.order_;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() != extents.size()) return std::nullopt;
  for (int axis = 0; axis < layout.rank_; ++axis) {
    if (sorted[axis] != axis) return std::nullopt;
  }
  return layout;
}

bool SharedLayout::finish(int64_t size_bytes) {
  size_bytes_ = size_bytes;
  return size_bytes <= max_size_bytes;
}

std::optional<SharedLayout> SharedLayout::rows(std::span<const int32_t> extents, int element_bytes,
                                               std::span<const int> order, int padding) {
  std::optional<SharedLayout> layout = prepare(extents, element_bytes, order);
  if (!layout || padding < 0 || padding > 1024 || padding % element_bytes != 0) return std::nullopt;
  layout->padding_ = padding;
  int64_t stride = element_bytes;
  for (int axis : layout->order_) {
    layout->terms_.push_back({axis, 1, 0, stride});
    stride *= layout->extents_[axis];
    if (axis == layout->contiguous_axis()) stride += padding;
    if (stride > max_size_bytes) return std::nullopt;
  }
  return layout->finish(stride) ? layout : std::nullopt;
}

std::optional<SharedLayout> SharedLayout::swizzled(std::span<const int32_t> extents,
                                                   int element_bytes, Swizzle swizzle,
                                                   std::span<const int> order) {
  if (swizzle == Swizzle::None) return rows(extents, element_bytes, order);
  std::optional<SharedLayout> layout = prepare(extents, element_bytes, order);
  if (!layout) return std::nullopt;
  layout->swizzle_ = swizzle;
  int width = int(swizzle) / element_bytes;  // elements of a line
  int fastest = layout->contiguous_axis();
  layout->terms_.push_back({fastest, 1, width, element_bytes});
  int64_t stride = int(swizzle);
  for (int axis : layout->order_) {
    if (axis == fastest) continue;
    layout->terms_.push_back({axis, 1, 0, stride});
    stride *= layout->extents_[axis];
  }
  layout->column_stride_ = round_up(stride, layout->alignment());
  layout->terms_.push_back({fastest, width, 0, layout->column_stride_});
  int64_t columns = (layout->extents_[fastest] + width - 1) / width;
  return layout->finish(columns * layout->column_stride_) ? layout : std::nullopt;
}

std::optional<SharedLayout> SharedLayout::panels(int32_t k, int32_t n, int element_bytes,
                                                 int panel) {
  std::optional<SharedLayout> layout = prepare(std::array{k, n}, element_bytes, {});
  bool good = layout && element_bytes <= 4 && panel >= 1 && panel <= 1024 &&
              std::has_single_bit(uint32_t(panel));
  if (!good) return std::nullopt;
  int group = 4 / element_bytes;
  layout->panel_ = panel;
  layout->column_stride_ = (int64_t(k) + group - 1) / group * panel * 4;
  layout->terms_ = {{0, 1, group, element_bytes},
                    {1, 1, panel, 4},
                    {0, group, 0, int64_t(panel) * 4},
                    {1, panel, 0, layout->column_stride_}};
  int64_t panels = (int64_t(n) + panel - 1) / panel;
  return layout->finish(panels * layout->column_stride_) ? layout : std::nullopt;
}

int64_t SharedLayout::linear_offset(const Point& coordinates) const {
  int64_t linear = 0;
  for (const AddressTerm& term : terms_) {
    int32_t value = coordinates[term.axis] / term.divisor;
    if (term.count != 0) value %= term.count;
    linear += term.step * value;
  }
  return linear;
}

int64_t SharedLayout::offset(const Point& coordinates) const {
  for (int axis = 0; axis < max_rank; ++axis) {
    TSR_CHECK(coordinates[axis] >= 0 && coordinates[axis] < extents_[axis],
              "coordinates lie outside the shared tile");
  }
  int64_t linear = linear_offset(coordinates);
  return linear ^ ((linear >> 7 & swizzle_mask()) << 4);
}

uint64_t SharedLayout::hash() const {
  uint64_t hash = hash_combine(uint64_t(element_bytes_), uint64_t(swizzle_));
  hash = hash_combine(hash_combine(hash, uint64_t(padding_)), uint64_t(panel_));
  for (int axis : order_)
    hash = hash_combine(hash_combine(hash, uint64_t(axis)), uint64_t(extents_[axis]));
  return hash;
}

bool operator==(const SharedLayout& a, const SharedLayout& b) {
  return a.rank_ == b.rank_ && a.extents_ == b.extents_ && a.element_bytes_ == b.element_bytes_ &&
         a.swizzle_ == b.swizzle_ && a.padding_ == b.padding_ && a.panel_ == b.panel_ &&
         a.order_ == b.order_;
}

}  // namespace tessera::layout
