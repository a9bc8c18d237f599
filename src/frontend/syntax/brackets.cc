#include "frontend/syntax/brackets.h"

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

bool BracketTracker::gives_up_at(TokenKind kind, bool starts_physical_line) const {
  if (!starts_physical_line || open_.empty()) return false;
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
