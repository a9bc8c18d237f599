// tessera-lsp: the language server, on standard input and output.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <vector>

#include "lsp/server/loop.h"
#include "lsp/server/supervisor.h"
#include "support/check.h"
#include "tools/driver/start.h"
#include "tools/driver/version.h"

namespace {

/// Tests make the server fail at a word in a text, ask for memory without end, or never be done with it.
tessera::lsp::WorkingOn failing(const tessera::lsp::WorkingOn& working_on) {
  const char* word = std::getenv("TESSERA_LSP_FAIL_AT");
  const char* greedy = std::getenv("TESSERA_LSP_FILL_AT");
  const char* endless = std::getenv("TESSERA_LSP_HANG_AT");
  if (!word && !greedy && !endless) return working_on;
  return [working_on, word, greedy, endless](std::string_view uri, std::string_view text) {
    working_on(uri, text);
    bool fails = word && text.find(word) != std::string_view::npos;
    TSR_CHECK(!fails, "the text has the word that tests fail at");
    std::vector<std::unique_ptr<char[]>> kept;  // and not written to: what is asked for counts
    while (greedy && text.find(greedy) != std::string_view::npos) kept.emplace_back(new char[1 << 20]);
    while (endless && text.find(endless) != std::string_view::npos) ::pause();
  };
}

/// Tests do not wait as long as people do.
tessera::lsp::WorkerLimits limits() {
  tessera::lsp::WorkerLimits limits;
  const char* busy = std::getenv("TESSERA_LSP_BUSY_MS");
  if (busy) limits.busy = std::chrono::milliseconds(std::atoi(busy));
  const char* memory = std::getenv("TESSERA_LSP_MEMORY_MB");
  if (memory) limits.memory = size_t(std::atoi(memory)) << 20;
  return limits;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The language server of Tessera: an editor starts it and speaks the Language Server Protocol with it.",
               "tessera-lsp");
  bool stdio = false;
  app.add_flag("--stdio", stdio, "speak on standard input and output; it always does");
  std::string messages;
  app.add_option("--replay", messages,
                 "read the messages that a server failed at, from the file that it named, and print the answers;\n"
                 "in this process, for a debugger")
      ->type_name("FILE");
  app.footer(
      "The server reads requests from standard input and answers on standard output until the "
      "client asks it to exit.\n"
      "docs/editors.md shows how editors are set up, and lists its settings.\n"
      "\n"
      "Exit status:\n"
      "  0  the client asked it to shut down, and then to exit\n"
      "  1  the client left without asking, or the command line has errors");
  tessera::driver::finish_options(app);
  if (std::optional<int> status = tessera::driver::read_command_line(app, argc, argv)) return *status;
  // A client that is gone is noticed where the answer is written.
  std::signal(SIGPIPE, SIG_IGN);
  std::string version(tessera::driver::version());
  if (!messages.empty()) return tessera::lsp::replay(messages, version, failing([](auto, auto) {}));
  auto serve = [&](int in, int out, const tessera::lsp::WorkingOn& working_on) {
    return tessera::lsp::serve(in, out, version, failing(working_on));
  };
  return tessera::lsp::supervise(STDIN_FILENO, STDOUT_FILENO, serve, limits());
}
