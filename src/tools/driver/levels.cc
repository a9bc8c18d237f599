#include "tools/driver/levels.h"

#include "ir/graph/ops.h"
#include "ir/host/ops.h"
#include "ir/schedule/ops.h"
#include "ir/target/ops.h"
#include "ir/tile/ops.h"

namespace tessera::driver {

void register_all_levels(Context& context) {
  graph::register_ops(context);
  schedule::register_ops(context);
  host::register_ops(context);
  tile::register_ops(context);
  target::register_ops(context);
}

const Machine* target_named(const std::string& name, DiagnosticEngine& diagnostics) {
  if (const Machine* machine = find_machine(name)) return machine;
  std::vector<std::string> known;
  std::string list;
  for (const Machine* machine : all_machines()) {
    known.push_back(machine->name);
    list += (list.empty() ? "" : ", ") + machine->name;
  }
  auto builder = diagnostics.report(diag::unknown_target, {}, name);
  if (!builder.suggest(diagnostics.sources(), {}, name, known)) builder.help("targets are: " + list);
  return nullptr;
}

}  // namespace tessera::driver
