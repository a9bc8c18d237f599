#include "frontend/format/line_tokens.h"

namespace tessera::formatter {

std::string_view without_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

std::vector<LineToken> line_tokens(const SourceLine& line, const LexedFile& lexed,
                                   std::string_view text) {
  std::vector<LineToken> found;
  std::vector<LineComment> comments;
  bool begins = false;
  for (size_t i = line.begin; i < line.end; ++i) {
    const RawToken& token = lexed.tokens[i];
    std::string_view spelt = text.substr(token.offset, token.length);
    if (token.kind == TokenKind::Comment) {
      comments.push_back({without_end(spelt), begins});
    } else if (token.kind == TokenKind::Newline || token.kind == TokenKind::Continuation) {
      begins = true;
    } else if (token.kind != TokenKind::Space) {
      found.push_back({token.kind, spelt, token.offset, begins, std::move(comments)});
      comments.clear();
      begins = false;
    }
  }
  found.push_back({TokenKind::EndOfFile, {}, line.end_offset, false, std::move(comments)});
  return found;
}

}  // namespace tessera::formatter
