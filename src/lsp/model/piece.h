#pragma once
// One piece of a file (cut.h), parsed: its tokens, its declarations, its syntax errors and its
// names. A piece is a file of its own to the front end, so that nothing in it changes when lines
// are added above it; `begin` is its current place. Its meaning depends on its text, on the names
// that conditions see and on the macros that pieces above define: `environment` stands for these.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/syntax/parse.h"
#include "frontend/syntax/token.h"
#include "lsp/model/names.h"
#include "lsp/protocol/positions.h"
#include "support/diagnostic.h"

namespace tessera::lsp {

struct Readings;

struct Piece {
  std::shared_ptr<SourceManager> sources;  ///< has the text of `file`
  FileId file = 0;
  uint32_t begin = 0;  ///< offset in the document
  uint64_t environment = 0;
  std::vector<RawToken> tokens;  ///< of the file, with names that act as keywords as such
  std::vector<ast::Declaration> declarations;
  std::vector<FileId> files;  ///< that took part; more than one where it includes
  std::vector<Diagnostic> diagnostics;
  PieceNames names;
  std::vector<std::string> words;   ///< names in the text, in its strings and in its macros, each once
  std::vector<std::string> macros;  ///< that it defines
  bool is_reading = false;  ///< with other branches than those that are taken
  mutable std::shared_ptr<Readings> readings;  ///< of such branches, once they were asked for

  std::string_view text() const { return sources->file(file).text(); }
  std::string_view text(Range range) const { return text().substr(range.begin, range.end - range.begin); }
  std::string_view text(const RawToken& token) const { return text().substr(token.offset, token.length); }
  /// The bytes of a place in this file, counted from the start of the piece.
  Range range(Loc loc) const;
  /// The same in the document.
  Range in_document(Range range) const { return {begin + range.begin, begin + range.end}; }
};

/// Parses a text under a name that `sources` does not have yet, where macros of the pieces `before` hold.
std::shared_ptr<Piece> parse_piece(std::shared_ptr<SourceManager> sources, std::string name, std::string text,
                                   const ParseOptions& options, std::span<const FileId> before = {});

}  // namespace tessera::lsp
