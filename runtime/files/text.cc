#include "runtime/files/text.h"

#include "runtime/base/characters.h"

namespace tessera::format {

namespace {

void append_hex(std::string& out, char32_t value, int digits) {
  while (digits > 0) out += "0123456789abcdef"[value >> (4 * --digits) & 15];
}

/// As in JSON, which stays what it is.
void append_escape(std::string& out, char32_t c) {
  if (c > 0xffff) {
    append_escape(out, 0xd800 + ((c - 0x10000) >> 10));
    c = 0xdc00 + ((c - 0x10000) & 0x3ff);
  }
  out += "\\u";
  append_hex(out, c, 4);
}

std::string escaped(std::string_view text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    base::Character c = base::next_character(text);
    if (keep_lines && c.value == '\n') {
      out += '\n';
    } else if (!c.is_valid || c.value < 0x20) {
      out += "\\x";
      append_hex(out, c.value, 2);
    } else if (base::is_control(c.value) || base::is_invisible(c.value)) {
      append_escape(out, c.value);
    } else {
      out += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return escaped(text, true);
}

std::string one_line(std::string_view text) {
  return escaped(text, false);
}

bool is_one_line(std::string_view text) {
  while (!text.empty()) {
    base::Character c = base::next_character(text);
    if (!c.is_valid || base::is_control(c.value)) return false;
    text.remove_prefix(c.length);
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
