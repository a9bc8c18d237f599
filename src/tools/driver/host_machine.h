#pragma once
// `--target=host`: the best target in the table that this processor supports.

#include "ir/numbers/machine.h"
#include "support/diagnostic.h"

namespace tessera::driver {

/// Null, and a diagnostic, when the processor has the features of none.
const Machine* host_machine(DiagnosticEngine& diagnostics);

}  // namespace tessera::driver
