#pragma once
// Reads the textual form of IR (printer.h). Text is untrusted: every error is a diagnostic with its
// place, and a module that is returned has passed the verifier.

#include <memory>
#include <vector>

#include "ir/core/module.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera {

/// Parses and verifies all modules of a file.
Result<std::vector<std::unique_ptr<Module>>> parse_modules(Context& context, FileId file,
                                                           DiagnosticEngine& diagnostics);

}  // namespace tessera
