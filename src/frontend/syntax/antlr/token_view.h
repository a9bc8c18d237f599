#pragma once
// Our tokens as ANTLR sees them. Private to the parser: includes ANTLR.

#include <antlr4-runtime.h>

#include <span>
#include <vector>

#include "frontend/syntax/token.h"

namespace tessera {

/// A token of the declaration being parsed: its kind, and its number in the TokenBuffer. Tokens the
/// error strategy makes up have the number INVALID_INDEX.
class ViewToken final : public antlr4::Token {
 public:
  ViewToken(size_t type, size_t index, size_t buffer_index)
      : type_(type), index_(index), buffer_index_(buffer_index) {}

  size_t buffer_index() const { return buffer_index_; }

  std::string getText() const override { return {}; }
  size_t getType() const override { return type_; }
  size_t getLine() const override { return 0; }
  size_t getCharPositionInLine() const override { return 0; }
  size_t getChannel() const override { return DEFAULT_CHANNEL; }
  size_t getTokenIndex() const override { return index_; }
  size_t getStartIndex() const override { return 0; }
  size_t getStopIndex() const override { return 0; }
  antlr4::TokenSource* getTokenSource() const override { return nullptr; }
  antlr4::CharStream* getInputStream() const override { return nullptr; }
  std::string toString() const override { return {}; }

 private:
  size_t type_;
  size_t index_;
  size_t buffer_index_;
};

/// The tokens [begin, end) of a buffer, then EOF.
class TokenView final : public antlr4::TokenStream {
 public:
  explicit TokenView(const TokenBuffer& buffer) : buffer_(buffer) {}

  /// Moves on to another declaration.
  void assign(size_t begin, size_t end);

  antlr4::Token* LT(ssize_t k) override;
  antlr4::Token* get(size_t index) const override { return at(index); }
  antlr4::TokenSource* getTokenSource() const override { return nullptr; }
  std::string getText(const antlr4::misc::Interval&) override { return {}; }
  std::string getText() override { return {}; }
  std::string getText(antlr4::RuleContext*) override { return {}; }
  std::string getText(antlr4::Token*, antlr4::Token*) override { return {}; }
  void consume() override { ++index_; }
  size_t LA(ssize_t i) override;
  ssize_t mark() override { return 0; }
  void release(ssize_t) override {}
  size_t index() override { return index_; }
  void seek(size_t index) override { index_ = index; }
  size_t size() override { return tokens_.size(); }
  std::string getSourceName() const override { return {}; }

 private:
  ViewToken* at(size_t index) const {
    return const_cast<ViewToken*>(&tokens_[std::min(index, tokens_.size() - 1)]);
  }

  const TokenBuffer& buffer_;
  std::vector<ViewToken> tokens_;
  size_t index_ = 0;
};

inline const ViewToken& view(const antlr4::Token* token) {
  return *static_cast<const ViewToken*>(token);
}

}  // namespace tessera
