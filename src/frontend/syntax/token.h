#pragma once
// Tokens: as the lexer cuts them from a file, and as the parser reads them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace tessera {

enum class TokenKind : uint8_t {
  EndOfFile,
#define TOKEN(name, grammar_name, display) name,
#include "frontend/syntax/token_kinds.def"
#undef TOKEN
};

/// How a message names the kind: "')'", "a name", "the end of the line".
std::string_view display_name(TokenKind kind);
/// White space, comments, ends of lines and continuations.
bool is_trivia(TokenKind kind);
/// A name, a literal or a closing bracket: what an operand may end with.
bool ends_operand(TokenKind kind);
/// The tokens that an operand may begin with.
bool starts_operand(TokenKind kind);
/// The words a statement with a block begins with (`if`, `elif`, `def`).
bool begins_compound(TokenKind kind);
/// A word the grammar reserves (`if`, `lambda`, `None`).
bool is_keyword(TokenKind kind);
bool is_opening(TokenKind kind);
bool is_closing(TokenKind kind);
/// The bracket that closes an opening one.
TokenKind closing_of(TokenKind opening);

/// The state of a token of a file after preprocessing.
enum class TokenRole : uint8_t {
  Code,       ///< went on to the parser
  Trivia,     ///< white space and comments
  Directive,  ///< part of a preprocessor line
  Inactive,   ///< in a branch that was not taken
};

/// One piece of a file. The tokens of a file cover it without gaps, in order.
struct RawToken {
  TokenKind kind;
  TokenRole role;
  uint32_t offset;
  uint32_t length;
};

/// A whole file in tokens: their texts, put together, are the file byte for byte.
struct LexedFile {
  FileId file = 0;
  std::vector<RawToken> tokens;
};

/// A token for the parser. Its text lies in `file`; when a macro made it, `expansion`
/// says where the macro was used (see TokenBuffer).
struct Token {
  TokenKind kind;
  FileId file;
  uint32_t offset;
  uint32_t length;
  uint32_t expansion;  ///< 0: written where it stands
};

/// A use of a macro.
struct Expansion {
  FileId file;
  uint32_t offset;
  uint32_t length;
  /// The definition's name token.
  Loc definition;
};

/// Tokens with what is needed to find their text and place.
class TokenBuffer {
 public:
  explicit TokenBuffer(const SourceManager& sources) : sources_(&sources), expansions_(1) {}

  std::vector<Token> tokens;

  std::string_view text(const Token& token) const {
    return sources_->file(token.file).text().substr(token.offset, token.length);
  }
  /// Where the user sees the token: the use of the macro for a token made by one.
  Loc loc(const Token& token) const;
  /// The place from `first` to the end of `last`, as described at ast::Node.
  Loc span(const Token& first, const Token& last) const;
  /// Name and place for a message: "'x'", "the end of the line".
  std::string describe(const Token& token) const;

  uint32_t add_expansion(const Expansion& expansion);
  const Expansion& expansion(uint32_t index) const { return expansions_[index]; }
  const SourceManager& sources() const { return *sources_; }

 private:
  const SourceManager* sources_;
  std::vector<Expansion> expansions_;
};

}  // namespace tessera
