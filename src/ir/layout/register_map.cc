#include "ir/layout/register_map.h"

#include <map>

namespace tessera::layout {

namespace {

Point moved(const Point& from, std::span<const int> axes) {
  Point to{};
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] >= 0) to[i] = from[size_t(axes[i])];
  }
  return to;
}

/// Whether the threads' parts of `to`, with its axes renamed, are those of `from`.
bool same_thread_parts(const Layout& from, const Layout& to, std::span<const int> axes) {
  for (InputDim dim : {InputDim::Lane, InputDim::Warp}) {
    if (from.size(dim) != to.size(dim)) return false;
    for (int i = 0; i < to.size(dim); ++i) {
      if (from.part(dim, i) != moved(to.part(dim, i), axes)) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<int64_t>> register_map(const Layout& from, const Layout& to,
                                                 std::span<const int> axes, const Point& start) {
  if (!same_thread_parts(from, to, axes)) return std::nullopt;
  std::map<Point, int64_t> holder;
  for (int r = from.registers_per_thread(); r-- > 0;) holder[from.register_offset(r)] = r;
  std::vector<int64_t> map;
  for (int r = 0; r < to.registers_per_thread(); ++r) {
    Point point = moved(to.register_offset(r), axes);
    for (size_t i = 0; i < point.size(); ++i) point[i] += start[i];
    auto found = holder.find(point);
    if (found == holder.end()) return std::nullopt;
    map.push_back(found->second);
  }
  return map;
}

}  // namespace tessera::layout
