#include "frontend/syntax/brackets.h"
#include "support/diagnostic_rows.h"

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
  if (last.end.known() && !closed_late_) closed_late_ = last;
  if (spoilt_ || closing_of(last.kind) == token.kind) return true;
  // When the bracket closes one further out, those inside it are taken as closed too.
  auto outer = std::find_if(open_.rbegin(), open_.rend(),
                            [&](const Open& open) { return closing_of(open.kind) == token.kind; });
  std::string_view right = display_name(closing_of(last.kind));
  Loc place = buffer_.loc(token);
  if (last.end.known() && outer != open_.rend()) {
    Loc end = last.end;
    end.length = 1;
    diagnostics_.report(diag::unclosed_bracket, end, right, display_name(last.kind))
        .label(last.loc, "opened here")
        .fix(fmt::format("write {}", right), last.end, bracket_text(closing_of(last.kind)));
    open_.erase(outer.base() - 1, open_.end());
    spoilt_ = true;
    return false;
  }
  auto report = diagnostics_.report(diag::mismatched_bracket, place, display_name(token.kind), display_name(last.kind));
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

/// `for (int i = 0; i < n; i++)`: no bracket here holds a ';'.
bool BracketTracker::refuse_count(const Token& token) {
  bool is_count = token.kind == TokenKind::Semicolon && !open_.empty() && !spoilt_ && first_kind_ == TokenKind::For;
  if (!is_count) return false;
  diagnostics_.report(diag::expected_token, buffer_.loc(token), "'in'", "';'")
      .help("a loop has a range: for i in range(4):");
  spoilt_ = true;
  return true;
}

/// `def f(x) {`: no operand is followed by a brace.
bool BracketTracker::refuse_block(const Token& token) {
  bool is_block = token.kind == TokenKind::Lbrace && open_.empty() && begins_compound(first_kind_) &&
                  (ends_operand(last_kind_) || last_kind_ == TokenKind::Else);
  if (!is_block) return false;
  if (spoilt_) return ++blocks_, true;
  Loc loc = buffer_.loc(token);
  Loc gap{loc.file, loc.line, last_.column + last_.length, 0};
  gap.length = last_.line == loc.line ? loc.column + loc.length - gap.column : loc.length;
  diagnostics_.report(diag::expected_token, loc, "':'", "'{'")
      .fix("a block is indented below a line that ends in ':'", last_.line == loc.line ? gap : loc, ":");
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
  if (is_below && !inner.end.known()) inner.end = before_last_;
}

/// Notes what can stand in no bracket that is open, or not in the innermost: those were to close before it.
void BracketTracker::find_end(const Token& token) {
  ended_ = std::min(ended_, open_.size());
  if (open_.empty()) return;
  bool is_operand_left = ends_operand(last_kind_);
  bool is_statement = token.kind == TokenKind::Return || token.kind == TokenKind::Pass;
  bool is_block = is_head_ && is_statement && last_kind_ == TokenKind::Colon;
  bool is_clause = token.kind == TokenKind::Name && first_kind_ == TokenKind::Def && is_operand_left;
  bool ends_all = token.kind == TokenKind::Arrow || is_block || (is_clause && buffer_.text(token) == "where");
  for (; ends_all && ended_ < open_.size(); ++ended_) {
    Open& open = open_[ended_];
    if (!open.end.known()) open.end = is_block ? before_last_ : last_.behind();
  }
  Open& inner = open_.back();
  if (token.kind == TokenKind::If) ++inner.conditions;
  bool is_else = token.kind == TokenKind::Else && is_operand_left;
  bool is_value = token.kind == TokenKind::Assign && inner.kind == TokenKind::Lbracket;
  bool ends_inner = is_else ? inner.conditions == 0 : is_value;
  if (ends_inner && !inner.end.known()) inner.end = last_.behind();
  if (is_else && inner.conditions > 0) --inner.conditions;
}

bool BracketTracker::accept(const Token& token) {
  Loc loc = buffer_.loc(token);
  if (!first_.known()) {
    first_ = loc;
    first_kind_ = token.kind;
    is_head_ = begins_compound(token.kind) || (token.kind == TokenKind::Name && buffer_.text(token) == "module");
  }
  follow_layout(token, loc);
  if (!open_.empty() && open_.back().content == 0) open_.back().content = loc.column;
  if (refuse_block(token) || refuse_count(token)) return false;
  find_end(token);
  before_last_ = last_.behind();
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

/// Reports the innermost bracket, and closes all that are open.
void BracketTracker::report_unclosed() {
  // What closed a bracket that should have ended before may belong to the one around it.
  bool is_late = !open_.back().end.known() && closed_late_ && closed_late_->kind == open_.back().kind;
  if (is_late) open_.back() = *closed_late_;
  Loc place = is_head_ && last_kind_ == TokenKind::Colon ? before_last_ : last_.behind();
  std::string all;
  std::vector<Edit> edits;
  for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
    std::string text = bracket_text(closing_of(open->kind));
    Loc end = open->end.known() ? open->end : place;
    all += text;
    if (!edits.empty() && edits.back().loc == end) {
      edits.back().replacement += text;
    } else {
      edits.push_back({end, text});
    }
  }
  const Open& last = open_.back();
  Loc seen = edits.front().loc;
  seen.length = 1;
  std::string_view closing = display_name(closing_of(last.kind));
  auto report = diagnostics_.report(diag::unclosed_bracket, seen, closing, display_name(last.kind));
  report.label(last.loc, "opened here");
  bool is_empty = last.loc == last_;  // nothing was meant to stand in it
  if (!is_empty) report.fix(fmt::format("write '{}'", all), std::move(edits));
}

bool BracketTracker::end_line() {
  bool first_error = !open_.empty() && !spoilt_;
  if (first_error) report_unclosed();
  open_.clear();
  closed_late_.reset();
  spoilt_ = false;
  first_ = {};
  return !first_error;
}

}  // namespace tessera
