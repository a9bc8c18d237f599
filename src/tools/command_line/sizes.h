#pragma once
// --dims: sizes by name, which several tools take.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}

namespace tessera::command_line {

struct Sizes {
  std::map<std::string, int64_t> named{};
  std::optional<int64_t> others{};  ///< `*=1024`, of all that are not named
};

/// --dims NAME=SIZE,..., which may be given several times.
CLI::Option& add_sizes_option(CLI::App& app, std::vector<std::string>& texts, const std::string& description);

/// Reads `B=8`, and `*=8` where the tool takes that. Gives what is wrong with them; nothing where nothing is.
std::string read_sizes(const std::vector<std::string>& texts, bool takes_others, Sizes& sizes);

/// What to write for a name that is none of those there are: "did you mean 'B'?", "sizes are B and S".
std::string size_help(const std::string& name, const std::vector<std::string>& known);

}  // namespace tessera::command_line
