#pragma once
// Walks the trees of a piece, and then the tokens that are in none, and binds names to scopes.

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/syntax/token.h"
#include "lsp/model/names.h"
#include "lsp/model/piece.h"

namespace tessera::lsp {

class Binder {
 public:
  explicit Binder(const Piece& piece) : piece_(piece) {}

  /// Locals and occurrences.
  PieceNames run();

 private:
  struct Scope {
    int32_t parent = -1;
    Range range;
    std::map<std::string_view, int32_t> names;
  };
  /// Where an expression stands.
  enum class Place : uint8_t { Value, Annotation, TypeArgument };
  /// The body of a nested function, which sees what is given a value behind it.
  struct Deferred {
    const ast::Def* def;
    int32_t scope;
    uint32_t end;
  };

  // Declarations (binder.cc).
  void top_level(const ast::Stmt& stmt, Range range);
  void def(const ast::Def& def, std::string_view owner, uint32_t end);
  void nested_def(const ast::Def& def, uint32_t end);
  void function(const ast::Def& def, const std::string& callable, std::string_view owner, uint32_t end);
  void inner_functions(size_t first);
  void module(const ast::Module& module, uint32_t end);
  void member(const ast::Stmt& stmt, std::string_view owner, uint32_t end);
  void field(const ast::Assign& field, std::string_view owner);
  void parameters(std::span<const ast::Parameter> list, const std::string& callable, std::string_view owner);
  void decorators(std::span<const ast::Decorator> list);
  void effects(ast::ExprList list);
  void imports(const ast::Import& stmt);
  void imports(const ast::FromImport& stmt);
  void path(std::span<const ast::Identifier> parts, OccurrenceKind kind);
  /// Where what follows the i-th of a list begins; `end` for the last.
  uint32_t end_of(ast::StmtList body, size_t i, uint32_t end) const;

  // Statements (binder_statements.cc).
  void block(ast::StmtList body, uint32_t end);
  void statement(const ast::Stmt& stmt, uint32_t end);
  /// A name, or names, that get a value: that of `origin`, or elements of it.
  void target(const ast::Expr* expr, const ast::Expr* origin, bool elements);

  // Expressions (binder_expressions.cc); the result is the occurrence that names the value, or -1.
  int32_t expression(const ast::Expr* expr, Place place = Place::Value);
  void children(const ast::Expr& expr, Place place);
  int32_t attribute(const ast::Attribute& attribute, Place place);
  void call(const ast::Call& call, Place place);
  void arguments(std::span<const ast::Argument> list, int32_t callee, const ast::Expr* object, Place place);
  void lambda(const ast::Lambda& lambda);
  void comprehension(const ast::Comprehension& node);
  void dims_in(const ast::String& string);

  // Names and scopes (binder.cc).
  int32_t add(Loc loc, OccurrenceKind kind, bool writes = false);
  int32_t use(std::string_view name, Loc loc, Place place, bool writes);
  int32_t find(std::string_view name) const;
  int32_t declare(std::string_view name, Loc loc, SymbolKind kind);
  void open(Range range);
  void close() { scope_ = scopes_[size_t(scope_)].parent; }
  bool is_own(Loc loc) const { return loc.known() && loc.file == piece_.file; }

  // Names that the trees do not have (leftovers.cc).
  void leftovers();
  void macros();
  void leftover(size_t at, const std::vector<size_t>& code, const std::vector<int32_t>& callees);
  int32_t scope_at(uint32_t offset) const;
  void sort();

  const Piece& piece_;
  PieceNames out_;
  std::vector<Scope> scopes_;
  std::vector<Deferred> deferred_;
  int32_t scope_ = -1;
  int32_t signature_ = -1;  ///< the scope that types of parameters declare symbols in
  std::unordered_map<uint32_t, int32_t> by_offset_;
};

}  // namespace tessera::lsp
