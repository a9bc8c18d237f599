#include "tools/driver/version.h"

namespace tessera::driver {

std::string_view version() { return TESSERA_VERSION; }

std::string version_line(std::string_view tool) { return std::string(tool) + " " + std::string(version()); }

}  // namespace tessera::driver
