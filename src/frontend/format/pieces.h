#pragma once
// The formatted text of each line of a file, and of the whole file.

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

/// The indentation of a block beyond that of its header.
std::string block_indentation(std::string_view header);

/// The new indentation of each line; `chosen` names the lines to format; `in_place`: the old one.
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
