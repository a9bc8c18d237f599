#pragma once
// Source text to AST: lexer, preprocessor, layout, parser.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "frontend/syntax/ast.h"
#include "support/diagnostic.h"
#include "support/source.h"

namespace tessera {

/// Reads the file `path` into `text`; false with the reason in `error`.
using FileReader =
    std::function<bool(const std::string& path, std::string& text, std::string& error)>;

struct ParseOptions {
  /// Folders searched by %include after the including file's own.
  std::vector<std::string> include_paths;
  /// -D names. Only %if and %elif see them. An integer literal compares as a number, anything else
  /// as a string; `-D X` alone is the number 1.
  std::map<std::string, std::string, std::less<>> defines;
  /// How %include reads; empty means from disk. A file the SourceManager has the text of is not
  /// read again.
  FileReader read;
  /// Folders, and those below, that files are read of, whose names end in '.tsr'; empty: of all.
  std::vector<std::string> include_roots;
};

/// Parses the file, which must have its text in `sources`. Always gives a unit; what could not be
/// parsed is an ErrorStmt or ErrorExpr in it and an error in `diagnostics`.
ast::SourceUnit parse_source(FileId file, SourceManager& sources, const ParseOptions& options,
                             DiagnosticEngine& diagnostics);

}  // namespace tessera
