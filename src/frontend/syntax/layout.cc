#include "frontend/syntax/layout.h"

#include <algorithm>
#include <map>
#include <optional>

#include "frontend/syntax/brackets.h"
#include "frontend/syntax/utf8.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

/// The white space before the first token of a line.
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
  Indentation found;
  for (uint32_t begin = offset; begin > 0; ++found.width) {
    char last = text[begin - 1];
    bool is_plain = last == ' ' || last == '\t';
    bool is_two = begin >= 2 && !blank_name(text.substr(begin - 2, 2)).empty();
    bool is_three = begin >= 3 && !blank_name(text.substr(begin - 3, 3)).empty();
    if (!is_plain && !is_two && !is_three) break;
    begin -= is_plain ? 1 : is_two ? 2 : 3;
    (last == '\t' ? found.tabs : found.spaces) = true;
  }
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

/// The state that a line leaves for the next.
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
  bool block_here = false;
  BracketDepth brackets;
  size_t lambdas = 0;
  for (const Token* at = begin; at != end; ++at) {
    broken |= at->kind == TokenKind::Error;
    brackets.take(at->kind);
    if (brackets.is_inside()) continue;
    if (at->kind == TokenKind::Lambda) ++lambdas;
    if (at->kind != TokenKind::Colon) continue;
    if (lambdas != 0) {
      --lambdas;
    } else {
      block_here = true;
    }
  }
  bool may_lack_block = (block_here && !broken) || begin->kind == TokenKind::On;
  if (compound) return may_lack_block ? LineEnd::Complete : LineEnd::BrokenHeader;
  return broken ? LineEnd::Broken : LineEnd::Complete;
}

class Layout {
 public:
  Layout(TokenBuffer& buffer, DiagnosticEngine& diagnostics)
      : buffer_(buffer), diagnostics_(diagnostics) {}

  std::vector<Token> run();

 private:
  /// A logical line.
  struct Line {
    const Token* begin;
    const Token* end;
    Indentation indentation;

    uint32_t width() const { return indentation.width; }
  };
  struct Level {
    uint32_t width;
    bool tabs;
    Loc header = {};  ///< the first token of the line that the block belongs to
    size_t elifs = 0;
    bool after_if = false;  ///< the statement before is an `if` that `else` can continue
  };
  Token mark(TokenKind kind, const Token& at) const { return {kind, at.file, at.offset, 0, 0}; }
  void read_lines();
  void line(size_t at);
  void check_tabs(const Indentation& indentation, const Token& first);
  bool deeper(size_t at);
  void shallower(size_t at);
  /// Whether a line is one that a block follows.
  bool is_header(const Line& line) const {
    LineEnd end = line_end(line.begin, line.end);
    return end == LineEnd::AwaitsBlock || end == LineEnd::BrokenHeader;
  }
  std::optional<uint32_t> width_of_neighbours(size_t at) const;
  std::optional<uint32_t> width_of_block(size_t at, uint32_t header) const;
  std::optional<uint32_t> width_of_rest(size_t at) const;
  void open_block(uint32_t width, size_t at);
  void report_misaligned(size_t at, uint32_t width);
  void report_unindented(size_t at, uint32_t width);
  void missing_block(const Token& next);
  void start_statement(const Token& first, TokenKind second);
  Token mend_else_if(const Line& line);

  TokenBuffer& buffer_;
  DiagnosticEngine& diagnostics_;
  std::vector<Token> out_;
  std::vector<Line> lines_;
  uint32_t step_ = 4;  ///< by which most blocks are indented
  std::vector<Level> levels_{{0, false}};
  size_t depth_ = 0;  ///< blocks
  const Token* before_ = nullptr;  ///< first token of the line before
  Loc colon_;                      ///< the last token of the line before, which may be one
  LineEnd before_end_ = LineEnd::Complete;
  uint32_t skip_deeper_than_ = UINT32_MAX;
  uint32_t stray_width_ = UINT32_MAX;  ///< where a line began that no block begins, which is reported
  bool tabs_reported_ = false;
  bool width_is_vague_ = false;  ///< the line's tabs and spaces do not compare with those above
  bool is_reported_ = false;     ///< the indentation of the line is wrong, which is said
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
    auto report = diagnostics_.report(diag::expected_block, buffer_.loc(next), buffer_.describe(*before_));
    report.label(header, "the block belongs to this");
    Loc place = buffer_.loc(next);
    bool is_of_function = next.kind == TokenKind::Return && place.line > header.line;
    if (is_of_function) {
      std::string indent(header.column + 3, ' ');
      report.fix("the lines of a block are indented", {place.file, place.line, 1, place.column - 1}, indent);
    } else {
      report.fix("write 'pass' for a block that does nothing", colon_.behind(), " pass");
    }
  }
  out_.push_back(mark(TokenKind::MissingBlock, next));
}

void Layout::report_unindented(size_t at, uint32_t width) {
  Loc place = buffer_.loc(*lines_[at].begin), header = buffer_.loc(*before_);
  Loc indent{place.file, place.line, 1, place.column - 1};
  diagnostics_.report(diag::expected_block, place, buffer_.describe(*before_))
      .label(header, "the block belongs to this")
      .fix("indent it like the lines below it", indent, std::string(width, ' '));
  is_reported_ = true;
}

void Layout::report_misaligned(size_t at, uint32_t width) {
  Loc place = buffer_.loc(*lines_[at].begin);
  Loc indent{place.file, place.line, 1, place.column - 1};
  std::string_view where = lines_[at].width() < width ? "left of its block, which goes on below it"
                                                      : "right of its block, which goes on below it";
  diagnostics_.report(diag::misplaced_statement, place, "the line", where)
      .fix("indent it like the lines around it", indent, std::string(width, ' '));
  is_reported_ = true;
}

/// For a line that leaves blocks: the width of the one that it has fallen out of, which goes on after it.
std::optional<uint32_t> Layout::width_of_neighbours(size_t at) const {
  uint32_t width = lines_[at].width();
  TokenKind last = before_->kind;
  bool is_over = last == TokenKind::Return || last == TokenKind::Pass;
  if (is_over || at + 1 == lines_.size()) return std::nullopt;
  auto is_left = [&](uint32_t w) {
    auto is_here = [&](const Level& level) { return level.width == w; };
    return w > width && std::any_of(levels_.begin(), levels_.end(), is_here);
  };
  uint32_t next = lines_[at + 1].width();
  if (line_end(lines_[at].begin, lines_[at].end) == LineEnd::Broken) return std::nullopt;
  if (!is_header(lines_[at])) return is_left(next) ? std::optional(next) : std::nullopt;
  // A definition that is followed by a block of two widths may as well stand where it should.
  TokenKind first = lines_[at].begin->kind;
  for (size_t i = at + 1; i < lines_.size() && lines_[i].width() > width; ++i) {
    uint32_t here = lines_[i].width();
    if (here >= next) continue;
    bool fits = first != TokenKind::Def && first != TokenKind::Module && next - here == step_ && is_left(here);
    return fits ? std::optional(here) : std::nullopt;
  }
  return std::nullopt;
}

/// For the first line of a block: the width of most lines that follow in it, where these are indented less.
std::optional<uint32_t> Layout::width_of_block(size_t at, uint32_t header) const {
  uint32_t width = lines_[at].width();
  size_t i = at, before = 0, after = 0;
  for (; i < lines_.size() && lines_[i].width() >= width; ++i) before += lines_[i].width() == width;
  if (i == lines_.size() || lines_[i].width() <= header) return std::nullopt;
  uint32_t other = lines_[i].width();
  for (; i < lines_.size() && lines_[i].width() > header; ++i) after += lines_[i].width() == other;
  bool is_usual = other - header == step_ && width - header != step_;
  return after > before || (after == before && is_usual) ? std::optional(other) : std::nullopt;
}

/// For a line that should begin a block and stands where the block's header does: the width of the lines below it.
std::optional<uint32_t> Layout::width_of_rest(size_t at) const {
  bool is_first = before_end_ == LineEnd::AwaitsBlock && lines_[at].width() == levels_.back().width;
  if (!is_first || at + 1 == lines_.size() || depth_ >= max_indentation_depth || width_is_vague_) return std::nullopt;
  if (line_end(lines_[at].begin, lines_[at].end) != LineEnd::Complete) return std::nullopt;
  uint32_t next = lines_[at + 1].width();
  return next > lines_[at].width() ? std::optional(next) : std::nullopt;
}

void Layout::open_block(uint32_t width, size_t at) {
  levels_.push_back({width, lines_[at].indentation.tabs, buffer_.loc(*before_)});
  ++depth_;
  out_.push_back(mark(TokenKind::Indent, *lines_[at].begin));
}

/// A line deeper than the one before; false when it is to be left out.
bool Layout::deeper(size_t at) {
  const Indentation& indentation = lines_[at].indentation;
  const Token& first = *lines_[at].begin;
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
    std::optional<uint32_t> usual = width_is_vague_ ? std::nullopt : width_of_block(at, levels_.back().width);
    if (usual) {
      report_misaligned(at, *usual);
      stray_width_ = indentation.width;
    }
    open_block(usual.value_or(indentation.width), at);
    return true;
  }
  // The line is taken as if it began where it should, and so are others that begin where it does.
  if (stray_width_ != indentation.width && before_end_ != LineEnd::Broken && !width_is_vague_) {
    Loc place = buffer_.loc(first);
    Loc indent{place.file, place.line, 1, place.column - 1};
    diagnostics_.report(diag::unexpected_indent, place)
        .fix("indent it like the line before", indent, std::string(levels_.back().width, ' '));
    is_reported_ = true;
  }
  stray_width_ = indentation.width;
  return true;
}

void Layout::shallower(size_t at) {
  const Indentation& indentation = lines_[at].indentation;
  const Token& first = *lines_[at].begin;
  bool leaves = levels_.back().width > indentation.width && !width_is_vague_;
  std::optional<uint32_t> neighbours = leaves ? width_of_neighbours(at) : std::nullopt;
  if (neighbours) report_misaligned(at, *neighbours);
  uint32_t width = neighbours.value_or(indentation.width);
  uint32_t next = at + 1 < lines_.size() ? lines_[at + 1].width() : 0;
  while (levels_.back().width > width) {
    // A line between two blocks is taken as one of the inner that has lost some spaces, unless its own block is one of
    // the outer's.
    bool is_outer = is_header(lines_[at]) && next > width && next <= levels_.back().width;
    if (levels_[levels_.size() - 2].width < width && !is_outer) break;
    out_.push_back(mark(TokenKind::Dedent, first));
    --depth_;
    levels_.pop_back();
  }
  if (levels_.back().width == width) {
    stray_width_ = UINT32_MAX;
    return;
  }
  if (stray_width_ != width && !width_is_vague_) {
    diagnostics_.report(diag::inconsistent_dedent, buffer_.loc(first))
        .label(levels_.back().header, "the block of this is indented more");
    is_reported_ = true;
  }
  stray_width_ = width;
}

/// Checks that a statement may begin so; if not, an Error goes first and the parser passes over it.
void Layout::start_statement(const Token& first, TokenKind second) {
  Level& level = levels_.back();
  bool is_branch = first.kind == TokenKind::Elif || first.kind == TokenKind::Else;
  if (is_reported_) {
    // One message is enough for a line.
  } else if (is_branch && !level.after_if) {
    diagnostics_.report(diag::branch_without_if, buffer_.loc(first), buffer_.describe(first));
  } else if (is_keyword(first.kind) && !begins_statement(first.kind) && second == TokenKind::Assign) {
    diagnostics_.report(diag::keyword_as_name, buffer_.loc(first), display_name(first.kind));
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

/// `else if x:` is read as the branch that it means; gives the word that begins the line then.
Token Layout::mend_else_if(const Line& line) {
  Token first = *line.begin;
  const Token* next = line.begin + 1;
  if (first.kind != TokenKind::Else || next->kind != TokenKind::If || !levels_.back().after_if) return first;
  Loc place = buffer_.loc(first), loc = buffer_.loc(*next);
  diagnostics_.report(diag::expected_token, loc, "':'", buffer_.describe(*next))
      .fix("write 'elif'", place.line == loc.line ? buffer_.span(first, *next) : loc, "elif");
  first.kind = TokenKind::Elif;
  return first;
}

void Layout::line(size_t at) {
  const Line& line = lines_[at];
  if (line.width() > skip_deeper_than_) return;
  skip_deeper_than_ = UINT32_MAX;
  is_reported_ = false;
  check_tabs(line.indentation, *line.begin);
  if (levels_.back().width < line.width()) {
    if (!deeper(at)) return;
  } else if (std::optional<uint32_t> rest = width_of_rest(at)) {
    report_unindented(at, *rest);
    open_block(*rest, at);
  } else {
    missing_block(*line.begin);
    shallower(at);
  }
  size_t size_before = out_.size();
  Token first = mend_else_if(line);
  start_statement(first, (line.begin + 1)->kind);
  bool bad_start = out_.size() != size_before;
  bool is_mended = first.kind != line.begin->kind;
  out_.push_back(first);
  out_.insert(out_.end(), line.begin + (is_mended ? 2 : 1), line.end + 1);
  before_ = line.begin;
  colon_ = buffer_.loc(*(line.end - 1));
  before_end_ = bad_start ? LineEnd::Broken : line_end(line.begin, line.end);
}

void Layout::read_lines() {
  const std::vector<Token>& tokens = buffer_.tokens;
  for (size_t at = 0; at < tokens.size();) {
    size_t end = at;
    while (end < tokens.size() && tokens[end].kind != TokenKind::Newline) ++end;
    if (end == tokens.size()) break;
    if (end > at) lines_.push_back({&tokens[at], &tokens[end], measure(buffer_, tokens[at])});
    at = end + 1;
  }
  std::map<uint32_t, size_t> steps;
  for (size_t i = 0; i + 1 < lines_.size(); ++i) {
    bool is_block = lines_[i + 1].width() > lines_[i].width() && is_header(lines_[i]);
    if (is_block) ++steps[lines_[i + 1].width() - lines_[i].width()];
  }
  for (const auto& [step, count] : steps) {
    if (count > steps[step_]) step_ = step;
  }
}

std::vector<Token> Layout::run() {
  const std::vector<Token>& tokens = buffer_.tokens;
  out_.reserve(tokens.size() + tokens.size() / 4 + 2);
  read_lines();
  for (size_t at = 0; at < lines_.size(); ++at) line(at);
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
