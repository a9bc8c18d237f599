#pragma once
// Splits a file into tokens.

#include <string_view>

#include "frontend/syntax/token.h"
#include "support/diagnostic.h"

namespace tessera {

/// Files above this size are refused (unsupported_file_size), so that memory stays within bounds.
inline constexpr size_t max_file_bytes = size_t(16) << 20;

/// The lossless tokens of a file whose text `sources` has. Broken tokens are reported and get a
/// kind that says so (UnterminatedString, BadNumber, NonAscii, Unknown). A file that is too large
/// gives a single Unknown token.
LexedFile lex_file(FileId file, const SourceManager& sources, DiagnosticEngine& diagnostics);

/// Of a dimension that types elsewhere leave open: ?, -1, None.
inline constexpr std::string_view help_for_open_size = "a size that calls choose is a name: Tensor[B, 8, f32]";

}  // namespace tessera
