#pragma once
// The options that choose where an entry runs.

#include <string>

namespace CLI {
class App;
}

namespace tessera::tool {

struct DeviceOptions {
  std::string device = "cpu";
  int threads = 0;
  bool allow_jit = false;
  bool no_code = false;  ///< the bundle is only asked for signatures
};

void add_device_options(CLI::App& command, DeviceOptions& options);

}  // namespace tessera::tool
