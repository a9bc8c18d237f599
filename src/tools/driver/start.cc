#include "tools/driver/start.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <sstream>

#include "support/out_of_memory.h"
#include "tools/command_line/errors.h"
#include "tools/command_line/help.h"
#include "tools/driver/io.h"
#include "tools/driver/version.h"

namespace tessera::driver {

void finish_options(CLI::App& app) {
  app.set_version_flag("--version", version_line(app.get_name()));
  command_line::set_help_style(app);
  command_line::refuse_flag_values(app);
}

namespace {

/// The first option that ends with '=': the parser would take the next argument for its value.
std::string_view option_without_value(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    bool is_bare = argument.starts_with("--") && argument.find('=') == argument.size() - 1;
    if (is_bare) return argument.substr(0, argument.size() - 1);
  }
  return {};
}

}  // namespace

std::optional<int> read_command_line(CLI::App& app, int argc, const char* const* argv) {
  install_memory_handler();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that becomes too large is reported like a full disk
  if (std::string_view option = option_without_value(argc, argv); !option.empty()) {
    std::string text = std::string(option) + " is given no value";
    return command_line_error(app.get_name(), text, command_line::error_format(argc, argv));
  }
  if (std::string text = command_line::refuse_option_as_value(app, argc, argv); !text.empty()) {
    return command_line_error(app.get_name(), text, command_line::error_format(argc, argv));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help and --version
    std::ostringstream text;
    int status = app.exit(request, text, text);
    SourceManager sources;
    DiagnosticEngine diagnostics(sources);
    if (write_text("-", text.str(), diagnostics)) return status;
    show(diagnostics, command_line::error_format(argc, argv), app.get_name());
    return exit_user_error;
  } catch (const CLI::ParseError& error) {
    std::string text = command_line::error_text(app, error);
    return command_line_error(app.get_name(), text, command_line::error_format(argc, argv));
  }
  return std::nullopt;
}

}  // namespace tessera::driver
