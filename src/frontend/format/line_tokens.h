#pragma once
// The tokens of a logical line without white space, each with the comments before it.

#include <string_view>
#include <vector>

#include "frontend/format/source_lines.h"

namespace tessera::formatter {

struct LineComment {
  std::string_view text;
  bool is_alone = false;  ///< nothing stands before it on its line
};

struct LineToken {
  TokenKind kind = TokenKind::EndOfFile;
  std::string_view text;
  uint32_t offset = 0;
  bool begins_row = false;  ///< the first of its line, of several
  std::vector<LineComment> comments;
};

/// Without white space at its end.
std::string_view without_end(std::string_view text);

/// The tokens of a line of code; behind the last one of kind EndOfFile, with the comments at the
/// end.
std::vector<LineToken> line_tokens(const SourceLine& line, const LexedFile& lexed,
                                   std::string_view text);

}  // namespace tessera::formatter
