#include "api/frontend_compile.h"

#include "ir/graph/ops.h"
#include "ir/numbers/machine.h"
#include "ir/schedule/ops.h"
#include "ir/text/parser.h"
#include "support/diagnostic_rows.h"

namespace tessera::api {

namespace {

void register_levels(Context& context) {
  graph::register_ops(context);
  schedule::register_ops(context);
}

}  // namespace

Result<ModuleIr> frontend_compile(Context& context, FileId file, const frontend::FrontendOptions& options,
                                  DiagnosticEngine& diagnostics) {
  register_levels(context);
  if (!options.kernels_for.empty() && !find_machine(options.kernels_for)) {
    diagnostics.report(diag::unknown_target, {}, options.kernels_for);
    return failure;
  }
  return frontend::compile_source(context, file, options, diagnostics);
}

Result<ModuleIr> frontend_read(Context& context, FileId file, DiagnosticEngine& diagnostics) {
  register_levels(context);
  auto modules = parse_modules(context, file, diagnostics);
  if (!modules) return failure;
  ModuleIr ir;
  for (auto& module : *modules) {
    if (module->level() == Level::Graph && !ir.graph) ir.graph = std::move(module);
  }
  if (ir.graph) return ir;
  diagnostics.report(diag::not_source, {}, diagnostics.sources().file(file).name(), "a text without a graph");
  return failure;
}

std::vector<std::string> entries_of(const ModuleIr& ir) {
  std::vector<std::string> entries;
  for (Op* function : *ir.graph->body()) {
    if (function->attr(graph::attr::Func::role) == "entry")
      entries.emplace_back(symbol_name(function));
  }
  entries.insert(entries.end(), ir.exported_kernels.begin(), ir.exported_kernels.end());
  return entries;
}

}  // namespace tessera::api
