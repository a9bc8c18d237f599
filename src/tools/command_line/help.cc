#include "tools/command_line/help.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <set>

namespace tessera::command_line {

namespace {

constexpr size_t description_column = 28;
constexpr size_t narrowest = 60, widest = 100;

/// The columns to fill: those of the terminal or of $COLUMNS, within reason.
size_t page_width() {
  size_t width = widest;
  winsize size{};
  if (const char* columns = std::getenv("COLUMNS")) {
    width = size_t(std::strtoul(columns, nullptr, 10));
  } else if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  }
  return std::clamp(width, narrowest, widest);
}

/// Breaks a text into lines; what follows the first one is indented.
std::string wrapped(const std::string& text, size_t indent, size_t width) {
  std::string out;
  size_t column = indent;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

/// The values that the checks of an option allow, of {a,b}; empty when that is no list.
std::vector<std::string> allowed_values(const CLI::Option& option) {
  std::string name = option.get_type_name();
  size_t begin = name.find('{'), end = name.rfind('}');
  if (begin == name.npos || end == name.npos) return {};
  return CLI::detail::split(name.substr(begin + 1, end - begin - 1), ',');
}

/// In the order of the alphabet: sets of pointers have none.
std::string names_of(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;
  for (const CLI::Option* option : options) names.insert(option->get_name());
  return CLI::detail::join(names, ", ");
}

class Help : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string out = "\nUsage: " + (name.empty() ? app->get_name() : name) + " [options]";
    for (const CLI::Option* option :
         app->get_options([](const CLI::Option* o) { return o->get_positional(); })) {
      std::string shown = option->get_name(true, false);
      if (option->get_expected_max() >= CLI::detail::expected_max_vector_size) shown += "...";
      out += option->get_required() ? " " + shown : " [" + shown + "]";
    }
    if (!app->get_subcommands({}).empty()) out += " COMMAND";
    return out + "\n";
  }

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string out = "\n" + (is_positional ? std::string("Arguments") : group) + ":\n";
    for (const CLI::Option* option : options) out += make_option(option, is_positional);
    return out;
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string out = Formatter::make_help(app, name, mode);
    for (size_t at = out.find("\n\n\n"); at != out.npos; at = out.find("\n\n\n")) out.erase(at, 1);
    return out;
  }

  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode) const override {
    if (app->get_subcommands({}).empty()) return "";
    std::string out = "\nCommands:\n";
    for (const CLI::App* command : app->get_subcommands({})) {
      out += entry(command->get_name(), command->get_description());
    }
    return out;
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string description = option->get_description();
    std::vector<std::string> values = allowed_values(*option);
    if (!values.empty()) description = one_of(description, values);
    bool has_default = !option->get_default_str().empty() && option->get_type_size() != 0;
    if (has_default) description += " (default: " + option->get_default_str() + ")";
    if (option->get_required() && !is_positional) description += " (required)";
    if (!option->get_needs().empty())
      description += " (only with " + names_of(option->get_needs()) + ")";
    if (!option->get_excludes().empty())
      description += " (not with " + names_of(option->get_excludes()) + ")";
    return entry(is_positional ? option->get_name(true, false) : names(*option), description);
  }

 private:
  static std::string names(const CLI::Option& option) {
    std::string out;
    for (const std::string& name : option.get_snames()) out += (out.empty() ? "-" : ", -") + name;
    if (out.empty()) out = "    ";
    for (const std::string& name : option.get_lnames())
      out += (out == "    " ? "--" : ", --") + name;
    if (!option.get_option_text().empty()) return out + " " + option.get_option_text();
    // A flag with a value of its own may be given another.
    if (!option.get_fnames().empty())
      return out + "[=" + (allowed_values(option).empty() ? "LIST" : "KIND") + "]";
    if (option.get_items_expected_max() == 0) return out;
    bool may_lack = option.get_items_expected_min() == 0;
    return out + (may_lack ? " [" + value_name(option) + "]" : " " + value_name(option));
  }

  static std::string entry(const std::string& left, const std::string& right) {
    size_t width = page_width();
    std::string out = "  " + left;
    out += out.size() + 2 > description_column ? "\n" + std::string(description_column, ' ')
                                               : std::string(description_column - out.size(), ' ');
    return out + wrapped(right, description_column, width) + "\n";
  }
};

}  // namespace

std::string value_name(const CLI::Option& option) {
  std::string name = option.get_type_name();
  // Checks stand behind a colon: `N:INT in [1 - 9]`, `KIND:{a,b}`, `DIR:DIR`.
  for (const char* check : {":{", ":INT", ":UINT", ":FLOAT", ":DIR", ":FILE"}) name = name.substr(0, name.find(check));
  return name;
}

std::string one_of(std::string text, const std::vector<std::string>& values) {
  text += ". One of: ";
  for (const std::string& value : values) text += (&value == &values.front() ? "" : ", ") + value;
  return text;
}

void set_help_style(CLI::App& app) {
  auto style = std::make_shared<Help>();
  app.formatter(style);
  app.get_help_ptr()->description("show this help and exit");
  for (CLI::App* command : app.get_subcommands({})) {
    command->formatter(style);
    command->get_help_ptr()->description("show this help and exit");
  }
  for (CLI::Option* option : app.get_options()) {
    if (option->check_lname("version")) option->description("show the version and exit");
  }
}

}  // namespace tessera::command_line
