#pragma once
// Converts diagnostics to the form of the protocol.

#include <vector>

#include "lsp/features/context.h"
#include "lsp/workspace/analysis.h"

namespace tessera::lsp {

/// One diagnostic of `file`. Helps follow the message; notes with places are related information
/// where the client shows it.
Json diagnostic_json(Context& context, const FileModel& file, const PlacedDiagnostic& diagnostic);
/// The message after the last of max_diagnostics, at its range.
Json cut_json(const Json& range);

}  // namespace tessera::lsp
