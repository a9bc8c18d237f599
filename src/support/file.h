#pragma once
// Reading files whole, and writing them so that no partial file is ever seen.

#include <string>
#include <string_view>

namespace tessera {

/// Reads a whole file. On failure returns false and sets `error` to the reason.
bool read_file(const std::string& path, std::string& contents, std::string& error);

/// Writes aside and renames, so that `path` holds the old or the new bytes, never a part.
/// A non-regular file such as /dev/null is written directly; `-` is standard output.
bool write_file(const std::string& path, std::string_view contents, std::string& error);

}  // namespace tessera
