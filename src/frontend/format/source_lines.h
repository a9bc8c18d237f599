#pragma once
// Splits a file into logical lines, as the preprocessor and the layout see them, together with the
// comments and empty lines that they drop. All branches of %if are treated alike; none is taken.

#include <string_view>
#include <vector>

#include "frontend/syntax/token.h"

namespace tessera::formatter {

/// The byte order mark of a UTF-8 file; it is no white space of the first line.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

enum class LineKind : uint8_t { Code, Comment, Blank, Directive };

/// The effect of a preprocessor line on the lines around it.
enum class DirectiveKind : uint8_t { If, Elif, Else, EndIf, Error, Other };

struct SourceLine {
  LineKind kind = LineKind::Blank;
  DirectiveKind directive = DirectiveKind::Other;
  /// Tokens, without the white space before the first and the end of the line behind the last.
  size_t begin = 0, end = 0;
  uint32_t offset = 0, end_offset = 0;  ///< the bytes of the tokens
  uint32_t first = 0, count = 1;        ///< lines of the file, from 0
  uint32_t column = 0;                  ///< characters before the first token
  uint32_t depth = 0;                   ///< blocks around it; of a comment, those it belongs to
  bool is_open = false;                 ///< the branch ends before its brackets are closed
  bool raw = false;                     ///< in a branch that does not parse: left as it is
};

/// Cuts a file. Brackets that do not match are a matter of the branch that they stand in.
std::vector<SourceLine> cut_lines(const LexedFile& lexed, std::string_view text);

/// Computes the depths, once it is known which lines are raw. False where branches end in different
/// blocks, so that a line behind them has no one depth.
bool find_depths(std::vector<SourceLine>& lines, const LexedFile& lexed);

/// The last token of a line that is no comment and no white space, or null.
const RawToken* last_code_token(const SourceLine& line, const LexedFile& lexed);

}  // namespace tessera::formatter
