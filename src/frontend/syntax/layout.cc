#include "frontend/syntax/layout.h"

namespace tessera {

namespace {

/// What stands before the first token of a line.
struct Indentation {
  uint32_t width = 0;
  bool tabs = false;
  bool spaces = false;
};

Indentation measure(const TokenBuffer& buffer, const Token& first) {
  FileId file = first.file;
  uint32_t offset = first.offset;
  if (first.expansion != 0) {
    file = buffer.expansion(first.expansion).file;
    offset = buffer.expansion(first.expansion).offset;
  }
  std::string_view text = buffer.sources().file(file).text();
  uint32_t begin = offset;
  while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t')) --begin;
  Indentation found{offset - begin};
  for (char c : text.substr(begin, offset - begin)) (c == '\t' ? found.tabs : found.spaces) = true;
  return found;
}

bool begins_statement(TokenKind kind) {
  switch (kind) {
    case TokenKind::Const:
    case TokenKind::Dim:
    case TokenKind::Param:
    case TokenKind::Import:
    case TokenKind::From:
    case TokenKind::Return:
    case TokenKind::Pass:
    case TokenKind::At:
    case TokenKind::Plus:
    case TokenKind::Minus: return true;
    default: return starts_operand(kind) || begins_compound(kind);
  }
}

/// What a line leaves open for the next.
enum class LineEnd : uint8_t {
  Complete,      ///< nothing
  AwaitsBlock,   ///< `if x:`
  BrokenHeader,  ///< `if x`: the parser will miss the colon, a block may follow
  Broken,        ///< reported, or to be reported by the parser; what follows is anybody's guess
};

LineEnd line_end(const Token* begin, const Token* end) {
  bool compound = begins_compound(begin->kind);
  bool colon_last = (end - 1)->kind == TokenKind::Colon;
  if (compound && colon_last) return LineEnd::AwaitsBlock;
  bool broken = colon_last;
  bool suite_here = false;
  size_t depth = 0;
  size_t lambdas = 0;
  for (const Token* at = begin; at != end; ++at) {
    broken |= at->kind == TokenKind::Error;
    if (is_opening(at->kind)) ++depth;
    if (is_closing(at->kind) && depth > 0) --depth;
    if (depth != 0) continue;
    if (at->kind == TokenKind::Lambda) ++lambdas;
    if (at->kind != TokenKind::Colon) continue;
    if (lambdas != 0) {
      --lambdas;
    } else {
      suite_here = true;
    }
  }
  bool may_lack_suite = suite_here || begin->kind == TokenKind::On;
  if (compound) return may_lack_suite ? LineEnd::Complete : LineEnd::BrokenHeader;
  return broken ? LineEnd::Broken : LineEnd::Complete;
}

class Layout {
 public:
  Layout(TokenBuffer& buffer, DiagnosticEngine& diagnostics)
      : buffer_(buffer), diagnostics_(diagnostics) {}

  std::vector<Token> run();

 private:
  struct Level {
    uint32_t width;
    bool tabs;
    Loc header = {};  ///< the first token of the line that the block belongs to
    size_t elifs = 0;
    bool after_if = false;  ///< the statement before is an `if` that `else` can continue
  };
  Token mark(TokenKind kind, const Token& at) const { return {kind, at.file, at.offset, 0, 0}; }
  void line(const Token* begin, const Token* end);
  void check_tabs(const Indentation& indentation, const Token& first);
  bool deeper(const Indentation& indentation, const Token& first);
  void shallower(const Indentation& indentation, const Token& first);
  void missing_block(const Token& next);
  void start_statement(const Token& first);

  TokenBuffer& buffer_;
  DiagnosticEngine& diagnostics_;
  std::vector<Token> out_;
  std::vector<Level> levels_{{0, false}};
  size_t depth_ = 0;  ///< blocks
  const Token* before_ = nullptr;  ///< first token of the line before
  Loc colon_;                      ///< the last token of the line before, which may be one
  LineEnd before_end_ = LineEnd::Complete;
  uint32_t skip_deeper_than_ = UINT32_MAX;
  uint32_t stray_width_ = UINT32_MAX;  ///< where a line began that no block begins, which is reported
  bool tabs_reported_ = false;
  bool width_is_vague_ = false;  ///< the line's tabs and spaces do not compare with those above
};

void Layout::check_tabs(const Indentation& indentation, const Token& first) {
  bool disagrees = false;
  for (const Level& level : levels_) {
    disagrees |= level.width != 0 && indentation.width != 0 && level.tabs != indentation.tabs;
  }
  width_is_vague_ = disagrees || (indentation.tabs && indentation.spaces);
  if (!width_is_vague_) return;
  if (!tabs_reported_) {
    diagnostics_.report(diag::mixed_indentation, buffer_.loc(first))
        .help("indent with spaces alone");
  }
  tabs_reported_ = true;
}

/// Puts a mark where the line before should have been followed by a block.
void Layout::missing_block(const Token& next) {
  if (before_end_ != LineEnd::AwaitsBlock && before_end_ != LineEnd::BrokenHeader) return;
  if (before_end_ == LineEnd::AwaitsBlock) {
    Loc header = buffer_.loc(*before_);
    auto report = diagnostics_.report(diag::expected_block, buffer_.loc(next), buffer_.describe(*before_), header.line);
    report.label(header, "the block belongs to this");
    report.fix("write 'pass' for a block that does nothing", colon_.behind(), " pass");
  }
  out_.push_back(mark(TokenKind::MissingBlock, next));
}

/// A line deeper than the one before; false when it is to be left out.
bool Layout::deeper(const Indentation& indentation, const Token& first) {
  bool is_block = before_end_ == LineEnd::AwaitsBlock || before_end_ == LineEnd::BrokenHeader;
  if (is_block && depth_ >= max_indentation_depth) {
    diagnostics_.report(diag::unsupported_indentation_depth, buffer_.loc(first),
                        max_indentation_depth);
    out_.push_back(mark(TokenKind::MissingBlock, first));
    skip_deeper_than_ = levels_.back().width;
    before_end_ = LineEnd::Complete;
    return false;
  }
  if (is_block) {
    levels_.push_back({indentation.width, indentation.tabs, buffer_.loc(*before_)});
    ++depth_;
    out_.push_back(mark(TokenKind::Indent, first));
    return true;
  }
  // The line is taken as if it began where it should, and so are others that begin where it does.
  if (stray_width_ != indentation.width && before_end_ != LineEnd::Broken && !width_is_vague_) {
    Loc place = buffer_.loc(first);
    Loc indent{place.file, place.line, 1, place.column - 1};
    diagnostics_.report(diag::unexpected_indent, place)
        .fix("indent it like the line before", indent, std::string(levels_.back().width, ' '));
  }
  stray_width_ = indentation.width;
  return true;
}

void Layout::shallower(const Indentation& indentation, const Token& first) {
  while (levels_.back().width > indentation.width) {
    // A line between two blocks is taken as one of the inner that has lost some spaces.
    if (levels_[levels_.size() - 2].width < indentation.width) break;
    out_.push_back(mark(TokenKind::Dedent, first));
    --depth_;
    levels_.pop_back();
  }
  if (levels_.back().width == indentation.width) {
    stray_width_ = UINT32_MAX;
    return;
  }
  if (stray_width_ != indentation.width && !width_is_vague_) {
    diagnostics_.report(diag::inconsistent_dedent, buffer_.loc(first))
        .label(levels_.back().header, "the block of this is indented more");
  }
  stray_width_ = indentation.width;
}

/// Checks that a statement may begin so; if not, an Error goes first and the parser passes over it.
void Layout::start_statement(const Token& first) {
  Level& level = levels_.back();
  bool is_branch = first.kind == TokenKind::Elif || first.kind == TokenKind::Else;
  if (is_branch && !level.after_if) {
    diagnostics_.report(diag::branch_without_if, buffer_.loc(first), buffer_.describe(first));
  } else if (!begins_statement(first.kind) && first.kind != TokenKind::Error) {
    diagnostics_.report(diag::unexpected_at_start, buffer_.loc(first), buffer_.describe(first));
  }
  bool bad = (is_branch && !level.after_if) || !begins_statement(first.kind);
  if (bad && first.kind != TokenKind::Error) out_.push_back(mark(TokenKind::Error, first));
  level.elifs = first.kind == TokenKind::Elif ? level.elifs + 1 : 0;
  level.after_if = first.kind == TokenKind::If || (first.kind == TokenKind::Elif && !bad);
  if (level.elifs != max_elif_chain + 1) return;
  diagnostics_.report(diag::unsupported_chain, buffer_.loc(first), max_elif_chain,
                      "'elif' branches");
}

void Layout::line(const Token* begin, const Token* end) {
  Indentation indentation = measure(buffer_, *begin);
  if (indentation.width > skip_deeper_than_) return;
  skip_deeper_than_ = UINT32_MAX;
  check_tabs(indentation, *begin);
  if (levels_.back().width < indentation.width) {
    if (!deeper(indentation, *begin)) return;
  } else {
    missing_block(*begin);
    shallower(indentation, *begin);
  }
  size_t size_before = out_.size();
  start_statement(*begin);
  bool bad_start = out_.size() != size_before;
  out_.insert(out_.end(), begin, end + 1);
  before_ = begin;
  colon_ = buffer_.loc(*(end - 1));
  before_end_ = bad_start ? LineEnd::Broken : line_end(begin, end);
}

std::vector<Token> Layout::run() {
  const std::vector<Token>& tokens = buffer_.tokens;
  out_.reserve(tokens.size() + tokens.size() / 4 + 2);
  for (size_t at = 0; at < tokens.size();) {
    size_t end = at;
    while (end < tokens.size() && tokens[end].kind != TokenKind::Newline) ++end;
    if (end == tokens.size()) break;
    if (end > at) line(&tokens[at], &tokens[end]);
    at = end + 1;
  }
  Token last{TokenKind::EndOfFile, 0, 0, 0, 0};
  if (!tokens.empty()) {
    last = tokens.back();
    last = {TokenKind::EndOfFile, last.file, last.offset + last.length, 0, 0};
  }
  missing_block(last);
  for (size_t i = 0; i < depth_; ++i) out_.push_back(mark(TokenKind::Dedent, last));
  out_.push_back(last);
  return std::move(out_);
}

}  // namespace

void lay_out(TokenBuffer& buffer, DiagnosticEngine& diagnostics) {
  buffer.tokens = Layout(buffer, diagnostics).run();
}

}  // namespace tessera
