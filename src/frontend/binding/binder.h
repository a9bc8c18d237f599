#pragma once
// Walks trees, opens scopes and binds names to what they declare. It follows which locals have been
// given a value on each path: where one has not, the name may be that of a scope around.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/binding/names.h"

namespace tessera::names {

/// A name that a statement assigns.
struct Assigned {
  ast::Identifier name;
  bool is_value = true;  ///< not a function, a constant or the target of `with`
  bool is_function = false;
};
/// Those of the statements and of the blocks in them, in order.
void append_assigned(ast::StmtList body, std::vector<Assigned>& out);

class Binder {
 public:
  Binder(const SourceManager& sources, FileId file) : sources_(sources), file_(file) {}

  /// Locals, scopes and occurrences.
  FileNames bind(std::span<const ast::Declaration> declarations);
  FreeNames free_names(const ast::Node& node);

 private:
  /// Where an expression stands.
  enum class Place : uint8_t { Value, Annotation, TypeArgument };
  /// What has happened on the paths to a place.
  struct Flow {
    std::vector<bool> given;  ///< by local: it has a value on each of them
    bool ends = false;        ///< none goes on
  };
  /// Joins the paths of branches.
  class Join {
   public:
    void add(const Flow& flow);
    Flow result(const Flow& before) const;

   private:
    std::vector<bool> given_;
    bool any_ = false;
  };

  // Declarations (binder.cc).
  void top_level(const ast::Stmt& stmt, TextRange range);
  void def(const ast::Def& def, std::string_view owner, uint32_t end);
  void nested_def(const ast::Def& def, uint32_t end);
  void function(const ast::Def& def, const std::string& callable, std::string_view owner, uint32_t end);
  void module(const ast::Module& module, uint32_t end);
  void member(const ast::Stmt& stmt, std::string_view owner, uint32_t end);
  void field(const ast::Assign& field, std::string_view owner);
  void parameters(std::span<const ast::Parameter> list, const std::string& callable, std::string_view owner);
  void defaults(std::span<const ast::Parameter> list);
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
  void augmented(const ast::AugAssign& stmt);
  void branches(const ast::If& stmt, uint32_t end);
  void loop(const ast::Expr* variable, const ast::Expr* iterable, const ast::Expr* condition, ast::StmtList body,
            uint32_t end);

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
  TextRange range(Loc loc) const { return place_in(sources_, loc); }
  std::string_view text() const { return sources_.file(file_).text(); }
  bool is_own(Loc loc) const { return loc.known() && loc.file == file_; }
  int32_t add(Loc loc, OccurrenceKind kind, bool writes = false);
  int32_t use(std::string_view name, Loc loc, Place place, bool writes);
  void note_free(std::string_view name, Place place);
  int32_t declare(std::string_view name, Loc loc, SymbolKind kind);
  void give(int32_t local);
  bool is_given(int32_t local) const { return size_t(local) < flow_.given.size() && flow_.given[size_t(local)]; }
  void open(TextRange range);
  void close() { scope_ = out_.scopes[size_t(scope_)].parent; }

  const SourceManager& sources_;
  FileId file_;
  FileNames out_;
  FreeNames free_;
  Flow flow_;
  int32_t scope_ = -1;
  int32_t signature_ = -1;  ///< the scope that types of parameters declare symbols in
  std::unordered_map<uint32_t, int32_t> by_offset_;
};

}  // namespace tessera::names
