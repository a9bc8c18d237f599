#include "runtime/tsr/device_options.h"

#include <CLI/CLI.hpp>

#include "runtime/files/text.h"
#include "runtime/files/threads.h"
#include "runtime/format/check_names.h"
#include "tools/command_line/values.h"

namespace tessera::tool {

void add_device_options(CLI::App& command, DeviceOptions& options) {
  command.add_option("--device", options.device, "device to run on: cpu, or cuda:N for a GPU")
      ->type_name("DEVICE")
      ->capture_default_str();
  CLI::Option* threads =
      command.add_option("--threads", options.threads, "threads that kernels use on a CPU; 0: all processors");
  command_line::take_count(*threads->type_name("N"), 0, runtime::most_threads);
  command.add_flag("--allow-jit", options.allow_jit,
                   "let the GPU's driver compile bundles that have PTX only");
}

int thread_count(const DeviceOptions& options) {
  return options.threads != 0 ? options.threads : runtime::default_threads();
}

void take_seconds(CLI::Option& option, double most) {
  option.type_name("SECONDS")->check([most](const std::string& text) {
    double seconds = 0;
    bool fits = CLI::detail::lexical_cast(text, seconds) && seconds >= 0.001 && seconds <= most;  // no NaN does
    return fits ? std::string() : format::cat("'", text, "' is not a number of seconds from 0.001 to ", int64_t(most));
  });
}

void add_limit_options(CLI::App& command, DeviceOptions& options) {
  take_seconds(*command.add_option("--timeout", options.timeout, "end a call of the entry that takes longer"), 1e9);
  command_line::take_byte_size(*command.add_option(
      "--max-memory", options.max_memory,
      "refuse calls that need more memory for tensors: bytes, or a size as 500MB (of 1000) or 2GiB (of 1024)"));
  CLI::Option* steps = command.add_option(
      "--max-steps", options.max_steps,
      "end a call that runs more steps of its plan; those of a loop count in every iteration");
  command_line::take_count(*steps->type_name("N"), 1);
}

void add_debug_option(CLI::App& command, DeviceOptions& options) {
  // A flag, which may have a value, takes no argument that follows it.
  command
      .add_flag("--debug{all}", options.checks,
                "look for errors of kernels: canaries around memory, guard pages, poison in memory\n"
                "that is not written yet, the first NaN or infinity, @verify.numerics. A list chooses\n"
                "some of them: --debug=canaries,guards,poison,nan,inf,numerics. A bundle of 'tesserac\n"
                "--debug' checks the bounds of accesses even without this option")
      ->check([](const std::string& names) {
        format::Result<uint32_t> checks = format::parse_checks(names);
        return checks ? std::string() : checks.error().text;
      });
}

}  // namespace tessera::tool
