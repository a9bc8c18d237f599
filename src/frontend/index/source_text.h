#pragma once
// Stretches of source in one line, and the comments that describe a declaration.

#include <string>
#include <string_view>

#include "support/source.h"

namespace tessera::frontend {

/// The text of a place with a length, with each run of blanks, newlines and comments as one blank.
/// At most `limit` bytes; a longer one ends in "…".
std::string one_line(const SourceManager& sources, Loc loc, size_t limit = 400);
/// The comment lines that end right above a line, without their '#'; empty when there are none.
std::string comment_above(const SourceManager& sources, Loc loc);
/// The text of a docstring: without the indentation that all its lines but the first have in
/// common, and without empty lines around it.
std::string dedented(std::string_view docstring);

}  // namespace tessera::frontend
