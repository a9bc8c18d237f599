#pragma once
// What the subcommands of tsr share: how they are declared, how they fail.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"
#include "tools/command_line/values.h"

namespace CLI {
class App;
}

namespace tessera::tool {

/// Exit codes of tsr.
inline constexpr int exit_ok = 0;
inline constexpr int exit_user_error = 1;
inline constexpr int exit_internal = 70;

// Each declares its options on `command` and a callback that stores its exit code.
#define COMMAND(name, summary) void add_##name##_command(CLI::App& command, int& exit_code);
#include "runtime/tsr/commands.def"
#undef COMMAND

using command_line::listed;
using command_line::suggestion;

/// Prints "tsr: error: … [command-line]" and returns the exit code of a user's error.
int fail(std::string_view text);
/// The same with another tag.
int fail(DiagKind<1> tag, std::string_view text, std::string_view help = {});
/// The same of a file that cannot be read or written.
int fail_read(std::string_view path, std::string_view problem);
int fail_write(std::string_view path, std::string_view problem);
/// The same of a file that is not `wanted`, "a safetensors file": what it is instead, or else the problem.
int fail_content(DiagKind<1> tag, const std::string& path, std::string_view bytes, std::string_view wanted,
                 std::string_view problem);
/// The same of the command line itself.
int fail_command_line(std::string_view text, std::string_view command);

/// Prints "tsr: warning: …": of what is asked for, something has no effect.
void warn(std::string_view text);

/// Prints the library's last error and returns the exit code for the status: internal for bugs, a
/// user's error for the rest. `subject`, such as a path, goes before the text when it is not empty.
int fail_status(int status, std::string_view subject = "");

/// Says so where a file cannot be read, or a program or its IR is given for a bundle.
int check_bundle_file(const std::string& path);
/// Says so where a size is given that is none of `known`.
int check_sizes(const std::map<std::string, int64_t>& sizes, const std::vector<std::string>& known);

}  // namespace tessera::tool
