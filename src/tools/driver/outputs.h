#pragma once
// The files that one run of a tool writes.

#include <span>
#include <string>
#include <string_view>

namespace tessera::driver {

struct Output {
  std::string_view what;  ///< such as "the bundle"
  std::string path;       ///< "-" is standard output; empty where it is not written
};

/// Why a run cannot write all of these; empty when it can. None may be the file that is read, or have a name for
/// sources or tensors, and no two the same file, however their paths are spelt; devices such as /dev/null take all.
std::string check_outputs(const std::string& input, std::span<const Output> outputs);

}  // namespace tessera::driver
