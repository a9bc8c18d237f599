#pragma once
// What is wrong with a command line, in our words: those of the parser name neither values nor what to write instead.

#include <string>

namespace CLI {
class App;
class ParseError;
}

namespace tessera::command_line {

/// Has flags refuse a value, as in --debug=3, unless they are declared with one. Once a tool has its options.
void refuse_flag_values(CLI::App& app);

/// An option that would take the next one for its value, which the parser lets pass; empty where there is none.
std::string refuse_option_as_value(const CLI::App& app, int argc, const char* const* argv);

/// The error of a command line; for an unknown option, with the nearest one.
std::string error_text(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tessera::command_line
