#pragma once
// What the names of a program mean, by its text: definitions, and the uses of them. Scopes are
// those of the evaluation: the language, the file, functions, nested functions; suites open none,
// and a name is a function's own from where it is assigned first. Members of anything but files and
// `self` depend on values, which the evaluation knows.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "frontend/index/semantic_index.h"
#include "frontend/session.h"
#include "frontend/syntax/ast.h"

namespace tessera::frontend {

class NameIndexer {
 public:
  /// Adds to `index`; both outlive it.
  NameIndexer(Session& session, SemanticIndex& index) : session_(session), index_(index) {}

  /// The definitions of all files, and the uses in those that are not of the standard library.
  void run();
  /// What is defined at a place; none when nothing is.
  std::optional<SymbolId> defined_at(Loc name) const;
  /// The parameter of that name of a function or module; none when there is none.
  std::optional<SymbolId> parameter_of(SymbolId callee, std::string_view name) const;

 private:
  using Position = std::tuple<FileId, uint32_t, uint32_t>;
  using Names = std::map<std::string_view, SymbolId>;
  struct Frame {
    Names names;
    std::optional<SymbolId> owner;
  };
  /// What an expression names: a definition, or files by name.
  struct Meaning {
    std::optional<SymbolId> symbol;
    const Namespace* name_space = nullptr;
  };
  /// One more function or comprehension while it lives.
  class Inside {
   public:
    Inside(NameIndexer& indexer, std::optional<SymbolId> owner) : indexer_(indexer) {
      indexer_.frames_.push_back({{}, owner});
    }
    ~Inside() { indexer_.frames_.pop_back(); }
    Inside(const Inside&) = delete;

   private:
    NameIndexer& indexer_;
  };

  // Definitions (names.cc).
  SymbolId add(SymbolKind kind, const ast::Identifier& name, Loc extent, std::optional<SymbolId> container);
  void declare_file(const SourceModule& module);
  void declare(const ast::Stmt& stmt, Names& names);
  void declare_one(SymbolKind kind, const ast::Identifier& name, const ast::Stmt& stmt, Names& names);
  void declare_module(const ast::Module& module, Names& names);
  SymbolId declare_function(const ast::Def& def, SymbolKind kind, std::optional<SymbolId> container);
  void add_parameters(SymbolId owner, std::span<const ast::Parameter> parameters);
  std::string header(const ast::Def& def) const;
  std::string parameters_text(std::span<const ast::Parameter> parameters) const;

  // Imports (names_imports.cc).
  void enter_imports(const SourceModule& module);
  void enter(const ast::Import& stmt);
  void enter(const ast::FromImport& stmt);
  void refer_to_file(std::span<const ast::Identifier> path);
  const SourceModule* file_named(std::string_view name) const;
  std::optional<SymbolId> meaning_of(const Binding& binding, std::string_view name);
  Meaning member(const Namespace& name_space, std::string_view name);
  Meaning meaning_of(const ast::Expr& expr);
  std::optional<SymbolId> member_of_self(const ast::Attribute& attribute) const;

  // Built-in names (names_imports.cc).
  SymbolId built_in(SymbolKind kind, const std::string& name, std::string signature = {});
  std::optional<SymbolId> built_in(const std::string& name, const Datum& value);

  // Uses (names_walk.cc).
  void walk_file(const SourceModule& module);
  void walk(const ast::Stmt& stmt);
  void walk(ast::StmtList body);
  void walk(const ast::Expr* expr);
  void walk_expression(const ast::Expr& expr);
  void walk_children(const ast::Node& node);
  void walk_binaries(const ast::Binary& binary);
  void walk_call(const ast::Call& call);
  void walk_attribute(const ast::Attribute& attribute);
  void walk_lambda(const ast::Lambda& lambda);
  void walk_comprehension(const ast::Comprehension& node);
  void walk_assign(const ast::Assign& stmt);
  void walk_def(const ast::Def& def, SymbolId symbol);
  void walk_nested(const ast::Def& def);
  void walk_module(const ast::Module& module, SymbolId symbol);
  void walk_field(const ast::Assign& field);
  void walk_decorators(std::span<const ast::Decorator> decorators);
  void assign(const ast::Expr& target);
  void refer(Loc loc, SymbolId symbol, ReferenceRole role = ReferenceRole::Read);
  void use(std::string_view name, Loc loc);
  /// In the scopes around, the innermost last to be left out.
  std::optional<SymbolId> look_up(std::string_view name, size_t skipped = 0);

  // Annotations (names_types.cc).
  void walk_type(const ast::Expr* type, bool declares);
  void walk_shaped(const ast::Subscript& type, bool declares);
  void walk_dim(const ast::Expr& dim, bool declares);
  void walk_string_dim(const ast::String& dim, bool declares);
  void walk_dtype(const ast::Expr& dtype, bool declares);
  bool walk_policy(const ast::Expr& policy);
  void name_symbol(SymbolKind kind, const ast::Identifier& name, bool declares);

  Session& session_;
  SemanticIndex& index_;
  std::map<Position, SymbolId> by_place_;
  std::map<const SourceModule*, Names> file_names_;
  std::map<const SourceModule*, SymbolId> files_;
  std::map<SymbolId, Names> module_members_;
  std::map<std::pair<SymbolKind, std::string>, SymbolId> built_ins_;
  const SourceModule* module_ = nullptr;
  std::vector<Frame> frames_;
  unsigned depth_ = 0;
};

}  // namespace tessera::frontend
