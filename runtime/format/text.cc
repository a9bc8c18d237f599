#include "runtime/format/text.h"

namespace tessera::format {

namespace {

bool is_control(char c) {
  return (unsigned char)(c) < 0x20 || c == 0x7f;
}

}  // namespace

std::string in_quotes(std::string_view name) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "'";
  for (char c : name.substr(0, 200)) {
    if (is_control(c)) {
      out += "\\x";
      out += digits[(unsigned char)(c) >> 4];
      out += digits[(unsigned char)(c)&15];
    } else {
      out += c;
    }
  }
  if (name.size() > 200) out += "...";
  return out + "'";
}

bool is_printable_name(std::string_view name) {
  if (name.empty() || name.size() > 255) return false;
  for (char c : name) {
    if (is_control(c)) return false;
  }
  return true;
}

}  // namespace tessera::format
