#pragma once
// The two checksums of a bundle.

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::format {

/// CRC-32 as in ZIP (reflected polynomial 0xedb88320).
uint32_t crc32(std::string_view bytes);

/// XXH3 of 128 bits as 32 lower-case hex digits, most significant first.
std::string xxh3_hex(std::string_view bytes);

}  // namespace tessera::format
