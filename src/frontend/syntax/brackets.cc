#include "frontend/syntax/brackets.h"

#include <algorithm>

namespace tessera {

namespace {

/// The bracket as a source has it.
std::string bracket_text(TokenKind kind) {
  std::string_view quoted = display_name(kind);
  return std::string(quoted.substr(1, quoted.size() - 2));
}

}  // namespace

bool BracketTracker::accept_closing(const Token& token) {
  if (open_.empty()) {
    if (spoilt_) return true;
    spoilt_ = true;
    if (token.kind == TokenKind::Rbrace && blocks_ > 0) {
      --blocks_;
      return false;
    }
    Loc loc = buffer_.loc(token);
    auto report = diagnostics_.report(diag::unmatched_closing, loc, display_name(token.kind));
    if (first_.known() && first_.line != loc.line) report.label(first_, "the statement begins here");
    report.help("leave it out, or open it before");
    return false;
  }
  Open last = open_.back();
  open_.pop_back();
  if (spoilt_ || closing_of(last.kind) == token.kind) return true;
  // When the bracket closes one further out, those inside it are taken as closed too.
  auto outer = std::find_if(open_.rbegin(), open_.rend(),
                            [&](const Open& open) { return closing_of(open.kind) == token.kind; });
  std::string_view right = display_name(closing_of(last.kind));
  Loc place = buffer_.loc(token);
  if (last.end.known() && outer != open_.rend()) {
    Loc end = last.end;
    end.length = 1;
    diagnostics_.report(diag::unclosed_bracket, end, right, display_name(last.kind), last.loc.line)
        .label(last.loc, "opened here")
        .fix(fmt::format("write {}", right), last.end, bracket_text(closing_of(last.kind)));
    open_.erase(outer.base() - 1, open_.end());
    spoilt_ = true;
    return false;
  }
  auto report = diagnostics_.report(diag::mismatched_bracket, place, display_name(token.kind),
                                    display_name(last.kind), last.loc.line);
  report.label(last.loc, "opened here");
  if (outer != open_.rend()) {
    open_.erase(outer.base() - 1, open_.end());
    report.fix(fmt::format("write {} before it", right), place.before(), bracket_text(closing_of(last.kind)));
  } else {
    open_.push_back(last);  // the one that it closes is missing, or it is the wrong one
  }
  spoilt_ = true;
  return false;
}

/// `def f(x) {`: no operand is followed by a brace.
bool BracketTracker::refuse_block(const Token& token) {
  bool is_block = token.kind == TokenKind::Lbrace && open_.empty() && !spoilt_ && begins_compound(first_kind_) &&
                  (ends_operand(last_kind_) || last_kind_ == TokenKind::Else);
  if (!is_block) return false;
  Loc loc = buffer_.loc(token);
  Loc gap{loc.file, loc.line, last_.column + last_.length, 0};
  gap.length = last_.line == loc.line ? loc.column + loc.length - gap.column : loc.length;
  diagnostics_.report(diag::expected_token, loc, "':'", "'{'")
      .fix("a block is what is indented below a line that ends in ':'", last_.line == loc.line ? gap : loc, ":");
  ++blocks_;
  spoilt_ = true;
  return true;
}

/// The first token of a line that lies below what stands in an outer bracket, behind a comma: those inside of that one
/// were to close before.
void BracketTracker::follow_layout(const Token& token, Loc loc) {
  bool is_new_line = last_.known() && loc.line != last_.line && loc.file == last_.file;
  if (!is_new_line || open_.size() < 2 || last_kind_ != TokenKind::Comma || is_closing(token.kind)) return;
  Open& inner = open_.back();
  bool is_below = open_[open_.size() - 2].content == loc.column && inner.content != loc.column;
  if (is_below && !inner.end.known()) inner.end = before_comma_;
}

bool BracketTracker::accept(const Token& token) {
  Loc loc = buffer_.loc(token);
  if (!first_.known()) {
    first_ = loc;
    first_kind_ = token.kind;
  }
  follow_layout(token, loc);
  if (!open_.empty() && open_.back().content == 0) open_.back().content = loc.column;
  if (refuse_block(token)) return false;
  before_comma_ = last_.behind();
  last_ = loc;
  last_kind_ = token.kind;
  if (is_closing(token.kind)) return accept_closing(token);
  if (!is_opening(token.kind)) return true;
  open_.push_back({token.kind, loc});
  if (open_.size() <= max_bracket_depth || spoilt_) return true;
  diagnostics_.report(diag::unsupported_bracket_depth, buffer_.loc(token), max_bracket_depth);
  spoilt_ = true;
  return false;
}

bool BracketTracker::gives_up_at(TokenKind kind, TokenKind before, bool is_deeper) const {
  if (open_.empty()) return false;
  bool is_operand = starts_operand(kind) && !is_opening(kind) && kind != TokenKind::String &&
                    kind != TokenKind::Not;
  if (!is_deeper && ends_operand(before) && is_operand) return true;
  return kind == TokenKind::Def || kind == TokenKind::Return || kind == TokenKind::While ||
         kind == TokenKind::With || kind == TokenKind::Pass || kind == TokenKind::From;
}

bool BracketTracker::end_line() {
  bool first_mistake = !open_.empty() && !spoilt_;
  if (first_mistake) {
    const Open& last = open_.back();
    Loc place = last_.behind();
    place.length = 1;
    std::string_view closing = display_name(closing_of(last.kind));
    auto report = diagnostics_.report(diag::unclosed_bracket, place, closing, display_name(last.kind), last.loc.line);
    report.label(last.loc, "opened here");
    bool is_empty = last.loc == last_;  // nothing was meant to stand in it
    if (!is_empty) report.fix(fmt::format("write {}", closing), place.before(), bracket_text(closing_of(last.kind)));
  }
  open_.clear();
  spoilt_ = false;
  first_ = {};
  return !first_mistake;
}

}  // namespace tessera
