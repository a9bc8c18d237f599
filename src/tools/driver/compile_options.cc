// What options ask of a compilation, checked before it begins.

#include <fmt/format.h>

#include <algorithm>

#include "passes/pipeline.h"
#include "support/diagnostic_rows.h"
#include "tools/driver/compile.h"
#include "tools/driver/io.h"

namespace tessera::driver {

bool Compiler::gives_up(std::string_view rule) const {
  return std::find(options_.fast.begin(), options_.fast.end(), rule) != options_.fast.end();
}

Status Compiler::check_fast() {
  for (const std::string& rule : options_.fast) {
    if (rule == "nondet") continue;
    diagnostics_.report(diag::unknown_relaxation, {}, rule)
        .help("nondet lets kernels accumulate in memory in a nondeterministic order");
    return failure;
  }
  return success;
}

/// Once the kernels of the source are built.
void Compiler::warn_of_unused_fast(bool has_unordered_sums) {
  bool is_known = is_lowered() && !is_dump(diagnostics_.sources().file(input_).text());
  if (!gives_up("nondet") || !is_known || has_unordered_sums) return;
  diagnostics_.report(diag::unused_relaxation, {}, "nondet").help("leave the option out: every sum has a fixed order");
}

Status Compiler::check_disabled_passes() {
  for (const std::string& name : options_.disabled_passes) {
    Result<std::vector<PassStep>> steps = parse_pipeline(name, diagnostics_);
    if (!steps) return failure;
    bool fine = std::all_of(steps->begin(), steps->end(), [](const PassStep& step) { return is_optional(*step.pass); });
    if (fine) continue;
    std::string optional;
    for (const PassInfo& pass : all_passes()) {
      if (is_optional(pass)) optional += (optional.empty() ? "" : ", ") + std::string(pass.name);
    }
    diagnostics_.report(diag::needed_pass, {}, name).help("these can be left out: " + optional);
    return failure;
  }
  return success;
}

/// A dump is read as it is: options of how source is read have no effect on it.
Status Compiler::check_source_options() {
  const std::pair<const char*, bool> given[] = {{"--define", !options_.defines.empty()},
                                                {"--include", !options_.include_paths.empty()},
                                                {"--include-root", !options_.include_roots.empty()},
                                                {"--remap", !options_.remapped.empty()}};
  for (auto [option, is_given] : given) {
    if (!is_given) continue;
    diagnostics_.report(diag::command_line, {}, fmt::format("{} is for source, and '{}' is a dump of IR", option,
                                                            options_.input));
    return failure;
  }
  return success;
}

}  // namespace tessera::driver
