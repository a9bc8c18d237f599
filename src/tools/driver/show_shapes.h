#pragma once
// `tesserac --shapes`: runs the front end alone and prints the shapes of values, sizes and guards.

#include "support/diagnostic.h"
#include "support/result.h"
#include "tools/driver/compile.h"

namespace tessera::driver {

/// Prints the lines of the input with the shapes of their values, and what calls of its entries bring and check, as
/// text or as JSON, to the output or to standard output. Kernels are looked at for the first target. What is known of
/// a source with errors is printed, too; these are reported, and so is an input that is no source.
Status show_shapes(const CompileOptions& options, bool json, DiagnosticEngine& diagnostics);

}  // namespace tessera::driver
