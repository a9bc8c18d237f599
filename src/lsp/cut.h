#pragma once
// Cutting a text into its top-level declarations by its lines alone, so that an edit costs one
// declaration. A piece begins at the first column, outside brackets and strings, with the comments
// right above it; `else:` goes on. Where a bracket was forgotten, a line that can only begin a
// declaration begins a piece all the same, so that a mistake stays in its piece.

#include <string_view>
#include <vector>

#include "lsp/positions.h"

namespace tessera::lsp {

/// The pieces, which cover the text without gaps. An empty text has none.
std::vector<Range> cut_declarations(std::string_view text);

/// Whether a line begins with '%': what the preprocessor does with a file depends on all of it, so
/// such a file is one piece.
bool has_directives(std::string_view text);

}  // namespace tessera::lsp
