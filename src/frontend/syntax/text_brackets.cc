#include "frontend/syntax/text_brackets.h"

#include <algorithm>

namespace tessera {

namespace {

/// The kind of the token that a byte is where it is a bracket.
TokenKind kind_of(char c) {
  switch (c) {
    case '(': return TokenKind::Lparen;
    case '[': return TokenKind::Lbracket;
    case '{': return TokenKind::Lbrace;
    case ')': return TokenKind::Rparen;
    case ']': return TokenKind::Rbracket;
    case '}': return TokenKind::Rbrace;
    default: return TokenKind::Unknown;
  }
}

}  // namespace

size_t TextBrackets::skip_long(std::string_view line, size_t at) {
  while (at < line.size()) {
    if (line[at] == '\\') {
      at += 2;
    } else if (line.substr(at).starts_with(quote_)) {
      at += 3;
      quote_ = {};
      return at;
    } else {
      ++at;
    }
  }
  return line.size();
}

/// Skips a string that begins at `at`; a short one ends with its line.
size_t TextBrackets::skip_string(std::string_view line, size_t at) {
  for (std::string_view quote : {std::string_view("\"\"\""), std::string_view("'''")}) {
    if (!line.substr(at).starts_with(quote)) continue;
    quote_ = quote;
    return skip_long(line, at + 3);
  }
  char quote = line[at++];
  while (at < line.size() && line[at] != quote) at += line[at] == '\\' ? 2 : 1;
  return std::min(at + 1, line.size());
}

void TextBrackets::read(std::string_view line, const Visit& visit) {
  continued_ = false;
  size_t at = quote_.empty() ? 0 : skip_long(line, 0);
  while (at < line.size()) {
    char c = line[at];
    if (c == '#') return;
    if (c == '"' || c == '\'') {
      at = skip_string(line, at);
      continue;
    }
    depth_.take(kind_of(c));
    if (visit && !visit(at, depth_.depth())) return;
    continued_ = c == '\\' && at + 1 == line.size();
    ++at;
  }
}

}  // namespace tessera
