#include "tools/driver/shape_policy.h"

#include <algorithm>

#include "support/diagnostic_rows.h"
#include "tools/command_line/sizes.h"

namespace tessera::driver {

namespace {

struct ShapeRule {
  std::string_view name;
  uint32_t no_guards = api::guards_none;
  bool no_open_sizes = false;
  bool strict = false;
};

constexpr ShapeRule rules[] = {
    {.name = "no-open-sizes", .no_open_sizes = true},
    {.name = "no-guards", .no_guards = api::guards_all},
    {.name = "no-signature-guards", .no_guards = api::guards_of_signature},
    {.name = "no-equality-guards", .no_guards = api::guards_of_equality},
    {.name = "no-order-guards", .no_guards = api::guards_of_order},
    {.name = "no-divisibility-guards", .no_guards = api::guards_of_divisibility},
    {.name = "strict", .strict = true},
};

}  // namespace

std::vector<std::string> shape_rules() {
  std::vector<std::string> names;
  for (const ShapeRule& rule : rules) names.emplace_back(rule.name);
  return names;
}

void add_shape_rule(std::string_view name, api::ShapePolicy& policy) {
  const ShapeRule* rule = std::ranges::find(rules, name, &ShapeRule::name);
  policy.run_time_guards &= ~rule->no_guards;
  if (rule->no_open_sizes) policy.symbolic_dims = false;
  if (rule->strict) policy.strict = true;
}

Status check_sizes(const std::map<std::string, int64_t>& sizes, const std::vector<std::string>& known,
                   DiagnosticEngine& diagnostics) {
  for (const auto& [name, size] : sizes) {
    if (std::ranges::find(known, name) != known.end()) continue;
    diagnostics.report(diag::unknown_size, {}, name).help(command_line::size_help(name, known));
    return failure;
  }
  return success;
}

Status report_findings(const api::ShapeReport& report, DiagnosticEngine& diagnostics) {
  bool ok = report.ok();
  for (const api::ShapeFinding& finding : report.findings) {
    if (finding.kind == api::FindingKind::UnknownDim) {
      ok &= bool(check_sizes({{finding.subject, 0}}, report.dims, diagnostics));
    } else if (finding.severity == api::FindingSeverity::Error) {
      auto builder = diagnostics.report(diag::shape_policy, finding.loc, finding.message);
      bool is_open = finding.kind == api::FindingKind::OpenDim;
      if (is_open) builder.help(fmt::format("--dims {}=… gives it", finding.subject));
    }
  }
  return ok ? Status(success) : failure;
}

}  // namespace tessera::driver
