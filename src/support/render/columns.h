#pragma once
// The width of text on a terminal.

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// A code point, or a byte that is no part of valid UTF-8.
struct Character {
  char32_t value = 0;
  size_t length = 1;  ///< in bytes
  bool is_valid = true;
};

/// The first character of a text that is not empty.
Character next_character(std::string_view text);
/// Draws nothing, or has what follows drawn in another direction or line: text with it can look like other text.
bool is_invisible(char32_t c);
/// 0 for what is drawn over the character before, 2 for wide characters, else 1.
size_t columns_of(char32_t c);
/// Of a text without control characters.
size_t columns_of(std::string_view text);
/// The character as it is printed: what would steer a terminal, or is no UTF-8, as an escape. `bytes` begin with it.
std::string shown(const Character& c, std::string_view bytes);

/// The words of a text in lines of at most `width` columns, but for words that are wider.
std::vector<std::string> wrap(std::string_view text, size_t width);

}  // namespace tessera
