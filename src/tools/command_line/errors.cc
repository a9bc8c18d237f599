#include "tools/command_line/errors.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tools/command_line/help.h"
#include "tools/command_line/values.h"

namespace tessera::command_line {

namespace {

/// The tool, and the command of it that is run.
std::vector<const CLI::App*> apps_of(const CLI::App& app) {
  std::vector<const CLI::App*> apps = {&app};
  for (const CLI::App* command : app.get_subcommands()) apps.push_back(command);
  return apps;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> all;
  for (const CLI::App* each : apps_of(app)) {
    std::vector<const CLI::Option*> options = each->get_options();
    all.insert(all.end(), options.begin(), options.end());
  }
  return all;
}

/// The option whose name begins the parser's text; null where there is none.
const CLI::Option* option_in(const CLI::App& app, std::string_view text) {
  std::string name(text.substr(0, text.find_first_of(": ")));
  for (const CLI::Option* option : options_of(app)) {
    if (option->get_name() == name || option->check_name("--" + name)) return option;
  }
  return nullptr;
}

std::string quoted(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& word : words) all.push_back("'" + word + "'");
  return listed(all);
}

/// An option with no value, with several, or a flag with one.
std::string mismatch_text(const CLI::Option& option, std::string_view text) {
  const std::string name = option.get_name();
  if (text.find("flag override") != text.npos) return name + " takes no value";
  bool has_many = text.find("At Most") != text.npos;
  return has_many ? fmt::format("{} takes one value, and is given {}", name, quoted(option.results()))
                  : fmt::format("{} is given no value; it takes {}", name, value_name(option));
}

/// "FILE is 'a.tsr'": what the arguments that have names are.
std::string taken_arguments(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : options_of(app)) {
    if (!option->get_positional() || option->count() == 0) continue;
    text += fmt::format("{}{} is {}", text.empty() ? "; " : ", ", option->get_name(), quoted(option->results()));
  }
  return text;
}

/// What options of other compilers are here.
std::string option_here(std::string_view name) {
  if (name.size() == 3 && name.starts_with("-O")) return "; code is always optimised: leave it out";
  if (name == "-arch" || name == "-march" || name == "--gpu-architecture") {
    return "; --target=cuda:sm_90a or --target=cpu:x86-64-v4 names a machine";
  }
  if (name.starts_with("--emit-") || name == "-S") {
    return "; --dump=ptx, --dump=llvm and --dump=asm print code, and --dump=graph, sched or tile what it is made of";
  }
  return {};
}

/// An option that there is not, or else a word that is none.
std::string extra_text(const CLI::App& app) {
  std::vector<std::string> words = app.remaining(true);
  auto unknown = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with("-"); });
  if (unknown == words.end()) {
    return fmt::format("the argument {} is one too many{}", quoted({words.front()}), taken_arguments(app));
  }
  std::string name = unknown->substr(0, unknown->find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(app)) {
    for (const std::string& each : option->get_lnames()) names.push_back("--" + each);
  }
  bool is_compiler = std::ranges::count(names, "--dump") != 0;
  bool takes_inputs = std::ranges::count(names, "--input") != 0;
  std::string here = is_compiler ? option_here(name) : std::string();
  if (here.empty()) here = suggestion(name, names);
  if (here.empty() && takes_inputs && name.starts_with("--")) {
    here = fmt::format("; if it is an input: --input {}=VALUE", name.substr(2));
  }
  return fmt::format("there is no option '{}'{}", name, here);
}

/// "FILE", "--output FILE".
std::string missing_text(const CLI::Option& option) {
  std::string name = option.get_name();
  return (option.get_positional() ? name : name + " " + value_name(option)) + " is missing";
}

/// "Could not convert: --seed = x".
std::string conversion_text(const CLI::App& app, std::string_view text) {
  size_t name = text.find("--");
  const CLI::Option* option = name == text.npos ? nullptr : option_in(app, text.substr(name));
  if (!option) return std::string(text);
  return fmt::format("{} takes {}, not {}", option->get_name(), value_name(*option), quoted(option->results()));
}

/// "--fn requires --ir", with another word between the two.
std::string pair_text(std::string text, std::string_view word, std::string_view ours) {
  size_t at = text.find(word);
  return at == text.npos ? text : text.replace(at, word.size(), ours);
}

}  // namespace

void refuse_flag_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    bool is_flag = option->get_items_expected_max() == 0 && option->get_fnames().empty();
    if (is_flag) option->disable_flag_override();
  }
  for (CLI::App* command : app.get_subcommands({})) refuse_flag_values(*command);
}

std::string refuse_option_as_value(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<const CLI::Option*> all = app.get_options();
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    std::vector<const CLI::Option*> more = command->get_options();
    all.insert(all.end(), more.begin(), more.end());
  }
  auto named = [&](std::string name) {
    auto found = std::ranges::find_if(all, [&](const CLI::Option* each) { return each->check_name(name); });
    return name.starts_with("-") && found != all.end() ? *found : nullptr;
  };
  for (int i = 1; i + 1 < argc; ++i) {
    std::string_view next = argv[i + 1];
    const CLI::Option* option = named(argv[i]);
    bool takes_value = option && option->get_items_expected_min() > 0;
    if (takes_value && named(std::string(next.substr(0, next.find('='))))) {
      return fmt::format("{} is given no value; it takes {}", option->get_name(), value_name(*option));
    }
  }
  return "";
}

std::string error_text(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  const CLI::Option* option = option_in(app, text);
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) return extra_text(app);
  if (dynamic_cast<const CLI::RequiresError*>(&error)) return pair_text(text, " requires ", " needs ");
  if (dynamic_cast<const CLI::ExcludesError*>(&error)) return pair_text(text, " excludes ", " does not go with ");
  if (dynamic_cast<const CLI::ConversionError*>(&error)) return conversion_text(app, text);
  if (option && dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return mismatch_text(*option, text);
  if (option && dynamic_cast<const CLI::RequiredError*>(&error)) return missing_text(*option);
  return text;
}

}  // namespace tessera::command_line
