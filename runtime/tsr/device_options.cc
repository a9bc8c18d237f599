#include "runtime/tsr/device_options.h"

#include <CLI/CLI.hpp>

namespace tessera::tool {

void add_device_options(CLI::App& command, DeviceOptions& options) {
  command.add_option("--device", options.device, "Device to run on: cpu, or cuda:N for a GPU")
      ->type_name("DEVICE")
      ->capture_default_str();
  command
      .add_option("--threads", options.threads,
                  "Threads that kernels use on a CPU; 0: all processors")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
  command.add_flag("--allow-jit", options.allow_jit,
                   "Let the GPU's driver compile bundles that have PTX only");
}

}  // namespace tessera::tool
