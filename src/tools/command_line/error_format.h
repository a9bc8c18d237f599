#pragma once
// --error-format: how a tool reports errors.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tessera::command_line {

enum class ErrorFormat : uint8_t { Human, Json, Sarif };

/// Adds the option, in a group of --help, for the formats that the tool has.
void add_error_format(CLI::App& app, ErrorFormat& format, std::vector<std::string> names, const std::string& group);
/// The format that the option asks for, of a command line that may be wrong elsewhere.
ErrorFormat error_format(int argc, const char* const* argv);

}  // namespace tessera::command_line
