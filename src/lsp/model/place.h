#pragma once
// From the compiler's lines and columns to bytes of a text.

#include "lsp/protocol/positions.h"
#include "support/source.h"

namespace tessera::lsp {

/// The bytes that a location means in the text that `sources` has of its file; nothing at the start
/// for an unknown one.
Range place_in(const SourceManager& sources, Loc loc);

}  // namespace tessera::lsp
