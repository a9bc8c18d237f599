#pragma once
// Names and what they stand for. Scopes form a tree: prelude <- file <- function <- nested
// function. Blocks of if, for, with and on open none.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/values/value.h"

namespace tessera::ast {
struct Stmt;
}

namespace tessera::frontend {

class Scope;

/// One name in one scope.
struct Binding {
  enum class State : uint8_t { Ready, Pending, Running };
  Datum value;
  Loc loc;  ///< where the name was given its meaning; unknown for the prelude
  State state = State::Ready;
  const ast::Stmt* pending = nullptr;  ///< a file's declaration, evaluated when first asked for
  Scope* alias_scope = nullptr;  ///< an imported name: the scope that has it, and its name there
  std::string alias;
};

class Scope {
 public:
  Scope(Scope* parent, const SourceModule* module) : parent_(parent), module_(module) {}
  Scope(const Scope&) = delete;

  Scope* parent() const { return parent_; }
  /// The scope of the file around this one; null in the prelude.
  Scope* module_scope() const;
  /// The file whose text this scope belongs to; null in the prelude.
  const SourceModule* module() const { return module_; }
  /// Gives `name` a value here, replacing one it had here.
  void set(std::string_view name, Datum value, Loc loc);
  void set_pending(std::string_view name, const ast::Stmt* stmt, Loc loc);
  /// Makes `name` mean what `target` means in another scope.
  void set_alias(std::string_view name, Scope* scope, std::string_view target, Loc loc);
  /// In this scope only; null when absent.
  Binding* find_here(std::string_view name);
  /// Here or in the scopes around; null when absent. `where` gets the scope that has it.
  Binding* find(std::string_view name, Scope** where = nullptr);
  /// All names visible from here, for suggestions.
  std::vector<std::string> visible_names() const;
  const std::map<std::string, Binding, std::less<>>& names_here() const { return names_; }

 private:
  Scope* parent_;
  const SourceModule* module_;
  void enter(std::string_view name, Binding binding);
  std::map<std::string, Binding, std::less<>> names_;
  HeldBytes bytes_{sizeof(Scope)};
};

}  // namespace tessera::frontend
