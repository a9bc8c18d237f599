#pragma once
// Building messages without a formatting library.

#include <concepts>
#include <string>
#include <string_view>

#include "runtime/format/result.h"

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

/// 'name', with control characters as \xNN so that hostile names cannot steer a terminal, and
/// cut after 200 bytes.
std::string in_quotes(std::string_view name);

/// True for 1 to 255 printable bytes: no control characters, no DEL.
bool is_printable_name(std::string_view name);

}  // namespace tessera::format
