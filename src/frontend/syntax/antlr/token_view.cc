#include "frontend/syntax/antlr/token_view.h"

namespace tessera {

void TokenView::assign(size_t begin, size_t end) {
  tokens_.clear();
  tokens_.reserve(end - begin + 1);
  for (size_t i = begin; i < end; ++i) {
    tokens_.emplace_back(size_t(buffer_.tokens[i].kind), tokens_.size(), i);
  }
  tokens_.emplace_back(antlr4::Token::EOF, tokens_.size(), end);
  index_ = 0;
}

antlr4::Token* TokenView::LT(ssize_t k) {
  if (k > 0) return at(index_ + size_t(k) - 1);
  size_t back = size_t(-k);
  return k == 0 || back > index_ ? nullptr : at(index_ - back);
}

size_t TokenView::LA(ssize_t i) {
  antlr4::Token* token = LT(i);
  return token == nullptr ? antlr4::Token::INVALID_TYPE : token->getType();
}

}  // namespace tessera
