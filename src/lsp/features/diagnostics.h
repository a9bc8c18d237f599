#pragma once
// Diagnostics in the protocol's form.

#include <vector>

#include "lsp/analysis.h"
#include "lsp/features/context.h"

namespace tessera::lsp {

/// One diagnostic of `file`. Helps follow the message; notes with places are related information
/// where the client shows it.
Json diagnostic_json(Context& context, const FileModel& file, const PlacedDiagnostic& diagnostic);

}  // namespace tessera::lsp
