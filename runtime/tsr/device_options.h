#pragma once
// The options that choose where an entry runs.

#include <cstdint>
#include <string>

namespace CLI {
class App;
class Option;
}

namespace tessera::tool {

struct DeviceOptions {
  std::string device = "cpu";
  int threads = 0;
  bool allow_jit = false;
  std::string checks;    ///< names of a context's checks; empty for none
  bool no_code = false;  ///< the bundle is only asked for signatures
  double timeout = 0;    ///< seconds of a call; 0 for no limit, as of the next two
  uint64_t max_memory = 0;  ///< bytes
  uint64_t max_steps = 0;   ///< of the plan, in a call
};

/// The threads that kernels use on a CPU: those of the options, of TSR_THREADS, or all processors available.
int thread_count(const DeviceOptions& options);

/// Has the option take seconds, from a millisecond on.
void take_seconds(CLI::Option& option, double most);

/// --timeout, --max-memory and --max-steps.
void add_limit_options(CLI::App& command, DeviceOptions& options);

/// --debug, for commands that run an entry once.
void add_debug_option(CLI::App& command, DeviceOptions& options);
void add_device_options(CLI::App& command, DeviceOptions& options);

}  // namespace tessera::tool
