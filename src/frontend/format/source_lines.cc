#include "frontend/format/source_lines.h"

#include <algorithm>

#include "frontend/syntax/brackets.h"

namespace tessera::formatter {

namespace {

DirectiveKind directive_kind(std::string_view word) {
  if (word == "if") return DirectiveKind::If;
  if (word == "elif") return DirectiveKind::Elif;
  if (word == "else") return DirectiveKind::Else;
  if (word == "endif") return DirectiveKind::EndIf;
  return word == "error" ? DirectiveKind::Error : DirectiveKind::Other;
}

class Cutter {
 public:
  Cutter(const LexedFile& lexed, std::string_view text) : tokens_(lexed.tokens), text_(text) {}

  std::vector<SourceLine> run() {
    while (at_ < tokens_.size()) lines_.push_back(next());
    return std::move(lines_);
  }

 private:
  SourceLine next();
  bool ends_branch(size_t newline, size_t& conditions) const;
  void classify(SourceLine& line);
  std::string_view token_text(const RawToken& token) const {
    return text_.substr(token.offset, token.length);
  }
  uint32_t newlines_in(const RawToken& token) const {
    std::string_view text = token_text(token);
    return uint32_t(std::count(text.begin(), text.end(), '\n'));
  }

  const std::vector<RawToken>& tokens_;
  std::string_view text_;
  std::vector<SourceLine> lines_;
  size_t at_ = 0;
  uint32_t line_ = 0;
  size_t conditions_ = 0;  ///< that are open
};

/// Whether a directive behind an end of line ends a branch that began before the statement, of which no bracket is
/// closed behind it. `conditions` are those within the statement.
bool Cutter::ends_branch(size_t newline, size_t& conditions) const {
  size_t at = newline + 1;
  while (at < tokens_.size() && tokens_[at].kind == TokenKind::Space) ++at;
  if (at + 1 >= tokens_.size() || tokens_[at].kind != TokenKind::Percent) return false;
  const RawToken& word = tokens_[at + 1];
  if (word.offset != tokens_[at].offset + 1) return false;
  DirectiveKind kind = directive_kind(token_text(word));
  bool is_branch = kind == DirectiveKind::Elif || kind == DirectiveKind::Else || kind == DirectiveKind::EndIf;
  if (conditions == 0) {
    if (kind == DirectiveKind::If) ++conditions;
    return is_branch && conditions_ > 0;
  }
  conditions += kind == DirectiveKind::If;
  conditions -= kind == DirectiveKind::EndIf;
  return false;
}

/// Reads up to the end of the next logical line. A comment or an empty line is one by itself.
SourceLine Cutter::next() {
  SourceLine line;
  line.first = line_;
  for (; at_ < tokens_.size(); ++at_) {
    std::string_view space = token_text(tokens_[at_]);
    if (tokens_[at_].kind == TokenKind::Continuation) {
      line.column = 0;
      ++line_;
    } else if (tokens_[at_].kind != TokenKind::Space) {
      break;
    } else if (space != byte_order_mark) {
      line.column += uint32_t(space.size());
    }
  }
  line.begin = line.end = at_;
  BracketDepth brackets;
  bool code = false;
  size_t conditions = 0;
  for (; at_ < tokens_.size(); ++at_) {
    const RawToken& token = tokens_[at_];
    line_ += newlines_in(token);
    if (token.kind == TokenKind::Newline) {
      line.is_open = brackets.is_inside() && code && ends_branch(at_, conditions);
      if (!brackets.is_inside() || !code || line.is_open) break;
    }
    brackets.take(token.kind);
    code |= !is_trivia(token.kind);
    bool is_white = token.kind == TokenKind::Comment ? false : is_trivia(token.kind);
    if (!is_white) line.end = at_ + 1;
  }
  bool is_ended = at_ < tokens_.size();  // the last line of a file may lack its end
  line.count = line_ - line.first + (is_ended ? 0 : 1);
  if (is_ended) ++at_;
  classify(line);
  return line;
}

void Cutter::classify(SourceLine& line) {
  if (line.begin == line.end) return;
  const RawToken& first = tokens_[line.begin];
  line.offset = first.offset;
  line.end_offset = tokens_[line.end - 1].offset + tokens_[line.end - 1].length;
  bool has_code = false;
  for (size_t i = line.begin; i < line.end; ++i) has_code |= !is_trivia(tokens_[i].kind);
  line.kind = has_code ? LineKind::Code : LineKind::Comment;
  if (first.kind != TokenKind::Percent) return;
  line.kind = LineKind::Directive;
  if (line.begin + 1 < line.end)
    line.directive = directive_kind(token_text(tokens_[line.begin + 1]));
  if (line.directive == DirectiveKind::If) ++conditions_;
  if (line.directive == DirectiveKind::EndIf && conditions_ > 0) --conditions_;
}

/// The widths of the blocks that are open, and whether the line before begins another.
struct Blocks {
  std::vector<uint32_t> widths{0};
  bool awaits = false;

  friend bool operator==(const Blocks&, const Blocks&) = default;
  uint32_t depth() const { return uint32_t(widths.size()) - 1; }
  /// Takes the first column of a line of code.
  void enter(uint32_t column) {
    if (awaits && column > widths.back()) {
      widths.push_back(column);
    } else {
      while (widths.size() > 1 && widths.back() > column) widths.pop_back();
    }
  }
};

/// The blocks that may be open after branches of which any may be taken.
using Alternatives = std::vector<Blocks>;
constexpr size_t max_alternatives = 64;

void add_new(Alternatives& to, const Alternatives& from) {
  for (const Blocks& blocks : from) {
    bool known = std::find(to.begin(), to.end(), blocks) != to.end();
    if (!known && to.size() < max_alternatives) to.push_back(blocks);
  }
}

class DepthFinder {
 public:
  DepthFinder(std::vector<SourceLine>& lines, const LexedFile& lexed)
      : lines_(lines), lexed_(lexed) {}

  bool run();

 private:
  /// A chain of branches: the blocks before it, and those its branches end with.
  struct Chain {
    Alternatives before;
    Alternatives after;
    bool is_raw = false;  ///< the branch being read
    bool has_else = false;
  };
  void directive(const SourceLine& line, size_t index);
  void end_branch();
  void code(SourceLine& line);
  void place_comments(uint32_t least);

  std::vector<SourceLine>& lines_;
  const LexedFile& lexed_;
  Alternatives open_{Blocks{}};
  std::vector<Chain> chains_;
  std::vector<SourceLine*> comments_;  ///< those since the last line of code
  bool agree_ = true;
};

/// Each comment belongs to the block it stands in, and to none that ends before the next line.
void DepthFinder::place_comments(uint32_t least) {
  for (SourceLine* comment : comments_) comment->depth = std::max(comment->depth, least);
  comments_.clear();
}

void DepthFinder::end_branch() {
  Chain& chain = chains_.back();
  if (!chain.is_raw) add_new(chain.after, open_);
  open_ = chain.before;
}

void DepthFinder::directive(const SourceLine& line, size_t index) {
  bool is_raw = index + 1 < lines_.size() && lines_[index + 1].raw;
  if (line.directive == DirectiveKind::If) {
    chains_.push_back({open_, {}, is_raw, false});
    return;
  }
  bool ends = line.directive == DirectiveKind::EndIf;
  bool branches = line.directive == DirectiveKind::Elif || line.directive == DirectiveKind::Else;
  if (chains_.empty() || (!ends && !branches)) return;
  end_branch();
  chains_.back().is_raw = is_raw;
  chains_.back().has_else |= line.directive == DirectiveKind::Else;
  if (!ends) return;
  Chain& chain = chains_.back();
  if (!chain.has_else || chain.after.empty()) add_new(chain.after, chain.before);
  open_ = chain.after;
  chains_.pop_back();
}

void DepthFinder::code(SourceLine& line) {
  const RawToken* last = last_code_token(line, lexed_);
  Alternatives entered;
  for (Blocks& blocks : open_) {
    blocks.enter(line.column);
    agree_ &= blocks.depth() == open_.front().depth();
    blocks.awaits = last != nullptr && last->kind == TokenKind::Colon;
    add_new(entered, {blocks});
  }
  open_ = std::move(entered);
  line.depth = open_.front().depth();
}

bool DepthFinder::run() {
  for (size_t i = 0; i < lines_.size(); ++i) {
    SourceLine& line = lines_[i];
    if (line.raw || line.kind == LineKind::Blank) continue;
    if (line.kind == LineKind::Directive) {
      directive(line, i);
    } else if (line.kind == LineKind::Comment) {
      Blocks here = open_.front();
      here.enter(line.column);
      line.depth = here.depth();
      // A block that a comment has left is not entered again by the next one.
      if (!comments_.empty()) line.depth = std::min(line.depth, comments_.back()->depth);
      comments_.push_back(&line);
    } else {
      code(line);
      place_comments(line.depth);
    }
  }
  place_comments(0);
  return agree_;
}

}  // namespace

std::vector<SourceLine> cut_lines(const LexedFile& lexed, std::string_view text) {
  return Cutter(lexed, text).run();
}

bool find_depths(std::vector<SourceLine>& lines, const LexedFile& lexed) {
  return DepthFinder(lines, lexed).run();
}

const RawToken* last_code_token(const SourceLine& line, const LexedFile& lexed) {
  for (size_t i = line.end; i > line.begin; --i) {
    if (!is_trivia(lexed.tokens[i - 1].kind)) return &lexed.tokens[i - 1];
  }
  return nullptr;
}

}  // namespace tessera::formatter
