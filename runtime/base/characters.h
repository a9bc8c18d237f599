#pragma once
// UTF-8, and the characters that a text may not have if it is to look like what it says.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace tessera::base {

/// A code point, or a byte that is no part of valid UTF-8.
struct Character {
  char32_t value = 0;
  size_t length = 1;  ///< in bytes
  bool is_valid = true;
};

/// The first character of a text that is not empty.
inline Character next_character(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  char32_t value = lead & (0x7fu >> length);
  bool is_valid = lead >= 0xc2 && lead <= 0xf4;
  for (size_t i = 1; i < length && is_valid; ++i) {
    is_valid = (byte(i) & 0xc0) == 0x80;
    value = value << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
  if (!is_valid || value < least[length] || value > 0x10ffff || is_surrogate) return {lead, 1, false};
  return {value, length};
}

struct CharacterRange {
  char32_t first, last;
};

template <size_t N>
constexpr bool contains(const CharacterRange (&ranges)[N], char32_t c) {
  auto after = std::upper_bound(std::begin(ranges), std::end(ranges), c,
                                [](char32_t value, const CharacterRange& range) { return value < range.first; });
  return after != std::begin(ranges) && c <= std::prev(after)->last;
}

/// Fillers, joiners, marks of direction, separators of lines, tags.
inline constexpr CharacterRange invisible[] = {
    {0xad, 0xad},     {0x61c, 0x61c},   {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180e, 0x180e}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff9, 0xfffb},
    {0xe0000, 0xe007f},
};

/// Draws nothing, or has what follows drawn in another direction or line: text with it can look like other text.
constexpr bool is_invisible(char32_t c) { return contains(invisible, c); }

/// Steers a terminal, or ends a line.
constexpr bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

}  // namespace tessera::base
