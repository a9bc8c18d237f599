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

/// One exchange: lane l receives from lane Conversion::source_lane(l) what that lane holds in its
/// register source[that lane], and keeps it as its register destination[l]. A -1 stands where a
/// lane sends or keeps nothing.
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
  /// Shuffles: the permutation of lanes that all rounds share, linear over F2: the images of the
  /// bits of the lane index. Empty is the identity, and every round a butterfly.
  std::vector<int> lane_bases;

  /// permutation(lane) ^ round.lane_xor.
  int source_lane(const ShuffleRound& round, int lane) const;
  /// Rounds in which some lane receives from another.
  int shuffle_count() const;
};

/// Conversions that would take more shuffles than this go through shared memory.
inline constexpr int default_max_shuffles = 32;

/// The plan from one layout to another of the same extents, lanes and warps.
Conversion plan_conversion(const Layout& from, const Layout& to,
                           int max_shuffles = default_max_shuffles);

}  // namespace tessera::layout
