#pragma once
// Finds the syntax around a cursor from tokens alone: half-typed text has no tree.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/brackets.h"
#include "lsp/model/file_model.h"

namespace tessera::lsp {

/// A bracket that is open at the cursor.
struct OpenBracket {
  TokenKind kind = TokenKind::Lparen;
  uint32_t offset = 0;       ///< in the piece
  int32_t before = -1;       ///< index in before() of the token before it; -1: none
  size_t commas = 0;         ///< between it and the cursor, at its level; those of a lambda's parameters do not count
  size_t by_place = 0;       ///< arguments before the one that the cursor is in, and before the first with a name
  std::vector<std::string> given;  ///< the names of arguments, also of the one that the cursor is in
  std::string keyword;       ///< `name=` of the argument that the cursor is in
  size_t lambdas = 0;        ///< whose parameters the cursor is in
  bool has_colon = false;    ///< since the last comma: an annotation has begun
  bool declares = false;     ///< it holds the parameters of a `def` or `module`
};

class Cursor {
 public:
  /// `offset` counts from the start of the document.
  Cursor(const FileModel& file, uint32_t offset);

  const Piece* piece() const { return piece_; }
  uint32_t offset() const { return offset_; }  ///< in the piece
  /// The part of a name that ends at the cursor.
  std::string_view prefix() const { return prefix_; }
  Range prefix_range() const { return {offset_ - uint32_t(prefix_.size()), offset_}; }
  /// In a comment or string.
  bool in_text() const { return in_text_; }
  bool in_directive() const { return in_directive_; }
  /// Code tokens before the cursor (its prefix left out).
  const std::vector<const RawToken*>& before() const { return before_; }
  TokenKind last(size_t back = 0) const {
    return back < before_.size() ? before_[before_.size() - 1 - back]->kind : TokenKind::EndOfFile;
  }
  std::string_view last_text(size_t back = 0) const;
  /// Open brackets, the innermost last.
  const std::vector<OpenBracket>& brackets() const { return brackets_.all(); }
  /// Index in before() of the token before the bracket that the closing one at `index` ends; -1 when there is none.
  int32_t before_bracket(size_t index) const;
  /// Index in before() of the first token of the logical line.
  size_t line_begin() const { return line_begin_; }
  /// Kind of the first token of the logical line; EndOfFile at its start.
  TokenKind line_kind() const;
  bool at_line_start() const { return line_begin_ >= before_.size(); }

 private:
  void read_brackets();
  void read_argument(OpenBracket& open, size_t index);
  const Piece* piece_ = nullptr;
  uint32_t offset_ = 0;
  std::string_view prefix_;
  bool in_text_ = false;
  bool in_directive_ = false;
  std::vector<const RawToken*> before_;
  OpenBrackets<OpenBracket> brackets_;
  std::map<size_t, int32_t> closed_;  ///< by index of the closing bracket: OpenBracket::before
  size_t line_begin_ = 0;
};

}  // namespace tessera::lsp
