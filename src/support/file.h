#pragma once
// Reading files whole, and writing them so that no partial file is ever seen.

#include <string>
#include <string_view>

namespace tessera {

/// Larger files are not read.
inline constexpr size_t max_read_bytes = size_t(256) << 20;

/// Reads a whole file of at most max_read_bytes; "-" is standard input. Devices, named pipes and
/// directories are refused, as they may have no end, except pipes and terminals that this process
/// was started with (standard input, /dev/fd/N). On failure returns false and sets `error` to the
/// reason.
bool read_file(const std::string& path, std::string& contents, std::string& error);

/// Writes aside and renames, so that `path` holds the old or the new bytes, never a part. A file keeps its permissions,
/// and what a link leads to is written, not the link.
/// A non-regular file such as /dev/null is written directly; `-` is standard output.
bool write_file(const std::string& path, std::string_view contents, std::string& error);

}  // namespace tessera
