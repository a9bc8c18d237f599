#include "tools/driver/diagnostic_options.h"

#include <CLI/CLI.hpp>
#include <map>

#include "support/diagnostic_rows.h"
#include "tools/command_line/values.h"

namespace tessera::driver {

namespace {

/// Applies -W options to the warnings and notes. -Werror leaves those off that are off, and notes unless it names them.
class Warnings {
 public:
  explicit Warnings(DiagnosticEngine& diagnostics) : diagnostics_(diagnostics) {
    for (DiagId id : all_diagnostics()) {
      if (diag_info(id).severity != Severity::Error) states_[id] = {};
    }
  }

  /// One option, without its -W: error, error=TAG, TAG, and each with no- before it.
  Status apply(std::string_view text) {
    bool on = !text.starts_with("no-");
    if (!on) text.remove_prefix(3);
    if (text == "error") {
      all_are_errors_ = on;
      return success;
    }
    constexpr std::string_view as_error = "error=";
    bool about_error = text.starts_with(as_error);
    if (about_error) text.remove_prefix(as_error.size());
    State* state = find(text);
    if (!state) return failure;
    if (about_error) state->is_error = on;
    if (!about_error || on) state->is_on = on;
    return success;
  }

  void set_levels() const {
    for (const auto& [id, state] : states_) {
      bool is_covered = all_are_errors_ && diag_info(id).severity == Severity::Warning;
      WarningLevel level = state.is_error.value_or(is_covered) ? WarningLevel::Error : WarningLevel::On;
      diagnostics_.set_warning(id, state.is_on ? level : WarningLevel::Off);
    }
  }

 private:
  struct State {
    bool is_on = true;
    std::optional<bool> is_error;  ///< what names it counts, wherever -Werror stands
  };

  State* find(std::string_view tag) {
    std::optional<DiagId> id = find_diagnostic(tag);
    if (id && states_.count(*id) != 0) return &states_[*id];
    std::vector<std::string> tags;
    for (const auto& [warning, state] : states_) tags.push_back(diag_tag(warning));
    if (id) {
      diagnostics_.report(diag::not_a_warning, {}, tag).help(fmt::format("warnings are {}", fmt::join(tags, ", ")));
    } else {
      auto builder = diagnostics_.report(diag::unknown_tag, {}, tag);
      bool is_near = builder.suggest(diagnostics_.sources(), {}, tag, tags);
      if (!is_near) builder.help(fmt::format("warnings are {}", fmt::join(tags, ", ")));
    }
    return nullptr;
  }

  DiagnosticEngine& diagnostics_;
  std::map<DiagId, State> states_;
  bool all_are_errors_ = false;
};

}  // namespace

void add_diagnostic_options(CLI::App& app, DiagnosticOptions& options) {
  command_line::add_error_format(app, options.format, {"human", "json", "sarif"}, diagnostic_group);
  app.add_option("-W", options.warnings,
                 "-Wno-TAG disables a warning, -WTAG enables it; -Werror makes warnings errors, -Werror=TAG one of\n"
                 "them")
      ->type_name("TAG")
      ->group(diagnostic_group)
      ->allow_extra_args(false);
  CLI::Option* limit = app.add_option("--error-limit", options.error_limit,
                                      "show this many errors and as many warnings, and count the rest (0: show all)");
  command_line::take_count(*limit->type_name("COUNT")->group(diagnostic_group)->capture_default_str(), 0, 1'000'000);
}

Status configure(const DiagnosticOptions& options, DiagnosticEngine& diagnostics) {
  diagnostics.set_error_limit(options.error_limit);
  Warnings warnings(diagnostics);
  for (const std::string& text : options.warnings) {
    if (!warnings.apply(text)) return failure;
  }
  warnings.set_levels();
  return success;
}

}  // namespace tessera::driver
