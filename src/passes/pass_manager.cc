#include "passes/pass_manager.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

#include "ir/core/printer.h"
#include "ir/core/verifier.h"
#include "support/reproducer.h"

namespace tessera {

namespace {

constexpr std::string_view property_names[] = {
    "",
#define PROPERTY(Name, text) text,
#include "passes/properties.def"
#undef PROPERTY
};


void set_properties(Module& module, Properties properties) {
  Context& context = module.context();
  std::vector<Attr> names;
  for (size_t i = 1; i < std::size(property_names); ++i) {
    if (properties & (1u << i)) names.push_back(context.string(property_names[i]));
  }
  module.set_attr("properties", names.empty() ? nullptr : context.array(std::move(names)));
}

std::string names_of(Properties properties) {
  std::string text;
  for (size_t i = 1; i < std::size(property_names); ++i) {
    if (properties & (1u << i)) text += fmt::format("{}{}", text.empty() ? "" : ", ", property_names[i]);
  }
  return text;
}

bool has_option(const PassInfo& pass, std::string_view name) {
  std::string_view rest = pass.options;
  while (!rest.empty()) {
    size_t comma = std::min(rest.find(','), rest.size());
    if (rest.substr(0, comma) == name) return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

bool wants(const std::set<std::string, std::less<>>& names, std::string_view pass) {
  return names.contains(pass) || names.contains("all");
}

void report_unknown_pass(std::string_view name, DiagnosticEngine& diagnostics) {
  std::vector<std::string> known;
  for (const PassInfo& pass : all_passes()) known.emplace_back(pass.name);
  auto builder = diagnostics.report(diag::unknown_pass, {}, name);
  std::string near = nearest_name(name, known);
  builder.help(near.empty() ? "'tessera-opt --list-passes' lists them" : fmt::format("did you mean '{}'?", near));
}

}  // namespace

Properties properties_of(const Module& module) {
  Properties properties = 0;
  Attr names = module.attr("properties");
  if (!names) return 0;
  for (Attr name : names->elements) {
    for (size_t i = 1; i < std::size(property_names); ++i) {
      if (name->string == property_names[i]) properties |= 1u << i;
    }
  }
  return properties;
}

std::span<const PassInfo> all_passes() { return std::span(pass_table).first(std::size(pass_table) - 1); }

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& pass : all_passes()) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

int64_t PassContext::option(std::string_view name, int64_t otherwise) const {
  auto it = options.find(name);
  if (it == options.end()) return otherwise;
  int64_t value = otherwise;
  std::from_chars(it->second.data(), it->second.data() + it->second.size(), value);
  return value;
}

Result<std::vector<PassStep>> parse_pipeline(std::string_view text, DiagnosticEngine& diagnostics) {
  std::vector<PassStep> steps;
  size_t at = 0;
  auto word = [&](std::string_view stops) {
    size_t end = std::min(text.find_first_of(stops, at), text.size());
    std::string_view found = text.substr(at, end - at);
    at = end;
    while (!found.empty() && found.front() == ' ') found.remove_prefix(1);
    while (!found.empty() && found.back() == ' ') found.remove_suffix(1);
    return found;
  };
  while (at < text.size()) {
    std::string_view name = word(",{");
    const PassInfo* pass = find_pass(name);
    if (!pass) {
      report_unknown_pass(name, diagnostics);
      return failure;
    }
    PassStep step{pass, {}};
    if (at < text.size() && text[at] == '{') {
      do {
        ++at;
        std::string_view key = word("=,}");
        if (at >= text.size() || text[at] != '=' || !has_option(*pass, key)) {
          diagnostics.report(diag::unknown_pass_option, {}, name, key)
              .help(pass->options.empty() ? std::string("it has no options")
                                          : fmt::format("it has: {}", pass->options));
          return failure;
        }
        ++at;
        step.options[std::string(key)] = std::string(word(",}"));
      } while (at < text.size() && text[at] == ',');
      if (at >= text.size()) {
        diagnostics.report(diag::unknown_pass_option, {}, name, "").help("close the options with '}'");
        return failure;
      }
      ++at;
    }
    steps.push_back(std::move(step));
    if (at < text.size() && text[at] == ',') ++at;
  }
  return steps;
}

Status check_pass_names(std::span<const std::string> names, DiagnosticEngine& diagnostics) {
  for (const std::string& name : names) {
    if (name == "all" || find_pass(name)) continue;
    report_unknown_pass(name, diagnostics);
    return failure;
  }
  return success;
}

std::string print_pipeline(std::span<const PassStep> steps) {
  std::string text;
  for (const PassStep& step : steps) {
    if (!text.empty()) text += ',';
    text += step.pass->name;
    std::string options;
    for (const auto& [key, value] : step.options) {
      options += fmt::format("{}{}={}", options.empty() ? "" : ",", key, value);
    }
    if (!options.empty()) text += "{" + options + "}";
  }
  return text;
}

Status PassManager::run(Module& module, std::span<const PassStep> steps, PassContext& context) {
  // The module as it is now, before a pass that fails has half changed it.
  std::string start = options_.reproducer.empty() ? std::string() : tessera::print(module);
  ReproducerScope reproducer(options_.reproducer, [&] {
    std::string target = context.machine ? " --target=" + context.machine->name : "";
    return fmt::format("// tessera-opt{} --passes={}\n{}", target, print_pipeline(steps), start);
  });
  for (const PassStep& step : steps) {
    if (run_step(module, step, context).failed()) return failure;
  }
  return success;
}

Status PassManager::run_step(Module& module, const PassStep& step, PassContext& context) {
  const PassInfo& pass = *step.pass;
  if (module.level() != pass.reads) {
    context.diagnostics.report(diag::pass_level, {}, pass.name, to_string(pass.reads),
                               to_string(module.level()));
    return failure;
  }
  Properties had = properties_of(module);
  if (Properties missing = pass.needs & ~had) {
    context.diagnostics.report(diag::pass_property, {}, pass.name, names_of(missing));
    return failure;
  }
  if (wants(options_.print_before, pass.name)) print("before", step, module);
  internal_error_context().pass = pass.name;
  context.options = step.options;
  auto start = std::chrono::steady_clock::now();
  Status status = pass.run(module, context);
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  timings_.push_back({pass.name, elapsed.count()});
  if (status.failed()) return failure;
  TSR_CHECK(module.level() == pass.leaves, "a pass left the module at another level than it says");
  bool lowers = pass.reads != pass.leaves;
  set_properties(module, (lowers ? 0 : had) | pass.gives);
  if (wants(options_.print_after, pass.name)) print("after", step, module);
  if (options_.verify_each && verify(module, context.diagnostics).failed()) return failure;
  return success;
}

void PassManager::print(std::string_view when, const PassStep& step, Module& module) {
  if (!options_.print) return;
  options_.print(fmt::format("// {} {}\n{}", when, step.pass->name, tessera::print(module)));
}

}  // namespace tessera
