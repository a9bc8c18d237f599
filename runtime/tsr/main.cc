// tsr: runs, trains, shows, checks and times bundles. Each subcommand is a row of commands.def and a file.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <sstream>

#include "runtime/files/text.h"
#include "runtime/include/tessera.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/errors.h"
#include "support/file.h"
#include "support/out_of_memory.h"
#include "tools/command_line/error_format.h"
#include "tools/command_line/errors.h"
#include "tools/command_line/help.h"

namespace {

using namespace tessera::tool;
using tessera::command_line::ErrorFormat;
using tessera::format::cat;

constexpr const char* epilogue =
    "Exit status:\n"
    "  0   success\n"
    "  1   an error in the command line, a file, or the tensors; the message says which\n"
    "  70  an internal error\n"
    "\n"
    "Environment:\n"
    "  TSR_THREADS  threads that kernels use, when --threads is not given\n"
    "  TSR_TARGET   the target whose code is loaded, such as cpu:x86-64-v3\n"
    "  TSR_SYNC     1 waits for the GPU after every kernel, so that an error names its kernel\n"
    "  TSR_GRAPHS   0 launches each kernel by itself, without CUDA graphs\n"
    "  TSR_POISON   1 fills temporaries and outputs with NaN patterns before a call\n"
    "  NO_COLOR     any text disables colours\n"
    "\n"
    "Examples:\n"
    "  tsr run --help          explain a command\n"
    "  tsr inspect mlp.bundle  what it has\n"
    "  tsr init mlp.bundle -o w.safetensors\n"
    "  tsr run mlp.bundle mlp --params w.safetensors --input x=x.npy --output mlp=y.npy\n"
    "  tsr bench mlp.bundle --dims B=64";

/// What commands of other tools are here.
std::string command_here(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> rows[] = {
      {" compile build ", "'tesserac FILE.tsr' compiles a source"},
      {" check ", "'tesserac FILE.tsr' checks a source as it compiles it, and 'tsr verify' checks a bundle"},
      {" new create ", "there is no project to make: 'tesserac FILE.tsr' compiles a source by itself"},
      {" fmt format ", "'tessera-fmt FILE.tsr' formats a source"},
      {" help ", "'tsr --help' lists them"},
  };
  for (const auto& [names, here] : rows) {
    if (names.find(cat(" ", name, " ")) != names.npos) return cat("; ", here);
  }
  return {};
}

/// Says so when the first argument is no command; the parser would only say that one is missing.
int check_command(const char* first) {
  const std::vector<std::string> names = {
#define COMMAND(name, summary) #name,
#include "runtime/tsr/commands.def"
#undef COMMAND
  };
  if (!first) return fail("no command is given; 'tsr --help' lists them");
  if (first[0] == '-' || std::find(names.begin(), names.end(), first) != names.end()) return exit_ok;
  std::string others = command_here(first);
  if (others.empty()) others = suggestion(first, names);
  if (others.empty()) others = cat("; commands are ", listed(names));
  return fail(cat("there is no command ", tessera::format::in_quotes(first), others));
}

/// The first argument behind --error-format.
const char* command_of(int argc, char** argv) {
  constexpr std::string_view option = "--error-format";
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (!argument.starts_with(option)) return argv[i];
    i += argument == option;
  }
  return nullptr;
}

int run(int argc, char** argv) {
  CLI::App app("Runs, trains, shows, checks and times bundles that tesserac wrote.", "tsr");
  ErrorFormat format = tessera::command_line::error_format(argc, argv);
  Errors& reports = errors();  // made first: later there may be no memory for it
  if (format == ErrorFormat::Json) reports.keep_for_json();
  app.require_subcommand(1);
  app.footer(epilogue);
  app.set_version_flag("--version",
                       cat("tsr ", TESSERA_VERSION, ", ABI ", TSR_ABI_MAJOR, ".", TSR_ABI_MINOR));
  int exit_code = exit_ok;
#define COMMAND(name, summary) add_##name##_command(*app.add_subcommand(#name, summary), exit_code);
#include "runtime/tsr/commands.def"
#undef COMMAND
  for (CLI::App* command : app.get_subcommands({})) command->fallthrough();
  tessera::command_line::add_error_format(app, format, {"human", "json"}, "Diagnostics");
  tessera::command_line::set_help_style(app);
  tessera::command_line::refuse_flag_values(app);
  if (int code = check_command(command_of(argc, argv))) return code;
  std::string wrong = tessera::command_line::refuse_option_as_value(app, argc, argv);
  if (!wrong.empty()) return fail_command_line(wrong, "tsr");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help and --version
    std::ostringstream text;
    int status = app.exit(request, text, text);
    std::string problem;
    return tessera::write_file("-", text.str(), problem) ? status : fail_write("<stdout>", problem);
  } catch (const CLI::ParseError& error) {
    std::vector<CLI::App*> commands = app.get_subcommands();
    return fail_command_line(tessera::command_line::error_text(app, error),
                             commands.empty() ? "tsr" : cat("tsr ", commands[0]->get_name()));
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  tessera::install_memory_handler();
  try {
    std::signal(SIGXFSZ, SIG_IGN);  // a file that becomes too large is reported like a full disk
    int code = run(argc, argv);
    std::string problem;
    if (!tessera::flush_output(problem) && code == exit_ok) code = fail_write("<stdout>", problem);
    errors().finish();
    return code;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "tsr: internal error: %s [internal-error]\n", problem.what());
    return exit_internal;
  }
}
