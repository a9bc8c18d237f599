#pragma once
// The tools see every level.

#include <string>

#include "ir/core/context.h"
#include "ir/numbers/machine.h"
#include "support/diagnostic.h"

namespace tessera::driver {

/// Makes the ops of all levels known.
void register_all_levels(Context& context);

/// The machine of that spelling, of which "host" is this one; an unknown one is reported with those that may be meant.
const Machine* target_named(const std::string& name, DiagnosticEngine& diagnostics);

}  // namespace tessera::driver
