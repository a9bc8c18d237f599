#pragma once
// Places in a text: ours are byte offsets, a client's are a line and a count of UTF-8 or UTF-16
// units in it. Any pair of numbers means some place: lines past the end mean the end of the text,
// characters past the end of a line mean its end, and half of a character means its start.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/syntax/text_range.h"
#include "lsp/protocol/json.h"

namespace tessera::lsp {

enum class Encoding : uint8_t { Utf8, Utf16 };

struct Position {
  uint32_t line = 0;       ///< from 0
  uint32_t character = 0;  ///< from 0, in the encoding's units
};

using Range = TextRange;

/// Where the lines of a text begin. Lines end with \n, \r\n or \r. Along a long line places are marked, so that none
/// is counted from the line's start.
class LineIndex {
 public:
  LineIndex() = default;
  explicit LineIndex(std::string_view text);

  uint32_t offset(std::string_view text, Position position, Encoding encoding) const;
  Position position(std::string_view text, uint32_t offset, Encoding encoding) const;
  uint32_t line_count() const { return uint32_t(starts_.size()); }
  uint32_t line_of(uint32_t offset) const;
  uint32_t line_start(uint32_t line) const { return starts_[line]; }

 private:
  /// A character of a long line begins here.
  struct Mark {
    uint32_t offset = 0;
    uint32_t units16 = 0;  ///< of UTF-16 since the line's start
  };
  void mark_line(std::string_view text, uint32_t begin, uint32_t end);
  /// The last mark of the line that is not behind the offset, or not behind the character; the line's start where
  /// there is none.
  Mark mark_before(uint32_t line, uint32_t offset) const;
  Mark mark_before(uint32_t line, uint32_t character, Encoding encoding) const;
  std::pair<const Mark*, const Mark*> marks_of(uint32_t line) const;
  uint32_t units_at(Mark mark, uint32_t line, Encoding encoding) const {
    return encoding == Encoding::Utf8 ? mark.offset - starts_[line] : mark.units16;
  }

  std::vector<uint32_t> starts_{0};
  std::vector<Mark> marks_;  ///< in order
};

/// {"line": …, "character": …}; numbers that are none or negative count as 0.
Position read_position(const Json& json);
Json to_json(Position position);

}  // namespace tessera::lsp
