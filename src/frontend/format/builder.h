#pragma once
// Builds the documents of a logical line's statements from its tokens. The line has been parsed
// before, so this reads the same grammar without reporting errors. Macros are not expanded here: a
// line that is correct only after expansion is not understood.

#include <optional>
#include <vector>

#include "frontend/format/document.h"
#include "frontend/format/line_tokens.h"

namespace tessera::formatter {

/// A simple statement, or the head of a compound one.
struct Statement {
  const Node* node = nullptr;
  bool is_inline_block = false;  ///< stood behind the head of its line
};

class Builder {
 public:
  /// `target_width` is what the targets of an assignment are widened to.
  Builder(Document& document, const std::vector<LineToken>& tokens, uint32_t target_width)
      : document_(document), tokens_(tokens), target_width_(target_width) {}

  /// The statements of the line; none when it is not understood.
  std::vector<Statement> statements();
  /// The comment at the end of the line.
  std::string_view comment() const {
    const std::vector<LineComment>& last = tokens_.back().comments;
    return last.empty() ? std::string_view() : last.back().text;
  }

 private:
  struct Operand;

  TokenKind kind(size_t ahead = 0) const;
  std::string_view text() const { return tokens_[at_].text; }
  bool is(TokenKind wanted, size_t ahead = 0) const { return kind(ahead) == wanted; }
  bool is_word(std::string_view word) const { return is(TokenKind::Name) && text() == word; }
  /// The next token as a text; its comments go to where they belong.
  const Node* take();
  const Node* take(TokenKind wanted);
  const Node* literal(std::string_view text) { return document_.text(text); }
  const Node* fail();

  // build_statement.cc
  bool begins_soft(std::string_view word) const;
  void line(std::vector<Statement>& out);
  const Node* compound();
  const Node* definition();
  const Node* with_item();
  const Node* simple();
  const Node* decorators();
  const Node* dotted_name();
  const Node* import_item();
  const Node* from_import();
  const Node* declaration();
  const Node* expression_statement();
  bool is_target() const;
  const Node* value(bool is_list);
  const Node* separated(const Node* (Builder::*item)());

  // build_expression.cc
  const Node* expression();
  const Node* operation();
  const Node* chain(std::vector<Operand>& operands, size_t begin, size_t end);
  bool operators(Operand& into);
  const Node* operand();
  const Node* postfix();
  const Node* trailer();
  const Node* atom();
  const Node* strings();
  const Node* lambda();
  const Node* annotation();
  const Node* comprehension(const Node* element);

  // build_brackets.cc
  enum class Content : uint8_t { Elements, Arguments, Subscripts, Entries, Parameters, Imports };
  const Node* brackets(Content content);
  const Node* element(Content content);
  void close(Node& node, bool had_comma);
  const Node* argument();
  const Node* subscript();
  const Node* entry();
  const Node* parameter();
  const Node* imported_name();

  Document& document_;
  const std::vector<LineToken>& tokens_;
  uint32_t target_width_;
  size_t at_ = 0;
  bool failed_ = false;
  size_t depth_ = 0;               ///< of brackets
  bool is_comprehension_ = false;  ///< the element that was read last
  bool wrapping_ = false;          ///< in a value that gets parentheses where it does not fit
  /// Where comments go: above the part being read, or behind the one that was read last.
  Part* part_ = nullptr;
  Part* last_part_ = nullptr;
};

}  // namespace tessera::formatter
