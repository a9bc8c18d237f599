#pragma once
// Places in a text: ours are byte offsets, a client's are a line and a count of UTF-8 or UTF-16
// units in it. Any pair of numbers means some place: lines past the end mean the end of the text,
// characters past the end of a line mean its end, and half of a character means its start.

#include <cstdint>
#include <string_view>
#include <vector>

#include "lsp/json.h"

namespace tessera::lsp {

enum class Encoding : uint8_t { Utf8, Utf16 };

struct Position {
  uint32_t line = 0;       ///< from 0
  uint32_t character = 0;  ///< from 0, in the encoding's units
};

/// Bytes begin … end-1 of a text.
struct Range {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool contains(uint32_t offset) const { return begin <= offset && offset < end; }
  /// Also its end: where a cursor stands behind a word.
  bool touches(uint32_t offset) const { return begin <= offset && offset <= end; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// Where the lines of a text begin. Lines end with \n, \r\n or \r.
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
  std::vector<uint32_t> starts_{0};
};

/// {"line": …, "character": …}; numbers that are none or negative count as 0.
Position read_position(const Json& json);
Json to_json(Position position);

}  // namespace tessera::lsp
