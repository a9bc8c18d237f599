// tessera-lsp: the language server, on standard input and output.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "lsp/loop.h"
#include "tools/driver/version.h"

int main(int argc, char** argv) {
  CLI::App app("The language server of Tessera: an editor starts it and speaks the Language Server Protocol with it.");
  app.set_version_flag("--version", tessera::driver::version_line("tessera-lsp"));
  bool stdio = false;
  app.add_flag("--stdio", stdio, "speak on standard input and output; it always does");
  app.footer("docs/editors.md shows how editors are set up.");
  CLI11_PARSE(app, argc, argv);
  // A client that is gone is noticed where the answer is written.
  std::signal(SIGPIPE, SIG_IGN);
  return tessera::lsp::serve(STDIN_FILENO, STDOUT_FILENO, std::string(tessera::driver::version()));
}
