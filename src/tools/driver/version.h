#pragma once
// The names and versions that the tools print.

#include <string>
#include <string_view>

namespace tessera::driver {

/// The version of this build, such as 0.1.0.
std::string_view version();
/// "tesserac 0.1.0"
std::string version_line(std::string_view tool);

}  // namespace tessera::driver
