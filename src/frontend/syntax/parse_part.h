#pragma once
// Parses a part of a file on its own, for tools that parse only the changed parts again.

#include <span>

#include "frontend/syntax/parse.h"

namespace tessera {

/// parse_source where the macros that files `before` define, in their order, hold from the beginning. Of the parts of a
/// file these are the ones above.
ast::SourceUnit parse_part(FileId file, std::span<const FileId> before, SourceManager& sources,
                           const ParseOptions& options, DiagnosticEngine& diagnostics);

}  // namespace tessera
