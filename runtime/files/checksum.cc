#include "runtime/files/checksum.h"

#include <array>
#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tessera::format {

namespace {

static_assert(std::endian::native == std::endian::little);

using Tables = std::array<std::array<uint32_t, 256>, 8>;

/// Tables for eight bytes a step (Kounavis and Berry, "slicing-by-8", 2005).
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xedb88320u ^ (value >> 1) : value >> 1;
    tables[0][i] = value;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t i = 0; i < 256; ++i) {
      uint32_t before = tables[k - 1][i];
      tables[k][i] = (before >> 8) ^ tables[0][before & 255];
    }
  }
  return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

uint32_t crc32(std::string_view bytes) {
  uint32_t crc = 0xffffffffu;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= tables[7 - k][(word >> (8 * k)) & 255];
  }
  for (; left != 0; ++at, --left) crc = (crc >> 8) ^ tables[0][(crc ^ uint8_t(*at)) & 255];
  return ~crc;
}

std::string xxh3_hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  std::string out;
  for (unsigned char byte : canonical.digest) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

}  // namespace tessera::format
