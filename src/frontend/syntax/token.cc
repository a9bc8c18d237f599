#include "frontend/syntax/token.h"

#include <fmt/format.h>

#include "support/check.h"

namespace tessera {

std::string_view display_name(TokenKind kind) {
  switch (kind) {
    case TokenKind::EndOfFile: return "the end of the file";
#define TOKEN(name, grammar_name, display) \
  case TokenKind::name:                    \
    return display;
#include "frontend/syntax/token_kinds.def"
#undef TOKEN
  }
  TSR_UNREACHABLE("bad token kind");
}

bool is_trivia(TokenKind kind) {
  return kind == TokenKind::Space || kind == TokenKind::Comment || kind == TokenKind::Newline ||
         kind == TokenKind::Continuation;
}

namespace {

/// Names, numbers and the like: what is an operand by itself.
bool is_whole_operand(TokenKind kind) {
  switch (kind) {
    case TokenKind::Name:
    case TokenKind::Integer:
    case TokenKind::Float:
    case TokenKind::String:
    case TokenKind::True:
    case TokenKind::False:
    case TokenKind::None:
    case TokenKind::Ellipsis: return true;
    default: return false;
  }
}

}  // namespace

bool ends_operand(TokenKind kind) {
  return is_whole_operand(kind) || kind == TokenKind::Error || is_closing(kind);
}

bool starts_operand(TokenKind kind) {
  return is_whole_operand(kind) || kind == TokenKind::Lambda || kind == TokenKind::Not ||
         kind == TokenKind::Tilde || is_opening(kind);
}

bool begins_compound(TokenKind kind) {
  switch (kind) {
    case TokenKind::Def:
    case TokenKind::Module:
    case TokenKind::If:
    case TokenKind::Elif:
    case TokenKind::Else:
    case TokenKind::For:
    case TokenKind::While:
    case TokenKind::With:
    case TokenKind::On: return true;
    default: return false;
  }
}

bool is_keyword(TokenKind kind) {
  return kind >= TokenKind::And && kind <= TokenKind::With;
}

bool is_opening(TokenKind kind) {
  return kind == TokenKind::Lparen || kind == TokenKind::Lbracket || kind == TokenKind::Lbrace;
}

bool is_closing(TokenKind kind) {
  return kind == TokenKind::Rparen || kind == TokenKind::Rbracket || kind == TokenKind::Rbrace;
}

TokenKind closing_of(TokenKind opening) {
  if (opening == TokenKind::Lparen) return TokenKind::Rparen;
  if (opening == TokenKind::Lbracket) return TokenKind::Rbracket;
  TSR_CHECK(opening == TokenKind::Lbrace, "not an opening bracket");
  return TokenKind::Rbrace;
}

Loc TokenBuffer::loc(const Token& token) const {
  if (token.expansion != 0) {
    const Expansion& use = expansions_[token.expansion];
    return sources_->file(use.file).locate(use.file, use.offset, use.length);
  }
  return sources_->file(token.file).locate(token.file, token.offset, token.length);
}

Loc TokenBuffer::span(const Token& first, const Token& last) const {
  Loc place = loc(first);
  if (first.expansion == 0 && last.expansion == 0 && first.file == last.file &&
      last.offset >= first.offset) {
    place.length = last.offset + last.length - first.offset;
  }
  return place;
}

std::string TokenBuffer::describe(const Token& token) const {
  switch (token.kind) {
    case TokenKind::EndOfFile:
    case TokenKind::Newline:
    case TokenKind::Indent:
    case TokenKind::Dedent:
    case TokenKind::MissingBlock:
    case TokenKind::Error: return std::string(display_name(token.kind));
    default: break;
  }
  constexpr size_t widest = 40;
  std::string_view shown = text(token);
  if (token.kind == TokenKind::String || shown.size() > widest) {
    return std::string(display_name(token.kind));
  }
  return fmt::format("'{}'", shown);
}

uint32_t TokenBuffer::add_expansion(const Expansion& expansion) {
  expansions_.push_back(expansion);
  return uint32_t(expansions_.size() - 1);
}

}  // namespace tessera
