// Tried are rows along each axis, plain and with a few bytes between them, and for tiles of rank 2 all swizzles. That
// finds a layout without conflicts for what machines prescribe, and is a dozen candidates.

#include "ir/layout/exchange.h"

#include <numeric>
#include <tuple>

#include "ir/layout/access.h"
#include "support/check.h"

namespace tessera::layout {

namespace {

std::vector<SharedLayout> candidates(const Layout& layout, int bytes) {
  std::vector<int32_t> extents;
  for (int axis = 0; axis < layout.rank(); ++axis) extents.push_back(layout.extent(axis));
  std::vector<SharedLayout> all;
  auto add = [&](const std::optional<SharedLayout>& made) {
    if (made) all.push_back(*made);
  };
  for (int fastest = layout.rank(); fastest-- > 0;) {
    std::vector<int> order = {fastest};
    for (int axis = layout.rank(); axis-- > 0;) {
      if (axis != fastest) order.push_back(axis);
    }
    for (int padding : {0, 4, 8, 16}) {
      if (padding % bytes == 0) add(SharedLayout::rows(extents, bytes, order, padding));
    }
    for (Swizzle swizzle : {Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
      bool whole = layout.rank() == 2 && int64_t(extents[size_t(fastest)]) * bytes % int64_t(swizzle) == 0;
      if (whole) add(SharedLayout::swizzled(extents, bytes, swizzle, order));
    }
  }
  return all;
}

}  // namespace

int64_t access_cost(const Layout& layout, const SharedLayout& shared) {
  int width = shared_vector_width(layout, shared);
  int64_t least = std::max(1, layout.lanes() * width * shared.element_bytes() / 128);
  return layout.registers_per_thread() / width * (least + bank_conflicts(layout, shared, width));
}

SharedLayout exchange_layout(const Layout& from, const Layout& to, int element_bytes) {
  TSR_CHECK(from.rank() > 0 && from.extents() == to.extents(), "an exchange between tiles of different extents");
  std::vector<SharedLayout> all = candidates(from, element_bytes);
  TSR_CHECK(!all.empty(), "no layout of shared memory for " + std::to_string(from.element_count()) + " elements");
  const SharedLayout* best = nullptr;
  std::pair<int64_t, int64_t> least;
  for (const SharedLayout& shared : all) {
    std::pair cost(access_cost(from, shared) + access_cost(to, shared), shared.size_bytes());
    if (!best || cost < least) std::tie(best, least) = std::pair(&shared, cost);
  }
  return *best;
}

}  // namespace tessera::layout
