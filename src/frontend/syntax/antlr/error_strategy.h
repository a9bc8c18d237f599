#pragma once
// Handles a syntax error: reports one message in our words, then continues at the next place where
// parsing makes sense. Private to the parser: includes ANTLR.
//
// ANTLR would delete or invent single tokens and continue inside the broken expression, so that one
// error gives many messages. Here the exception unwinds to a rule that has a clear end in the token
// stream: a simple statement (`;` or the end of the line), the head of a compound statement (its
// colon, so that the block is parsed all the same), a parameter list (its bracket), a block, a
// statement (its line and block). A line gets no second message.

#include <antlr4-runtime.h>

#include <set>

#include "TesseraParser.h"
#include "frontend/syntax/antlr/token_view.h"
#include "support/diagnostic.h"

namespace tessera {

class ErrorStrategy final : public antlr4::ANTLRErrorStrategy {
 public:
  ErrorStrategy(const TokenBuffer& buffer, TokenView& tokens, DiagnosticEngine& diagnostics)
      : buffer_(buffer), tokens_(tokens), diagnostics_(diagnostics) {}

  /// An error was found since reset, reported here or before the parser.
  bool had_error() const { return had_error_; }

  void reset(antlr4::Parser* parser) override;
  antlr4::Token* recoverInline(antlr4::Parser* parser) override;
  void recover(antlr4::Parser* parser, std::exception_ptr error) override;
  void sync(antlr4::Parser*) override {}
  bool inErrorRecoveryMode(antlr4::Parser*) override { return false; }
  void reportMatch(antlr4::Parser* parser) override;
  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) override;

 private:
  using Kinds = std::vector<TokenKind>;
  /// A token that does not fit, and what stands before it in the declaration.
  struct SyntaxError {
    TokenKind kind = TokenKind::EndOfFile;
    TokenKind before = TokenKind::Newline;
    const Token* last = nullptr;
    bool begins_line = false;  ///< `last` is the first token of its line
    Loc loc;
    std::string found;  ///< the token as a message names it
  };
  TokenKind now() { return kind_of(tokens_.LA(1)); }
  TokenKind ahead(ssize_t i) { return kind_of(tokens_.LA(i)); }
  static TokenKind kind_of(size_t type) {
    return type == antlr4::Token::EOF ? TokenKind::EndOfFile : TokenKind(type);
  }
  void report(antlr4::Parser* parser, const antlr4::Token* token);
  bool lacks_block(antlr4::Parser* parser);
  bool line_has_error(const antlr4::Token* token) const;
  DiagnosticEngine::Builder report_syntax_error(antlr4::Parser* parser, const SyntaxError& error);
  DiagnosticEngine::Builder report_missing_colon(antlr4::Parser* parser, const SyntaxError& error);
  DiagnosticEngine::Builder report_relative(const SyntaxError& error);
  DiagnosticEngine::Builder report_keyword(const SyntaxError& error);
  DiagnosticEngine::Builder report_unexpected(const SyntaxError& error);
  void help_operand(DiagnosticEngine::Builder& message, const SyntaxError& error) const;
  bool help_foreign(DiagnosticEngine::Builder& message, const SyntaxError& error);
  const Token* angle_bracket(const SyntaxError& error) const;
  bool has_before(const SyntaxError& error, TokenKind kind) const;
  bool is_increment(const SyntaxError& error) const;
  Loc between(const Token& first, Loc last) const;
  void skip_to_line_end();
  void skip_line_and_block();
  void skip_to_colon();
  void skip_to_closing();
  antlr4::Token* complete_head(antlr4::Parser* parser, TokenKind missing);
  antlr4::Token* made_up(TokenKind kind);

  const TokenBuffer& buffer_;
  TokenView& tokens_;
  DiagnosticEngine& diagnostics_;
  bool had_error_ = false;
  bool line_reported_ = false;
  std::set<TokenKind> taken_for_names_;
  std::vector<std::unique_ptr<ViewToken>> made_up_;
};

}  // namespace tessera
