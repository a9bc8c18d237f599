#pragma once
// --help in the one form that all tools share. tools/gen_command_line.py reads it and makes man
// pages and completions for shells of it, so that these have every option, in the same words.

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}

namespace tessera::command_line {

/// Gives the help of a tool and of the commands it has so far the common form. The convention for
/// what is said there:
/// - a value's type_name says what it is: FILE, DIR and BUNDLE are names of files, `X,...` a list
///   with commas between its elements, PASS a pass by name;
/// - a footer has sections, each a line that ends with a colon and lines of two spaces.
void set_help_style(CLI::App& app);

/// "FILE": what an option takes, without what its checks say of it.
std::string value_name(const CLI::Option& option);

/// "Text. One of: a, b": how a description ends that lists all values.
std::string one_of(std::string text, const std::vector<std::string>& values);

}  // namespace tessera::command_line
