#include "runtime/format/text.h"

namespace tessera::format {

namespace {

/// Control characters and ends of lines.
bool steers(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

/// Whether a text that holds the character can look like another text, or do something.
bool deceives(char32_t c) {
  bool turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0x61c;
  bool is_unseen = c == 0x200b || (c >= 0x2060 && c <= 0x2064) || c == 0xfeff;
  return steers(c) || turns || is_unseen;
}

void append_hex(std::string& out, char32_t value, int digits) {
  while (digits > 0) out += "0123456789abcdef"[value >> (4 * --digits) & 15];
}

std::string escaped(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    char32_t c = 0;
    size_t length = next_character(text, c);
    if (length == 0 || (c < 0x20 && !(keep_lines && c == '\n'))) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(text[0]), 2);
    } else if (c != '\n' && deceives(c)) {
      out += "\\u";  // as in JSON, which stays what it is
      append_hex(out, c, 4);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

size_t next_character(std::string_view text, char32_t& value) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  value = byte(0);
  if (value < 0x80) return text.empty() ? 0 : 1;
  if (value < 0xc2 || value > 0xf4) return 0;
  size_t length = value >= 0xf0 ? 4 : value >= 0xe0 ? 3 : 2;
  value &= 0x7fu >> length;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
  return value < least[length] || value > 0x10ffff || is_surrogate ? 0 : length;
}

std::string printable(std::string_view text) {
  return escaped(text, true);
}

std::string one_line(std::string_view text) {
  return escaped(text, false);
}

bool is_one_line(std::string_view text) {
  while (!text.empty()) {
    char32_t c = 0;
    size_t length = next_character(text, c);
    if (length == 0 || steers(c)) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string in_quotes(std::string_view name) {
  return cat("'", escaped(name.substr(0, 200), false), name.size() > 200 ? "..." : "", "'");
}

bool is_printable_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && escaped(name, false) == name;
}

}  // namespace tessera::format
