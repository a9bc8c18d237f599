#pragma once
// Where the temps of a plan lie in the arena, for given values of the dims.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/format/plan.h"

namespace tessera::runtime {

struct Placement {
  std::vector<std::vector<int64_t>> shapes;  ///< per buffer
  std::vector<int64_t> bytes;                ///< per buffer
  std::vector<int64_t> offsets;              ///< per buffer: of a temp in the arena; else 0
  int64_t arena_bytes = 0;
};

/// Evaluates all shapes and packs the temps: by descending size, each at the lowest offset that no
/// temp alive at the same time occupies (first fit; Gergov, 1999, has the analysis). Views get no
/// memory. Depends on the plan and the dims only.
Status place_buffers(const format::Plan& plan, std::span<const int64_t> dims, Placement& placement);

/// The temps and outputs that an alias step makes views.
std::vector<bool> find_views(const format::Plan& plan);

}  // namespace tessera::runtime
