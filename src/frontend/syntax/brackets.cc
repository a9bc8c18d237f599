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
    diagnostics_.report(diag::unmatched_closing, buffer_.loc(token), display_name(token.kind))
        .help("leave it out, or open it before");
    spoilt_ = true;
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

bool BracketTracker::accept(const Token& token) {
  last_ = buffer_.loc(token);
  if (is_closing(token.kind)) return accept_closing(token);
  if (!is_opening(token.kind)) return true;
  open_.push_back({token.kind, buffer_.loc(token)});
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
  return !first_mistake;
}

}  // namespace tessera
