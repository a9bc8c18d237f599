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
};

void add_device_options(CLI::App& command, DeviceOptions& options);

}  // namespace tessera::tool
