#pragma once
// How a tile gets from one distributed layout into another, at the least expense.

#include <vector>

#include "ir/layout/layout.h"

namespace tessera::layout {

enum class ConversionKind : uint8_t {
  Nothing,    ///< every thread already holds the right registers
  Registers,  ///< a selection of a thread's own registers, the same in all threads
  Shuffles,   ///< exchanges within warps
  Shared,     ///< through shared memory
};

/// One exchange: lane l sends register source[l] to lane l ^ lane_xor, which keeps what it receives
/// as its register destination[l ^ lane_xor]; -1 where a lane sends or keeps nothing.
/// lane_xor = 0 is a move within the thread.
struct ShuffleRound {
  int lane_xor;
  std::vector<int> source;
  std::vector<int> destination;

  /// The register that all lanes that send use, or -1 if they use different ones.
  int uniform_source() const;
  int uniform_destination() const;
};

struct Conversion {
  ConversionKind kind = ConversionKind::Nothing;
  /// Registers: per register of the target, the source's register.
  std::vector<int> registers;
  /// Shuffles: rounds in order; the same in all warps.
  std::vector<ShuffleRound> rounds;
  /// Rounds that cross lanes.
  int shuffle_count() const;
};

/// Conversions that would take more shuffles than this go through shared memory.
inline constexpr int default_max_shuffles = 32;

/// The plan from one layout to another of the same extents, lanes and warps.
Conversion plan_conversion(const Layout& from, const Layout& to,
                           int max_shuffles = default_max_shuffles);

}  // namespace tessera::layout
