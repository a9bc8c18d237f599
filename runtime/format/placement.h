#pragma once
// Where the temps of a plan lie in the arena, for given values of the dims.

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/format/plan.h"

namespace tessera::format {

struct Placement {
  std::vector<std::vector<int64_t>> shapes;  ///< per buffer
  std::vector<int64_t> bytes;                ///< per buffer
  std::vector<int64_t> offsets;              ///< per buffer: of a temp in the arena; else 0
  int64_t arena_bytes = 0;
};

enum class PlaceStatus : uint8_t { Ok, Invalid, TooLarge, Late };

struct [[nodiscard]] PlaceOutcome {
  PlaceStatus status = PlaceStatus::Ok;
  std::string text{};  ///< what is wrong
  bool failed() const { return status != PlaceStatus::Ok; }
};

/// Evaluates all shapes and packs the temps: by descending size, each at the lowest offset that no
/// temp alive at the same time occupies (first fit; Gergov, 1999, has the analysis). Views get no
/// memory, nor do temps of steps that the dims do not choose, whose extents are 0. `zone` bytes, a
/// multiple of plan_alignment, stay free behind each temp. Depends on the plan and the numbers given only. The time
/// that many temps take is quadratic: it ends `until` then.
PlaceOutcome place_buffers(const Plan& plan, std::span<const int64_t> dims, int64_t zone, Placement& placement,
                           std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max());

}  // namespace tessera::format
