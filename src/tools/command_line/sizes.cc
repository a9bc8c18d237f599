#include "tools/command_line/sizes.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "support/diagnostic.h"
#include "tools/command_line/values.h"

namespace tessera::command_line {

namespace {

/// One NAME=SIZE; gives what is wrong with it.
std::string read_size(const std::string& text, bool takes_others, Sizes& sizes) {
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) return fmt::format("--dims takes NAME=SIZE, not '{}'", text);
  std::string name = text.substr(0, equals), digits = text.substr(equals + 1);
  int64_t size = 0;
  auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (status != std::errc() || end != digits.data() + digits.size() || size < 0) {
    return fmt::format("--dims gives {} the size '{}', and a size is a whole number from 0", name, digits);
  }
  bool is_others = name == "*";
  if (is_others && !takes_others) return "--dims takes names here, and '*' is none";
  std::optional<int64_t> before;
  if (is_others) before = sizes.others;
  if (auto known = sizes.named.find(name); known != sizes.named.end()) before = known->second;
  if (before) return fmt::format("--dims gives {} twice: {} and {}", name, *before, size);
  if (is_others) {
    sizes.others = size;
  } else {
    sizes.named[name] = size;
  }
  return "";
}

}  // namespace

CLI::Option& add_sizes_option(CLI::App& app, std::vector<std::string>& texts, const std::string& description) {
  CLI::Option* option = app.add_option("--dims", texts, description);
  return *option->delimiter(',')->allow_extra_args(false)->type_name("NAME=SIZE,...");
}

std::string read_sizes(const std::vector<std::string>& texts, bool takes_others, Sizes& sizes) {
  for (const std::string& text : texts) {
    if (std::string problem = read_size(text, takes_others, sizes); !problem.empty()) return problem;
  }
  return "";
}

std::string size_help(const std::string& name, const std::vector<std::string>& known) {
  std::string nearest = nearest_name(name, known);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  if (known.empty()) return "there are no sizes to give";
  return (known.size() == 1 ? "the only size is " : "sizes are ") + listed(known);
}

}  // namespace tessera::command_line
