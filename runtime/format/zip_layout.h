#pragma once
// The one byte form of an archive, header by header. Writer and reader both come here: what the
// reader accepts is by construction what the writer gives.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::format {

/// What determines an entry's headers.
struct ZipEntry {
  std::string name;
  uint32_t size = 0;
  uint32_t crc = 0;
};

inline constexpr size_t zip_end_bytes = 22;
/// "xxh3-128:" and 32 hex digits.
inline constexpr size_t zip_comment_bytes = 41;

/// Local header with its padding, for an entry that starts at `offset`: data follows directly and
/// is aligned.
std::string zip_local_header(const ZipEntry& entry, uint64_t offset);

/// Where an entry's data starts when its local header starts at `offset`.
uint64_t zip_data_offset(size_t name_bytes, uint64_t offset);

/// Central directory and end record for entries that lie one after another from offset 0, and the
/// comment with the manifest's hash.
std::string zip_directory(const std::vector<ZipEntry>& entries, std::string_view manifest_hash);

}  // namespace tessera::format
