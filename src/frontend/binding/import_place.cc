#include "frontend/binding/import_place.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {

namespace {

/// The line that a statement begins on, with its decorators and the comment above it.
uint32_t first_line(const SourceManager& sources, const ast::Stmt& stmt, bool begins_file) {
  uint32_t line = stmt.loc.line;
  if (const auto* def = ast::as<ast::Def>(&stmt)) {
    for (const ast::Decorator& decorator : def->decorators) line = std::min(line, decorator.loc.line);
  }
  const SourceFile& file = sources.file(stmt.loc.file);
  uint32_t above = line;
  while (above > 1 && file.line(above - 1).starts_with('#')) --above;
  bool is_of_file = begins_file && above == 1;  // what the file begins with is about the file
  return is_of_file ? line : above;
}

}  // namespace

bool is_docstring(const ast::Stmt& stmt) {
  const auto* expression = ast::as<ast::ExprStmt>(&stmt);
  return expression && expression->value->kind == ast::NodeKind::String;
}

void ImportPlace::visit(const ast::Stmt& stmt) {
  has_docstring_ = has_docstring_ || (!first_ && is_docstring(stmt));
  if (last_ || is_docstring(stmt)) return;
  const auto* import = ast::as<ast::FromImport>(&stmt);
  if (import && !import->names.empty() && ast::dotted(import->path) == path_) {
    import_ = &stmt;
    last_ = &import->names.back();
    return;
  }
  bool imports = import || stmt.kind == ast::NodeKind::Import;
  if (!first_ || (imports && !is_import_)) first_ = &stmt;
  is_import_ = is_import_ || imports;
}

Loc ImportPlace::place(const SourceManager& sources) const {
  if (last_) return (last_->alias.text.empty() ? last_->name : last_->alias).loc.behind();
  uint32_t line = is_import_ ? first_->loc.line : first_line(sources, *first_, !has_docstring_);
  return {first_->loc.file, line, 1, 0};
}

std::string ImportPlace::text(std::string_view name) const {
  if (last_) return fmt::format(", {}", name);
  return fmt::format("from {} import {}\n{}", path_, name, is_import_ ? "" : "\n");
}

}  // namespace tessera
