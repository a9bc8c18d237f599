#include "ir/core/kernel_size.h"

#include "ir/core/common_attributes.h"
#include "ir/core/op.h"
#include "support/diagnostic_rows.h"

namespace tessera {

size_t op_count(Op* function) {
  size_t count = 0;
  walk(function, [&](Op*) { ++count; });
  return count;
}

Status check_kernel_sizes(Module& module, DiagnosticEngine& diagnostics) {
  if (module.level() == Level::Graph) return success;
  size_t most = module.level() == Level::Schedule ? most_kernel_ops : most_lowered_ops;
  for (Op* function : *module.body()) {
    if (function->info().level == Level::Host || op_count(function) <= most) continue;
    report_kernel_size(function, function->loc(), most, diagnostics);
    return failure;
  }
  return success;
}

void report_kernel_size(Op* kernel, Loc loc, size_t most, DiagnosticEngine& diagnostics) {
  diagnostics.report(diag::unsupported_kernel_size, loc, kernel_name(kernel), most).help(kernel_size_help);
}

std::string kernel_name(Op* kernel) {
  return std::string(kernel->attr(common::Kernel::kernel).value_or(symbol_name(kernel)));
}

}  // namespace tessera
