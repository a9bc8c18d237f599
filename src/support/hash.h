#pragma once
// Content hashes: XXH3 of 128 bits, printed as 32 hex digits.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

/// 64-bit hash for tables in memory.
uint64_t hash64(std::string_view bytes, uint64_t seed = 0);
/// The printed 128-bit hash of a byte string (XXH3-128, big-endian hex).
std::string content_hash(std::string_view bytes);

inline uint64_t hash_combine(uint64_t a, uint64_t b) {
  return a ^ (b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2));
}

}  // namespace tessera
