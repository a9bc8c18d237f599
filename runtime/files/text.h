#pragma once
// Building messages without a formatting library.

#include <concepts>
#include <string>
#include <string_view>

#include "runtime/files/result.h"

namespace tessera::format {

inline void append_piece(std::string& out, std::string_view piece) {
  out += piece;
}
inline void append_piece(std::string& out, char piece) {
  out += piece;
}
inline void append_piece(std::string& out, std::integral auto piece) {
  out += std::to_string(piece);
}

/// The pieces (text, characters and integers) in one string.
template <typename... Pieces>
std::string cat(const Pieces&... pieces) {
  std::string out;
  (append_piece(out, pieces), ...);
  return out;
}

/// An error made of pieces.
template <typename... Pieces>
Error error(const Pieces&... pieces) {
  return Error{cat(pieces...)};
}

/// Text of a file as it may be shown, lines of it as lines: what steers a terminal, turns the
/// direction of writing, is not seen or is no UTF-8 becomes \xNN or \uNNNN.
std::string printable(std::string_view text);

/// Whether no character of the text ends a line or steers a terminal. Bundles have such texts only.
bool is_one_line(std::string_view text);
/// The text in one line, by the same escapes.
std::string one_line(std::string_view text);

/// 'name', which is printable and of one line, cut after 200 bytes.
std::string in_quotes(std::string_view name);

/// True for 1 to 255 bytes that are shown as they are, on one line.
bool is_printable_name(std::string_view name);

}  // namespace tessera::format
