#include "lsp/positions.h"

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
    if (ends) starts_.push_back(i + 1);
  }
}

uint32_t LineIndex::line_of(uint32_t offset) const {
  auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  return uint32_t(after - starts_.begin()) - 1;
}

uint32_t LineIndex::offset(std::string_view text, Position position, Encoding encoding) const {
  if (position.line >= starts_.size()) return uint32_t(text.size());
  uint32_t at = starts_[position.line];
  uint32_t count = 0;
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
  uint32_t count = 0;
  for (uint32_t at = starts_[line]; at < offset;) {
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
