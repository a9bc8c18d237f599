#include "lsp/features/cursor.h"

namespace tessera::lsp {

Cursor::Cursor(const FileModel& file, uint32_t offset) {
  piece_ = file.piece_at(offset);
  // Between two pieces the cursor goes on with what is above, unless it touches what is below.
  if (!piece_) return;
  offset_ = offset - piece_->begin;
  bool line_open = false;
  BracketDepth depth;
  for (const RawToken& token : piece_->tokens) {
    if (token.offset >= offset_) break;
    uint32_t end = token.offset + token.length;
    bool inside = end > offset_ || (end == offset_ && (token.kind == TokenKind::Comment ||
                                                       token.kind == TokenKind::UnterminatedString));
    bool is_text = token.kind == TokenKind::String || token.kind == TokenKind::UnterminatedString ||
                   token.kind == TokenKind::Comment;
    in_text_ = inside && is_text;
    in_directive_ = token.role == TokenRole::Directive;
    bool word = token.kind == TokenKind::Name || is_keyword(token.kind);
    if (end >= offset_ && word) {
      prefix_ = piece_->text().substr(token.offset, offset_ - token.offset);
      break;
    }
    if (token.kind == TokenKind::Newline && !depth.is_inside()) line_open = false;
    if (is_trivia(token.kind) || token.role == TokenRole::Inactive) continue;
    if (!line_open) line_begin_ = before_.size();
    line_open = true;
    depth.take(token.kind);
    before_.push_back(&token);
  }
  if (!line_open) line_begin_ = before_.size();
  read_brackets();
}

void Cursor::read_brackets() {
  for (size_t i = 0; i < before_.size(); ++i) {
    const RawToken& token = *before_[i];
    BracketStep step = brackets_.take(token.kind);
    if (step == BracketStep::Opens) {
      OpenBracket& open = brackets_.innermost();
      open.kind = token.kind;
      open.offset = token.offset;
      open.before = int32_t(i) - 1;
      TokenKind word = i >= 2 ? before_[i - 2]->kind : TokenKind::EndOfFile;
      open.declares = token.kind == TokenKind::Lparen && (word == TokenKind::Def || word == TokenKind::Module);
    } else if (step == BracketStep::Closes) {
      closed_[i] = brackets_.closed().before;
    } else if (brackets_.is_inside()) {
      read_argument(brackets_.innermost(), i);
    }
  }
}

/// The token is in the innermost bracket.
void Cursor::read_argument(OpenBracket& open, size_t index) {
  TokenKind kind = before_[index]->kind;
  if (kind == TokenKind::Lambda) {
    ++open.lambdas;
  } else if (open.lambdas > 0) {
    if (kind == TokenKind::Colon) --open.lambdas;
  } else if (kind == TokenKind::Comma) {
    ++open.commas;
    if (open.given.empty()) open.by_place = open.commas;
    open.keyword.clear();
    open.has_colon = false;
  } else if (kind == TokenKind::Colon) {
    open.has_colon = true;
  } else if (kind == TokenKind::Assign) {
    open.has_colon = false;
    bool names = index > 0 && before_[index - 1]->kind == TokenKind::Name;
    if (!names) return;
    open.keyword = piece_->text(*before_[index - 1]);
    open.given.push_back(open.keyword);
  }
}

int32_t Cursor::before_bracket(size_t index) const {
  auto found = closed_.find(index);
  return found == closed_.end() ? -1 : found->second;
}

std::string_view Cursor::last_text(size_t back) const {
  return back < before_.size() ? piece_->text(*before_[before_.size() - 1 - back]) : std::string_view();
}

TokenKind Cursor::line_kind() const {
  return line_begin_ < before_.size() ? before_[line_begin_]->kind : TokenKind::EndOfFile;
}

}  // namespace tessera::lsp
