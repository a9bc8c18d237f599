#pragma once
// Places in scratch memory.

#include <cstdint>

namespace tessera::tile {

/// What offsets in scratch memory are multiples of.
inline constexpr int64_t scratch_alignment = 64;

}  // namespace tessera::tile
