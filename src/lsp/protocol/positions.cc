#include "lsp/protocol/positions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "frontend/syntax/utf8.h"

namespace tessera::lsp {

namespace {

/// Bytes of the character at the start of the text; a byte that belongs to none counts as one.
size_t character_length(std::string_view text) {
  if (uint8_t(text[0]) < 0x80) return 1;
  return std::max<size_t>(1, utf8_sequence_length(text));
}

uint32_t units(size_t bytes, Encoding encoding) {
  if (encoding == Encoding::Utf8) return uint32_t(bytes);
  return bytes == 4 ? 2 : 1;
}

uint32_t clamp_number(const Json& object, std::string_view key) {
  return uint32_t(std::clamp<int64_t>(integer_at(object, key).value_or(0), 0, UINT32_MAX));
}

}  // namespace

LineIndex::LineIndex(std::string_view text) {
  for (uint32_t i = 0; i < text.size(); ++i) {
    bool ends = text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'));
    if (!ends) continue;
    mark_line(text, starts_.back(), i);
    starts_.push_back(i + 1);
  }
  mark_line(text, starts_.back(), uint32_t(text.size()));
}

void LineIndex::mark_line(std::string_view text, uint32_t begin, uint32_t end) {
  constexpr uint32_t stride = 64;
  Mark here{begin, 0};
  for (uint32_t last = begin; end - here.offset > stride;) {
    size_t length = character_length(text.substr(here.offset));
    here.offset += uint32_t(length);
    here.units16 += units(length, Encoding::Utf16);
    if (here.offset - last < stride) continue;
    marks_.push_back(here);
    last = here.offset;
  }
}

std::pair<const LineIndex::Mark*, const LineIndex::Mark*> LineIndex::marks_of(uint32_t line) const {
  auto behind = [](uint32_t offset, const Mark& mark) { return offset < mark.offset; };
  auto begin = std::upper_bound(marks_.begin(), marks_.end(), starts_[line], behind);
  auto end = marks_.end();
  if (line + 1 < starts_.size()) end = std::upper_bound(begin, end, starts_[line + 1], behind);
  return {marks_.data() + (begin - marks_.begin()), marks_.data() + (end - marks_.begin())};
}

LineIndex::Mark LineIndex::mark_before(uint32_t line, uint32_t offset) const {
  auto [begin, end] = marks_of(line);
  auto after = std::upper_bound(begin, end, offset, [](uint32_t at, const Mark& mark) { return at < mark.offset; });
  return after == begin ? Mark{starts_[line], 0} : after[-1];
}

LineIndex::Mark LineIndex::mark_before(uint32_t line, uint32_t character, Encoding encoding) const {
  auto [begin, end] = marks_of(line);
  auto after = std::upper_bound(begin, end, character, [&](uint32_t at, const Mark& mark) {
    return at < units_at(mark, line, encoding);
  });
  return after == begin ? Mark{starts_[line], 0} : after[-1];
}

uint32_t LineIndex::line_of(uint32_t offset) const {
  auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  return uint32_t(after - starts_.begin()) - 1;
}

uint32_t LineIndex::offset(std::string_view text, Position position, Encoding encoding) const {
  if (position.line >= starts_.size()) return uint32_t(text.size());
  Mark mark = mark_before(position.line, position.character, encoding);
  uint32_t at = mark.offset;
  uint32_t count = units_at(mark, position.line, encoding);
  while (at < text.size() && text[at] != '\n' && text[at] != '\r') {
    size_t length = character_length(text.substr(at));
    count += units(length, encoding);
    if (count > position.character) break;
    at += uint32_t(length);
  }
  return at;
}

Position LineIndex::position(std::string_view text, uint32_t offset, Encoding encoding) const {
  offset = std::min(offset, uint32_t(text.size()));
  uint32_t line = line_of(offset);
  Mark mark = mark_before(line, offset);
  uint32_t count = units_at(mark, line, encoding);
  for (uint32_t at = mark.offset; at < offset;) {
    size_t length = character_length(text.substr(at));
    if (at + length > offset) break;
    count += units(length, encoding);
    at += uint32_t(length);
  }
  return {line, count};
}

Position read_position(const Json& json) {
  return {clamp_number(json, "line"), clamp_number(json, "character")};
}

Json to_json(Position position) {
  return {{"line", position.line}, {"character", position.character}};
}

}  // namespace tessera::lsp
