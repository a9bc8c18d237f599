#pragma once
// What the subcommands of tsr share: how they are declared, how they fail.

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
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

/// Prints "tsr: error: ..." and returns the exit code of a user's error.
int fail(std::string_view text);
/// The same of a file that cannot be written.
int fail_write(std::string_view path, std::string_view problem);
/// The same of the command line itself.
int fail_command_line(std::string_view text, std::string_view command);

/// Prints the library's last error and returns the exit code for the status: internal for bugs, a
/// user's error for the rest. `subject`, such as a path, goes before the text when it is not empty.
int fail_status(int status, std::string_view subject = "");

/// Says so where a program or its IR is given for a bundle.
int refuse_source(const std::string& path);

/// --dims NAME=SIZE,..., which may be given several times.
CLI::Option& add_dims_option(CLI::App& command, std::vector<std::string>& dims, const std::string& description);

/// "B, D and S".
std::string listed(const std::vector<std::string>& names);

/// "; did you mean 'x'?" when a candidate is within a third of the name's length or differs in the
/// case of letters only, else "".
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tessera::tool
