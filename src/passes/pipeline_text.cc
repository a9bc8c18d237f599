// Pipelines as text: `a,b{x=1,y=[2,3]},c`, of passes and phases.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "passes/phases.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

bool has_option(const PassInfo& pass, std::string_view name) {
  std::string_view rest = pass.options;
  while (!rest.empty()) {
    size_t comma = std::min(rest.find(','), rest.size());
    if (rest.substr(0, comma) == name) return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

void report_unknown_pass(std::string_view name, DiagnosticEngine& diagnostics) {
  std::vector<std::string> known;
  for (const PassInfo& pass : all_passes()) known.emplace_back(pass.name);
  for (const Phase& phase : all_phases()) known.emplace_back(phase.name);
  auto builder = diagnostics.report(diag::unknown_pass, {}, name);
  bool is_near = builder.suggest(diagnostics.sources(), {}, name, known);
  if (!is_near) builder.help("'tessera-opt --list-passes' lists them");
}

/// An option that was given to a phase and belongs to one of the pipeline's passes.
struct Forwarded {
  std::string phase;
  std::string name;
  PhaseOption option;
  std::string value;
};

/// A phase without passes stands for work that another part of the compiler does, or that nothing does yet.
void report_empty_phase(std::string_view name, DiagnosticEngine& diagnostics) {
  auto builder = diagnostics.report(diag::empty_phase, {}, name);
  constexpr std::string_view nothing = "nothing: ";
  for (const Phase& phase : all_phases()) {
    if (phase.name != name) continue;
    if (phase.summary.starts_with(nothing)) builder.note({}, std::string(phase.summary.substr(nothing.size())));
    else if (phase.has_passes) builder.note({}, "it has no passes for this target");
    else builder.note({}, fmt::format("it has no passes of its own, only options of other passes: {}", phase.options));
  }
}

class PipelineReader {
 public:
  PipelineReader(std::string_view text, const Machine* machine, DiagnosticEngine& diagnostics)
      : text_(text), machine_(machine), diagnostics_(diagnostics) {}

  Result<std::vector<PassStep>> read() {
    while (at_ < text_.size()) {
      if (!read_one()) return failure;
      if (at_ < text_.size() && text_[at_] == ',') ++at_;
    }
    if (!forward_options()) return failure;
    return std::move(steps_);
  }

 private:
  std::string_view word(std::string_view stops) {
    size_t end = std::min(text_.find_first_of(stops, at_), text_.size());
    std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    while (!found.empty() && found.front() == ' ') found.remove_prefix(1);
    while (!found.empty() && found.back() == ' ') found.remove_suffix(1);
    return found;
  }

  /// A value ends at a comma or brace, those inside of brackets aside.
  std::string_view value() {
    if (at_ < text_.size() && text_[at_] == '[') {
      size_t close = text_.find(']', at_);
      if (close != std::string_view::npos) {
        std::string_view list = text_.substr(at_, close + 1 - at_);
        at_ = close + 1;
        return list;
      }
    }
    return word(",}");
  }

  Status read_one() {
    std::string name(word(",{"));
    const PassInfo* pass = find_pass(name);
    std::optional<std::vector<PassStep>> phase;
    if (!pass && !(phase = steps_of_phase(name, machine_))) {
      report_unknown_pass(name, diagnostics_);
      return failure;
    }
    PassStep step{pass, {}};
    if (at_ < text_.size() && text_[at_] == '{' && !read_options(name, step)) return failure;
    if (pass) {
      steps_.push_back(std::move(step));
    } else {
      bool has_options = !forwarded_.empty() && forwarded_.back().phase == name;
      if (phase->empty() && !has_options) report_empty_phase(name, diagnostics_);
      steps_.insert(steps_.end(), phase->begin(), phase->end());
    }
    return success;
  }

  Status read_options(const std::string& name, PassStep& step) {
    do {
      ++at_;
      std::string key(word("=,}"));
      std::optional<PhaseOption> forwarded = step.pass ? std::nullopt : find_phase_option(name, key);
      bool known = step.pass ? has_option(*step.pass, key) : forwarded.has_value();
      if (at_ >= text_.size() || text_[at_] != '=' || !known) return refuse_option(name, step.pass, key);
      ++at_;
      if (forwarded) {
        forwarded_.push_back({name, key, *forwarded, std::string(value())});
      } else {
        step.options[key] = std::string(value());
      }
    } while (at_ < text_.size() && text_[at_] == ',');
    if (at_ >= text_.size()) {
      diagnostics_.report(diag::unknown_pass_option, {}, name, "").help("close the options with '}'");
      return failure;
    }
    ++at_;
    return success;
  }

  Status refuse_option(const std::string& name, const PassInfo* pass, const std::string& key) {
    std::string known;
    if (pass) known = pass->options;
    for (const Phase& phase : all_phases()) {
      if (!pass && phase.name == name) known = phase.options.substr(0, phase.options.find('='));
    }
    diagnostics_.report(diag::unknown_pass_option, {}, name, key)
        .help(known.empty() ? "it has no options" : fmt::format("it has: {}", known));
    return failure;
  }

  Status forward_options() {
    for (const Forwarded& given : forwarded_) {
      bool used = false;
      for (PassStep& step : steps_) {
        if (step.pass->name != given.option.pass) continue;
        step.options[std::string(given.option.option)] = given.value;
        used = true;
      }
      if (used) continue;
      diagnostics_.report(diag::unused_phase_option, {}, given.name, given.phase, given.option.pass)
          .help(fmt::format("name the phase that has '{}' too, or leave '{}' out", given.option.pass, given.name));
      return failure;
    }
    return success;
  }

  std::string_view text_;
  const Machine* machine_;
  DiagnosticEngine& diagnostics_;
  size_t at_ = 0;
  std::vector<PassStep> steps_;
  std::vector<Forwarded> forwarded_;
};

}  // namespace

int64_t PassContext::option(std::string_view name, int64_t otherwise) const {
  auto it = options.find(name);
  if (it == options.end()) return otherwise;
  int64_t value = otherwise;
  std::from_chars(it->second.data(), it->second.data() + it->second.size(), value);
  return value;
}

std::vector<int64_t> PassContext::list_option(std::string_view name) const {
  std::vector<int64_t> values;
  auto it = options.find(name);
  if (it == options.end()) return values;
  const char* at = it->second.data();
  const char* end = at + it->second.size();
  while (at != end) {
    int64_t value = 0;
    auto [next, error] = std::from_chars(at, end, value);
    if (error == std::errc()) values.push_back(value);
    at = error == std::errc() ? next : at + 1;
  }
  return values;
}

Result<std::vector<PassStep>> parse_pipeline(std::string_view text, DiagnosticEngine& diagnostics,
                                             const Machine* machine) {
  return PipelineReader(text, machine, diagnostics).read();
}

Status check_pass_names(std::span<const std::string> names, DiagnosticEngine& diagnostics) {
  for (const std::string& name : names) {
    if (name == "all" || find_pass(name)) continue;
    if (std::ranges::find(all_phases(), name, &Phase::name) == all_phases().end()) {
      report_unknown_pass(name, diagnostics);
    } else {
      diagnostics.report(diag::unknown_pass, {}, name)
          .help("that is a phase, and passes print; 'tessera-opt --list-passes' lists the passes of each phase");
    }
    return failure;
  }
  return success;
}

Status check_printed_passes(std::span<const std::string> names, std::span<const PassStep> run,
                            DiagnosticEngine& diagnostics) {
  for (const std::string& name : names) {
    const PassInfo* pass = find_pass(name);
    bool is_run = std::ranges::any_of(run, [&](const PassStep& step) { return step.pass == pass; });
    if (name == "all" || is_run) continue;
    std::string problem = fmt::format("pass '{}' is not run here: nothing is printed before or after it", pass->name);
    diagnostics.report(diag::command_line, {}, problem);
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

}  // namespace tessera
