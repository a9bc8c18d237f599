#include "tools/driver/start.h"

#include <CLI/CLI.hpp>

#include "support/out_of_memory.h"
#include "tools/command_line/help.h"
#include "tools/driver/io.h"
#include "tools/driver/version.h"

namespace tessera::driver {

void finish_options(CLI::App& app) {
  app.set_version_flag("--version", version_line(app.get_name()));
  command_line::set_help_style(app);
}

std::optional<int> read_command_line(CLI::App& app, int argc, const char* const* argv) {
  install_memory_handler();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help and --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    std::string text = command_line::mistake_text(app, error);
    return command_line_error(app.get_name(), std::move(text), command_line::error_format(argc, argv));
  }
  return std::nullopt;
}

}  // namespace tessera::driver
