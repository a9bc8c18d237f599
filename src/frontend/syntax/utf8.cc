#include "frontend/syntax/utf8.h"

namespace tessera {

size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) return 0;
  auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
  auto continues = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    uint8_t low = lead == 0xE0 ? 0xA0 : 0x80;
    uint8_t high = lead == 0xED ? 0x9F : 0xBF;
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    uint8_t low = lead == 0xF0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xF4 ? 0x8F : 0xBF;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

size_t find_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t length = uint8_t(text[at]) < 0x80 ? 1 : utf8_sequence_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string_view blank_name(std::string_view character) {
  constexpr std::pair<std::string_view, std::string_view> blanks[] = {
      {"\u00A0", "U+00A0"}, {"\u2002", "U+2002"}, {"\u2003", "U+2003"}, {"\u2004", "U+2004"},
      {"\u2005", "U+2005"}, {"\u2006", "U+2006"}, {"\u2007", "U+2007"}, {"\u2008", "U+2008"},
      {"\u2009", "U+2009"}, {"\u200A", "U+200A"}, {"\u202F", "U+202F"}, {"\u3000", "U+3000"}};
  for (const auto& [blank, name] : blanks) {
    if (blank == character) return name;
  }
  return {};
}

void append_utf8(std::string& out, uint32_t code_point) {
  auto tail = [&](int shift) { out += char(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) {
    out += char(code_point);
  } else if (code_point < 0x800) {
    out += char(0xC0 | (code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    out += char(0xE0 | (code_point >> 12));
    tail(6);
    tail(0);
  } else {
    out += char(0xF0 | (code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_unicode_scalar(uint32_t code_point) {
  return code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF);
}

}  // namespace tessera
