#include "tools/command_line/error_format.h"

#include <CLI/CLI.hpp>
#include <map>

#include "tools/command_line/values.h"

namespace tessera::command_line {

namespace {

const std::map<std::string, ErrorFormat> formats = {
    {"human", ErrorFormat::Human}, {"json", ErrorFormat::Json}, {"sarif", ErrorFormat::Sarif}};

}  // namespace

void add_error_format(CLI::App& app, ErrorFormat& format, std::vector<std::string> names, const std::string& group) {
  std::string text = "how errors are reported on standard error: human, json (a line for each)";
  bool has_sarif = std::find(names.begin(), names.end(), "sarif") != names.end();
  if (has_sarif) text = "how errors are reported on standard error: human, json (a line for each) or sarif (2.1.0)";
  auto set_format = [&format](const std::string& name) { format = formats.at(name); };
  CLI::Option* option = app.add_option_function<std::string>("--error-format", set_format, text);
  take_one_of(*option->type_name("FORMAT")->group(group), std::move(names));
}

ErrorFormat error_format(int argc, const char* const* argv) {
  constexpr std::string_view option = "--error-format";
  ErrorFormat found = ErrorFormat::Human;
  for (int i = 1; i < argc; ++i) {
    std::string_view text = argv[i];
    if (!text.starts_with(option)) continue;
    text.remove_prefix(option.size());
    std::string value(text.starts_with('=') ? text.substr(1) : text.empty() && i + 1 < argc ? argv[i + 1] : "");
    auto format = formats.find(value);
    if (format != formats.end()) found = format->second;
  }
  return found;
}

}  // namespace tessera::command_line
