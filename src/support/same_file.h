#pragma once
// Whether two paths are of one file.

#include <string>

namespace tessera {

/// However they are spelt: a hard link to a file is the file, and of what is not there yet the paths are compared.
/// Devices such as /dev/null are no files.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace tessera
