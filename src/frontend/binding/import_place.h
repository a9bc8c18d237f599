#pragma once
// Where a file imports a name that it lacks: in an import of the same module, else in a line of its own.

#include <string>
#include <string_view>

#include "frontend/syntax/ast.h"
#include "support/source.h"

namespace tessera {

/// Whether a statement is a text alone.
bool is_docstring(const ast::Stmt& stmt);

/// Looks at the statements of a file, in order.
class ImportPlace {
 public:
  /// `path` is the module: "tessera.nn".
  explicit ImportPlace(std::string_view path) : path_(path) {}

  void visit(const ast::Stmt& stmt);
  /// The statement that the place is in or before; null in a file without statements.
  const ast::Stmt* statement() const { return last_ ? import_ : first_; }
  /// The point in the file of the statement.
  Loc place(const SourceManager& sources) const;
  /// What imports `name` there.
  std::string text(std::string_view name) const;

 private:
  std::string path_;
  const ast::Stmt* first_ = nullptr;  ///< import, or statement where there is none
  bool is_import_ = false;
  bool has_docstring_ = false;  ///< before `first_`
  const ast::Stmt* import_ = nullptr;  ///< of the module, whose last name is the next
  const ast::ImportedName* last_ = nullptr;
};

}  // namespace tessera
