#pragma once
// The common start of every tool of the compiler.

#include <optional>

namespace CLI {
class App;
}

namespace tessera::driver {

/// Gives a tool --version and the common form of --help, once it has its options.
void finish_options(CLI::App& app);
/// Reads a command line. Gives the exit status where that is all there is to do: what --help or --version asks for was
/// printed, or the command line is wrong, which is reported in the format that it asks for. From
/// here on a tool that has no memory left says so.
std::optional<int> read_command_line(CLI::App& app, int argc, const char* const* argv);

}  // namespace tessera::driver
