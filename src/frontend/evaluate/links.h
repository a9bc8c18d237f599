#pragma once
// The files of a session as the linker of names sees them (frontend/binding/linker.h), and what a linked name is there.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "frontend/values/function.h"
#include "frontend/values/language_names.h"
#include "frontend/values/scope.h"

namespace tessera::frontend {

class Session;

class Links : public LanguageProgram {
 public:
  explicit Links(Session& session) : session_(session), linker_(*this) {}

  // What is known of a file before its names are entered.
  /// Its declarations, and the names of those that could not be read.
  void add(SourceModule& module, std::span<const std::string> broken);
  /// What an import of it led to; null where that failed.
  void add_import(const SourceModule& importer, std::string_view dotted, SourceModule* target);

  names::Linked name(const SourceModule& file, std::string_view name) { return linker_.name(file_of(file), name); }
  names::Linked module(const SourceModule& importer, std::string_view dotted) {
    return linker_.module(file_of(importer), dotted);
  }
  names::Linked member(const names::Linked& object, std::string_view name) { return linker_.member(object, name); }
  /// What a name or member `a.b.c` means in a scope, as far as that takes no evaluation.
  names::Linked expression(const ast::Expr& expr, Scope& scope);
  /// The name of the language that a function means by an expression of its body: "exp", "tile.load"; empty for
  /// anything else.
  std::string language_name(const ast::Expr& expr, const Function& function);
  /// The names behind the dot of a module, for suggestions.
  names::NameSet members(const names::Linked& module) { return linker_.members(module); }

  /// A linked name in the scope that has it, or the module that it is; neither where there is no such name.
  struct Found {
    Scope* scope = nullptr;
    Binding* binding = nullptr;
    const Namespace* module = nullptr;
    /// A module or a value that takes no evaluation; else poison.
    Datum value() const { return module ? Datum::name_space(module) : binding ? binding->value : Datum::poison(); }
  };
  Found find(const names::Linked& linked);
  /// What an expression names in a scope, locals included; neither for other expressions.
  Found lookup(const ast::Expr& expr, Scope& scope);
  /// The name that the scope has it under.
  static std::string_view name_in_scope(const names::Linked& linked);
  /// Whether a module's text has errors, so that names of it may be lacking.
  bool is_broken(const names::Linked& module) const;

  const names::ModuleFile* module(const names::ModuleFile& importer, std::string_view dotted) override;
  const names::ModuleFile* library(std::string_view dotted) override;

 private:
  struct File : names::DeclaredFile {
    File(SourceModule& module, std::vector<names::Declared> declared)
        : DeclaredFile(std::move(declared)), module(&module) {}
    SourceModule* module;
    std::map<std::string, const File*, std::less<>> imports;
  };
  const File& file_of(const SourceModule& module) const { return files_.at(&module); }

  Session& session_;
  names::Linker linker_;
  std::map<const SourceModule*, File> files_;
  std::map<std::pair<const names::ModuleFile*, std::string>, Namespace> folders_;  ///< `a` of `import a.b` in a file
};

}  // namespace tessera::frontend
