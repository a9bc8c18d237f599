#pragma once
// The options about diagnostics that every tool of the compiler has.

#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "support/result.h"
#include "tools/command_line/error_format.h"

namespace CLI {
class App;
}

namespace tessera::driver {

using command_line::ErrorFormat;

struct DiagnosticOptions {
  ErrorFormat format = ErrorFormat::Human;
  std::vector<std::string> warnings;  ///< what follows each -W, in order
  size_t error_limit = 20;
};

/// The group of options that `--help` shows them in.
inline constexpr const char* diagnostic_group = "Diagnostics";
/// Adds --error-format, -W and --error-limit.
void add_diagnostic_options(CLI::App& app, DiagnosticOptions& options);

/// Gives the engine its limit and levels; a -W that names no warning is reported.
Status configure(const DiagnosticOptions& options, DiagnosticEngine& diagnostics);

}  // namespace tessera::driver
