#pragma once
// What becomes of each line of a file, and the file they make together.

#include <string>
#include <vector>

#include "frontend/format/document.h"
#include "frontend/format/format.h"
#include "frontend/format/source_lines.h"

namespace tessera::formatter {

/// The lines that a line of the source becomes; none for an empty one, and for a raw one.
struct Piece {
  std::vector<OutLine> lines;
};

/// What more the lines of a block begin with than its header does.
std::string block_indentation(std::string_view header);

/// What each line is to begin with, of which those that `chosen` names are formatted; `in_place`: what it has.
std::vector<std::string> find_indentations(const std::vector<SourceLine>& lines, const std::vector<bool>& chosen,
                                           std::string_view text, bool in_place);

std::vector<Piece> make_pieces(const std::vector<SourceLine>& lines, const std::vector<std::string>& indentations,
                               const LexedFile& lexed, std::string_view text);

/// For each line whether an empty one goes before it.
std::vector<bool> find_gaps(const std::vector<SourceLine>& lines, const LexedFile& lexed,
                            std::string_view text);

/// A whole text, and what of it is not as it was.
struct Assembled {
  std::string text;
  std::vector<LineEdit> edits;
};

/// The lines that `chosen` names are formatted, the others as they were.
Assembled assemble(const std::vector<SourceLine>& lines, const std::vector<bool>& chosen,
                   std::vector<Piece> pieces, const std::vector<bool>& gaps, std::string_view text);

}  // namespace tessera::formatter
