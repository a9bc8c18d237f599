#pragma once
// Files that a tool has parsed already: an editor's server keeps the tree of each declaration as long
// as its text stays, and only the source manager knows which file a place is of.

#include <string>
#include <vector>

#include "frontend/syntax/ast.h"
#include "support/source.h"

namespace tessera::frontend {

class ParsedFiles {
 public:
  virtual ~ParsedFiles() = default;

  /// The number of the file with that path; 0 when there is none.
  virtual FileId find(const std::string& path) = 0;
  /// The declarations of a file, which need not own their trees; those with syntax errors are left
  /// out, and their names are added to `broken`. False: the file's text is to be parsed.
  virtual bool declarations(FileId file, ast::SourceUnit& unit, std::vector<std::string>& broken) = 0;
};

}  // namespace tessera::frontend
