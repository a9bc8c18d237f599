#pragma once
// Splits a text into its top-level declarations by its lines alone, so that an edit costs one
// declaration. A piece begins at the first column, outside brackets and strings, with the comments
// right above it; `else:` continues one. Where a bracket was forgotten, a line that can only begin
// a declaration begins a piece all the same, so that an error stays in its piece. A directive is a
// piece where code at the first column follows it, `%if` together with all lines to its `%endif`;
// otherwise it belongs to the declaration that contains it.

#include <string_view>
#include <vector>

#include "lsp/protocol/positions.h"

namespace tessera::lsp {

/// More pieces of one file that define macros are not distinguished.
inline constexpr size_t most_definitions = 100;

/// The pieces, which cover the text without gaps. An empty text has none. A text whose directives divide a declaration
/// is one piece, as is one with more than most_definitions.
std::vector<Range> cut_declarations(std::string_view text);

/// Whether a line begins with '%'.
bool has_directives(std::string_view text);
/// Whether a line begins with '%include': what a file means depends on the files that it includes, too.
bool has_includes(std::string_view text);

}  // namespace tessera::lsp
