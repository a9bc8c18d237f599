#pragma once
// Which of a thread's registers hold the elements of a tile that is another view of its own.

#include <optional>
#include <span>
#include <vector>

#include "ir/layout/layout.h"

namespace tessera::layout {

/// The register of `from` that holds what each register of `to` does, in every thread alike. Axis i
/// of `from` is axis axes[i] of `to` (-1: index 0), and `to` begins at `start` in `from`.
/// Nothing where a thread would need an element that another one holds.
std::optional<std::vector<int64_t>> register_map(const Layout& from, const Layout& to,
                                                 std::span<const int> axes,
                                                 const Point& start = {});

}  // namespace tessera::layout
