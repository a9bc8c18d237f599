#pragma once
// Reports sizes that do not fit in 64 bits: dims record an overflow, and nothing after the IR does.

#include "ir/core/module.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera {

/// Reports the first op with such a dim in its attributes or types, or a type whose bytes do not fit.
Status check_sizes(Module& module, DiagnosticEngine& diagnostics);

}  // namespace tessera
