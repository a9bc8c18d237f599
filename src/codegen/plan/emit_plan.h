#pragma once
// The host program of an entry as a plan, and kernels as the runtime launches them.

#include <string>
#include <string_view>
#include <vector>

#include "ir/core/dim_facts.h"
#include "ir/core/module.h"
#include "ir/numbers/machine.h"
#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::codegen {

/// Names of an entry's dims: the symbols of its parameters in order of first mention.
std::vector<std::string> entry_dims(Op* function);
/// Names of a kernel's free dims in the order in which a launch passes them. At any level below
/// Graph.
std::vector<std::string> kernel_dims(Op* kernel);

/// The condition that the fact holds, over `dims`.
format::Expr fact_expr(const DimFact& fact, const std::vector<std::string>& dims);

/// The plan of a host.func. A dim that no parameter fixes, or a guard that cannot be written, is
/// reported. `sources` receives where each step comes from.
Result<format::Plan> emit_plan(Op* function, std::string_view target, DiagnosticEngine& diagnostics,
                               format::StepSources* sources = nullptr);

/// The bundle's description of a kernel of level target.
format::KernelMeta kernel_meta(Op* kernel, const Machine& machine);

}  // namespace tessera::codegen
