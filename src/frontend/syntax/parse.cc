// Parsing one top-level statement at a time: the parse tree of one is dropped before the next is
// read, so memory is that of the AST and of the tokens.

#include "frontend/syntax/parse.h"

#include <antlr4-runtime.h>

#include <algorithm>

#include "TesseraParser.h"
#include "frontend/syntax/antlr/ast_builder.h"
#include "frontend/syntax/antlr/error_strategy.h"
#include "frontend/syntax/antlr/token_view.h"
#include "frontend/syntax/brackets.h"
#include "frontend/syntax/layout.h"
#include "frontend/syntax/lines.h"
#include "frontend/syntax/parse_part.h"
#include "frontend/syntax/preprocessor.h"
#include "support/hash.h"

namespace tessera {

namespace {

bool begins_simple(TokenKind kind) {
  return !begins_compound(kind) && kind != TokenKind::At && kind != TokenKind::Error;
}

/// Cuts the laid-out tokens at the ends of top-level statements.
class Splitter {
 public:
  explicit Splitter(std::vector<Token>& tokens) : tokens_(tokens) {}

  /// The end of the statement that starts at `begin`. A `;` between simple statements becomes their
  /// Newline; one that ends its line is part of it.
  size_t end_of(size_t begin);

 private:
  size_t end_of_line(size_t at) const {
    while (kind(at) != TokenKind::Newline && kind(at) != TokenKind::EndOfFile) ++at;
    return kind(at) == TokenKind::Newline ? at + 1 : at;
  }
  size_t end_of_block(size_t at) const;
  /// `@…` without the definition, which would be an error on this line.
  bool is_decorator_line(size_t at) const {
    if (kind(at) != TokenKind::At) return false;
    while (kind(at) != TokenKind::Newline && kind(at) != TokenKind::EndOfFile &&
           kind(at) != TokenKind::Def) {
      ++at;
    }
    return kind(at) != TokenKind::Def;
  }
  TokenKind kind(size_t at) const { return tokens_[at].kind; }

  std::vector<Token>& tokens_;
};

/// Past a block or the mark of a missing one, if there is any at `at`.
size_t Splitter::end_of_block(size_t at) const {
  if (kind(at) == TokenKind::MissingBlock) return at + 1;
  if (kind(at) != TokenKind::Indent) return at;
  size_t depth = 0;
  do {
    if (kind(at) == TokenKind::Indent) ++depth;
    if (kind(at) == TokenKind::Dedent) --depth;
    ++at;
  } while (depth != 0);
  return at;
}

size_t Splitter::end_of(size_t begin) {
  if (begins_simple(kind(begin))) {
    BracketDepth brackets;
    for (size_t at = begin; kind(at) != TokenKind::Newline; ++at) {
      if (kind(at) == TokenKind::EndOfFile) return at;
      brackets.take(kind(at));
      bool splits = kind(at) == TokenKind::Semicolon && !brackets.is_inside() && at > begin &&
                    kind(at - 1) != TokenKind::Semicolon && kind(at + 1) != TokenKind::Newline &&
                    kind(at + 1) != TokenKind::Semicolon;
      if (!splits) continue;
      tokens_[at].kind = TokenKind::Newline;
      return at + 1;
    }
  }
  size_t at = begin;
  while (true) {
    bool is_decorator = is_decorator_line(at);
    at = end_of_block(end_of_line(at));
    bool continues = is_decorator || kind(at) == TokenKind::Elif || kind(at) == TokenKind::Else;
    if (!continues || kind(at) == TokenKind::EndOfFile) return at;
  }
}

uint64_t hash_tokens(const TokenBuffer& buffer, size_t begin, size_t end) {
  uint64_t hash = 0;
  for (size_t i = begin; i < end; ++i) {
    hash =
        hash_combine(hash, hash64(buffer.text(buffer.tokens[i]), uint64_t(buffer.tokens[i].kind)));
  }
  return hash;
}

/// The generated parser, set up once for all declarations of a file.
class DeclarationParser {
 public:
  DeclarationParser(const TokenBuffer& buffer, DiagnosticEngine& diagnostics)
      : buffer_(buffer), diagnostics_(diagnostics), tokens_(buffer), parser_(start(tokens_)) {
    auto strategy = std::make_shared<ErrorStrategy>(buffer, tokens_, diagnostics);
    strategy_ = strategy.get();
    parser_.setErrorHandler(strategy);
    parser_.removeErrorListeners();
    parser_.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
        antlr4::atn::PredictionMode::LL);
  }

  ast::Declaration parse(size_t begin, size_t end) {
    size_t errors_before = diagnostics_.error_count();
    tokens_.assign(begin, end);
    parser_.setTokenStream(&tokens_);
    grammar::TesseraParser::DeclarationContext* tree = parser_.declaration();
    ast::Declaration made;
    made.arena = std::make_unique<Arena>();
    made.stmt = AstBuilder(buffer_, *made.arena, diagnostics_).declaration(tree);
    made.token_hash = hash_tokens(buffer_, begin, end);
    made.has_error = strategy_->had_error() || diagnostics_.error_count() != errors_before;
    return made;
  }

 private:
  /// The generated constructor wants a stream that has a token.
  static antlr4::TokenStream* start(TokenView& tokens) {
    tokens.assign(0, 0);
    return &tokens;
  }

  const TokenBuffer& buffer_;
  DiagnosticEngine& diagnostics_;
  TokenView tokens_;
  grammar::TesseraParser parser_;
  ErrorStrategy* strategy_;
};

}  // namespace

ast::SourceUnit parse_source(FileId file, SourceManager& sources, const ParseOptions& options,
                             DiagnosticEngine& diagnostics) {
  return parse_part(file, {}, sources, options, diagnostics);
}

ast::SourceUnit parse_part(FileId file, std::span<const FileId> before, SourceManager& sources,
                           const ParseOptions& options, DiagnosticEngine& diagnostics) {
  size_t first_message = diagnostics.all().size();
  Preprocessed text = preprocess(file, before, sources, options, diagnostics);
  TokenBuffer& buffer = text.buffer;
  promote_keywords(buffer, &diagnostics);
  limit_chains(buffer, diagnostics);
  lay_out(buffer, diagnostics);
  ast::SourceUnit unit;
  unit.file = file;
  unit.names = std::move(text.names);
  for (const LexedFile& lexed : text.files) {
    if (std::find(before.begin(), before.end(), lexed.file) == before.end()) unit.files.push_back(lexed.file);
  }
  DeclarationParser parser(buffer, diagnostics);
  Splitter splitter(buffer.tokens);
  for (size_t begin = 0; buffer.tokens[begin].kind != TokenKind::EndOfFile;) {
    size_t end = splitter.end_of(begin);
    unit.declarations.push_back(parser.parse(begin, end));
    begin = end;
  }
  // The phases report one after the other; the user reads from top to bottom.
  diagnostics.sort_from(first_message);
  return unit;
}

}  // namespace tessera
