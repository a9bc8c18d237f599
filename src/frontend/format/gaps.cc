// Empty lines: the author's are kept, at most one in a place, and functions and modules always have
// one around them. Beside preprocessor lines the author's count alone.

#include "frontend/format/pieces.h"

namespace tessera::formatter {

namespace {

class GapFinder {
 public:
  GapFinder(const std::vector<SourceLine>& lines, const LexedFile& lexed, std::string_view text)
      : lines_(lines), lexed_(lexed), text_(text) {}

  std::vector<bool> run();

 private:
  /// The kind of the last line of code at a depth.
  struct Head {
    bool is_definition = false;  ///< a def or a module
    bool is_module = false;
  };
  TokenKind token(const SourceLine& line, size_t index) const;
  bool is_word(const SourceLine& line, std::string_view word) const;
  Head head_of(const SourceLine& line) const;
  bool begins_definition(size_t index) const;
  bool holds_definitions(uint32_t depth) const {
    return depth == 0 || (depth <= heads_.size() && heads_[depth - 1].is_module);
  }
  bool is_forced(size_t index) const;
  bool is_forbidden(size_t index) const;

  const std::vector<SourceLine>& lines_;
  const LexedFile& lexed_;
  std::string_view text_;
  std::vector<Head> heads_;             ///< by depth
  const SourceLine* before_ = nullptr;  ///< the line before that is not empty
  bool was_empty_ = false;              ///< an empty line stands between the two
};

TokenKind GapFinder::token(const SourceLine& line, size_t index) const {
  for (size_t i = line.begin; i < line.end; ++i) {
    if (is_trivia(lexed_.tokens[i].kind)) continue;
    if (index-- == 0) return lexed_.tokens[i].kind;
  }
  return TokenKind::EndOfFile;
}

bool GapFinder::is_word(const SourceLine& line, std::string_view word) const {
  return text_.substr(line.offset, word.size() + 1) == std::string(word) + " ";
}

GapFinder::Head GapFinder::head_of(const SourceLine& line) const {
  bool is_module = is_word(line, "module") && token(line, 1) == TokenKind::Name;
  return {is_module || token(line, 0) == TokenKind::Def, is_module};
}

/// A decorator, def or module, or a comment right above one.
bool GapFinder::begins_definition(size_t index) const {
  size_t at = index;
  while (at < lines_.size() && lines_[at].kind == LineKind::Comment) ++at;
  if (at == lines_.size() || lines_[at].kind != LineKind::Code || lines_[at].raw) return false;
  if (lines_[at].depth != lines_[index].depth) return false;
  return token(lines_[at], 0) == TokenKind::At || head_of(lines_[at]).is_definition;
}

bool GapFinder::is_forced(size_t index) const {
  const SourceLine& line = lines_[index];
  if (line.kind == LineKind::Directive || before_->kind == LineKind::Directive) return false;
  if (!holds_definitions(line.depth)) return false;
  bool goes_on = before_->kind == LineKind::Comment && before_->depth == line.depth;
  if (goes_on) return false;
  if (begins_definition(index)) return true;
  return line.depth < heads_.size() && heads_[line.depth].is_definition;
}

/// At the start of a block, before a branch of an `if`, and behind a decorator.
bool GapFinder::is_forbidden(size_t index) const {
  const SourceLine& line = lines_[index];
  if (line.kind == LineKind::Code) {
    TokenKind first = token(line, 0);
    if (first == TokenKind::Elif || first == TokenKind::Else) return true;
  }
  if (before_->kind != LineKind::Code || before_->raw) return false;
  const RawToken* last = last_code_token(*before_, lexed_);
  return last->kind == TokenKind::Colon || token(*before_, 0) == TokenKind::At;
}

std::vector<bool> GapFinder::run() {
  std::vector<bool> gaps(lines_.size(), false);
  for (size_t i = 0; i < lines_.size(); ++i) {
    const SourceLine& line = lines_[i];
    if (line.kind == LineKind::Blank && !line.raw) {
      was_empty_ = true;
      continue;
    }
    if (before_ != nullptr && !line.raw && !is_forbidden(i)) gaps[i] = was_empty_ || is_forced(i);
    before_ = &line;
    was_empty_ = false;
    if (line.kind != LineKind::Code || line.raw) continue;
    heads_.resize(line.depth);
    heads_.push_back(head_of(line));
  }
  return gaps;
}

}  // namespace

std::vector<bool> find_gaps(const std::vector<SourceLine>& lines, const LexedFile& lexed,
                            std::string_view text) {
  return GapFinder(lines, lexed, text).run();
}

}  // namespace tessera::formatter
