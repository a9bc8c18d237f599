#include "frontend/syntax/brackets.h"

#include <algorithm>

namespace tessera {

bool BracketTracker::accept_closing(const Token& token) {
  if (open_.empty()) {
    if (spoilt_) return true;
    diagnostics_.report(diag::unmatched_closing, buffer_.loc(token), display_name(token.kind));
    spoilt_ = true;
    return false;
  }
  Open last = open_.back();
  open_.pop_back();
  if (spoilt_ || closing_of(last.kind) == token.kind) return true;
  // When the bracket closes one further out, those inside it are taken as closed too.
  auto outer = std::find_if(open_.rbegin(), open_.rend(),
                            [&](const Open& open) { return closing_of(open.kind) == token.kind; });
  if (outer != open_.rend()) open_.erase(outer.base() - 1, open_.end());
  diagnostics_
      .report(diag::mismatched_bracket, buffer_.loc(token), display_name(token.kind),
              display_name(last.kind), last.loc.line)
      .note(last.loc, "opened here");
  spoilt_ = true;
  return false;
}

bool BracketTracker::accept(const Token& token) {
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

bool BracketTracker::end_line(Loc next) {
  bool first_mistake = !open_.empty() && !spoilt_;
  if (first_mistake) {
    const Open& last = open_.back();
    diagnostics_
        .report(diag::unclosed_bracket, next, display_name(closing_of(last.kind)),
                display_name(last.kind), last.loc.line)
        .note(last.loc, "opened here");
  }
  open_.clear();
  spoilt_ = false;
  return !first_mistake;
}

}  // namespace tessera
