#include "frontend/syntax/literal.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "frontend/syntax/utf8.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

std::string without_underscores(std::string_view text) {
  std::string digits;
  for (char c : text) {
    if (c != '_') digits += c;
  }
  return digits;
}

/// The value of exactly `count` hex digits at the start of `text`.
std::optional<uint32_t> hex_digits(std::string_view text, size_t count) {
  if (text.size() < count) return std::nullopt;
  uint32_t value = 0;
  const char* end = text.data() + count;
  std::from_chars_result read = std::from_chars(text.data(), end, value, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

/// Decodes the escape at the start of `text` (a backslash and more); its length, or 0 when unknown.
size_t decode_escape(std::string_view text, std::string& value) {
  auto code_point = [&](size_t digits, uint32_t limit) -> size_t {
    std::optional<uint32_t> number = hex_digits(text.substr(2), digits);
    if (!number || *number > limit || !is_unicode_scalar(*number)) return 0;
    append_utf8(value, *number);
    return 2 + digits;
  };
  auto one = [&](char c) {
    value += c;
    return size_t(2);
  };
  switch (text.size() > 1 ? text[1] : '\0') {
    case 'n': return one('\n');
    case 't': return one('\t');
    case 'r': return one('\r');
    case '0': return one('\0');
    case '\\':
    case '\'':
    case '"': return one(text[1]);
    case '\n': return 2;
    case '\r': return text.substr(1).starts_with("\r\n") ? 3 : 0;
    case 'x': return code_point(2, 0x7F);
    case 'u': return code_point(4, 0xFFFF);
    case 'U': return code_point(8, 0x10FFFF);
    default: return 0;
  }
}

}  // namespace

std::optional<uint64_t> parse_integer(std::string_view text) {
  std::string digits = without_underscores(text);
  int base = 10;
  if (digits.size() > 2 && (digits[1] == 'x' || digits[1] == 'X')) base = 16;
  if (digits.size() > 2 && (digits[1] == 'b' || digits[1] == 'B')) base = 2;
  if (base != 10) digits.erase(0, 2);
  uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  std::from_chars_result read = std::from_chars(digits.data(), end, value, base);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  std::string digits = without_underscores(text);
  double value = 0;
  const char* end = digits.data() + digits.size();
  std::from_chars_result read = std::from_chars(digits.data(), end, value);
  if (read.ptr != end) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    // from_chars does not distinguish overflow and underflow; strtod does.
    value = std::strtod(digits.c_str(), nullptr);
    if (std::isinf(value)) return std::nullopt;
    return value;
  }
  if (read.ec != std::errc()) return std::nullopt;
  return value;
}

bool decode_string(std::string_view text, Loc loc, std::string& value,
                   DiagnosticEngine* diagnostics) {
  bool is_long = text.size() >= 6 && text[1] == text[0] && text[2] == text[0];
  size_t quotes = is_long ? 3 : 1;
  size_t end = text.size() - quotes;
  bool good = true;
  for (size_t at = quotes; at < end;) {
    if (text[at] != '\\') {
      value += text[at++];
      continue;
    }
    size_t length = decode_escape(text.substr(at, end - at), value);
    if (length == 0) {
      length = 2;
      value += text.substr(at, length);
      if (diagnostics != nullptr && good) {
        // Columns are only right on the first line of a long string; the string itself else.
        bool first_line = text.substr(0, at).find('\n') == std::string_view::npos;
        Loc place = first_line ? Loc{loc.file, loc.line, loc.column + uint32_t(at), 2} : loc;
        diagnostics->report(diag::unknown_escape, place, text.substr(at, length))
            .help("write '\\\\' for a backslash");
      }
      good = false;
    }
    at += length;
  }
  return good;
}

}  // namespace tessera
