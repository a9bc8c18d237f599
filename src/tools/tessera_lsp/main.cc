// tessera-lsp: the language server, on standard input and output.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "lsp/loop.h"
#include "tools/command_line/help.h"
#include "tools/driver/version.h"

int main(int argc, char** argv) {
  CLI::App app("The language server of Tessera: an editor starts it and speaks the Language Server Protocol with it.");
  app.set_version_flag("--version", tessera::driver::version_line("tessera-lsp"));
  bool stdio = false;
  app.add_flag("--stdio", stdio, "speak on standard input and output; it always does");
  app.footer("The server reads requests from standard input and answers on standard output until it is told to leave.\n"
             "docs/editors.md shows how editors are set up, and lists its settings.\n"
             "\n"
             "Exit status:\n"
             "  0  the client asked it to shut down, and then to leave\n"
             "  1  the client left without that");
  tessera::command_line::set_help_style(app);
  CLI11_PARSE(app, argc, argv);
  // A client that is gone is noticed where the answer is written.
  std::signal(SIGPIPE, SIG_IGN);
  return tessera::lsp::serve(STDIN_FILENO, STDOUT_FILENO, std::string(tessera::driver::version()));
}
