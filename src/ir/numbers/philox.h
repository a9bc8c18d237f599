#pragma once
// Philox4x32-10, the counter-based random number generator of Salmon, Moraes, Dror and Shaw,
// "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011): ten rounds that convert a counter of
// four words and a key of two to four words. Nothing is carried from one call to the next, so that
// elements can be made in any order.

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

namespace philox {

// Multipliers of the round and increments of the key, as published.
inline constexpr uint32_t multiplier_0 = 0xD2511F53, multiplier_1 = 0xCD9E8D57;
inline constexpr uint32_t increment_0 = 0x9E3779B9, increment_1 = 0xBB67AE85;
inline constexpr int rounds = 10;

using Counter = std::array<uint32_t, 4>;
using Key = std::array<uint32_t, 2>;

Counter block(Counter counter, Key key);

/// The four words of block `n` under a 64-bit key: the counter is n, lowest word first, then zeros;
/// the key's low word comes first.
Counter block(uint64_t n, uint64_t key);

/// The stream of random numbers that a name stands for: its numbers are those of the key seed xor
/// stream.
uint64_t stream_of(std::string_view name);

}  // namespace philox

}  // namespace tessera
