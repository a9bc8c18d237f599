#include "tools/driver/levels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/graph/ops.h"
#include "ir/host/ops.h"
#include "ir/schedule/ops.h"
#include "ir/target/ops.h"
#include "ir/tile/ops.h"
#include "support/diagnostic_rows.h"
#include "tools/driver/host_machine.h"

namespace tessera::driver {

void register_all_levels(Context& context) {
  graph::register_ops(context);
  schedule::register_ops(context);
  host::register_ops(context);
  tile::register_ops(context);
  target::register_ops(context);
}

namespace {

/// The targets that a spelling may mean: those that it is a part of, or else those of its family before the colon whose
/// names are near; all where there is no such.
std::vector<std::string> targets_like(const std::string& name) {
  std::vector<std::string> known = {"host"}, parts, family;
  for (const Machine* machine : all_machines()) known.push_back(machine->name);
  std::string head = name.substr(0, std::min(name.find(':'), name.size())) + ":";
  for (const std::string& each : known) {
    if (name.size() > 2 && each.find(name) != each.npos) parts.push_back(each);
    if (each.starts_with(head)) family.push_back(each);
  }
  if (!parts.empty()) return parts;
  // Another number is another machine, and no slip.
  auto digits = [](std::string text) {
    std::erase_if(text, [](char c) { return c < '0' || c > '9'; });
    return text;
  };
  std::string nearest = nearest_name(name, known);
  if (!nearest.empty() && digits(nearest) == digits(name)) return {nearest};
  return family.empty() ? known : family;
}

}  // namespace

const Machine* target_named(const std::string& name, DiagnosticEngine& diagnostics) {
  if (name == "host") return host_machine(diagnostics);
  if (const Machine* machine = find_machine(name)) return machine;
  std::vector<std::string> like = targets_like(name);
  auto builder = diagnostics.report(diag::unknown_target, {}, name);
  builder.help(like.size() == 1 ? fmt::format("did you mean '{}'?", like[0])
                                : fmt::format("targets are: {}", fmt::join(like, ", ")));
  return nullptr;
}

}  // namespace tessera::driver
