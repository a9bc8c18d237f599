#include "frontend/binding/declared.h"

#include <algorithm>
#include <optional>

#include "frontend/binding/words.h"

namespace tessera::names {

namespace {

class Lister {
 public:
  /// Of a file, or of all that the declarations are of.
  explicit Lister(const SourceManager& sources, std::optional<FileId> file = {}) : sources_(sources), file_(file) {}

  std::vector<Declared> run(std::span<const ast::Declaration> declarations) {
    for (const ast::Declaration& declaration : declarations) statement(*declaration.stmt, out_);
    return std::move(out_);
  }

 private:
  using List = std::vector<Declared>;

  Declared* add(List& out, const ast::Identifier& name, SymbolKind kind, const ast::Stmt& stmt) {
    bool is_of_other = file_ && (name.loc.file != *file_ || stmt.loc.file != *file_);
    if (name.text.empty() || is_of_other) return nullptr;
    Declared& made = out.emplace_back();
    made.name = name.text;
    made.kind = kind;
    made.name_range = place_in(sources_, name.loc);
    made.range = place_in(sources_, stmt.loc);
    made.range.end = std::max(made.range.end, made.name_range.end);
    made.range.begin = std::min(made.range.begin, made.name_range.begin);
    made.stmt = &stmt;
    return &made;
  }
  void statement(const ast::Stmt& stmt, List& out);
  void def(const ast::Def& def, SymbolKind kind, List& out);
  void module(const ast::Module& module, List& out);
  void assign(const ast::Assign& assign, SymbolKind kind, List& out);
  void imports(const ast::Stmt& stmt, List& out);

  const SourceManager& sources_;
  std::optional<FileId> file_;
  List out_;
};

SymbolKind kind_of(const ast::Def& def) {
  SymbolKind kind = SymbolKind::Function;
  for (const ast::Decorator& decorator : def.decorators) {
    std::string name = ast::dotted(decorator.path);
    const DecoratorRow* row = find_decorator(name);
    if (row && row->meaning == DecoratorMeaning::Jit) kind = SymbolKind::Entry;
    if (means_kernel(name)) kind = SymbolKind::Kernel;
  }
  return kind;
}

void Lister::def(const ast::Def& def, SymbolKind kind, List& out) { add(out, def.name, kind, def); }

void Lister::assign(const ast::Assign& assign, SymbolKind kind, List& out) {
  for (const ast::Expr* target : assign.targets) {
    const auto* name = ast::as<ast::Name>(target);
    if (name) add(out, {name->text, name->loc}, kind, assign);
  }
}

void Lister::module(const ast::Module& module, List& out) {
  Declared* made = add(out, module.name, SymbolKind::Module, module);
  if (!made) return;
  List members;
  for (const ast::Stmt* stmt : module.body) {
    if (const auto* method = ast::as<ast::Def>(stmt)) {
      def(*method, SymbolKind::Method, members);
    } else if (const auto* field = ast::as<ast::Assign>(stmt)) {
      assign(*field, SymbolKind::Field, members);
    } else {
      statement(*stmt, members);
    }
  }
  made->members = std::move(members);
}

void Lister::imports(const ast::Stmt& stmt, List& out) {
  if (const auto* import = ast::as<ast::Import>(&stmt)) {
    for (const ast::ImportItem& item : import->items) {
      if (item.path.empty()) continue;
      const ast::Identifier& name = item.alias.text.empty() ? item.path[0] : item.alias;
      // `import a.b` makes `a` a namespace that has `b`.
      bool nested = item.alias.text.empty() && item.path.size() > 1;
      Declared* made = add(out, name, nested ? SymbolKind::Namespace : SymbolKind::File, stmt);
      if (made) made->path = ast::dotted(item.path);
    }
    return;
  }
  const auto& from = ast::cast<ast::FromImport>(stmt);
  for (const ast::ImportedName& item : from.names) {
    const ast::Identifier& name = item.alias.text.empty() ? item.name : item.alias;
    Declared* made = add(out, name, SymbolKind::Import, stmt);
    if (!made) continue;
    made->path = ast::dotted(from.path);
    made->imported = item.name.text;
  }
}

void Lister::statement(const ast::Stmt& stmt, List& out) {
  switch (stmt.kind) {
    case ast::NodeKind::Def: return def(ast::cast<ast::Def>(stmt), kind_of(ast::cast<ast::Def>(stmt)), out);
    case ast::NodeKind::Module: return module(ast::cast<ast::Module>(stmt), out);
    case ast::NodeKind::Const: add(out, ast::cast<ast::Const>(stmt).name, SymbolKind::Constant, stmt); return;
    case ast::NodeKind::Assign: return assign(ast::cast<ast::Assign>(stmt), SymbolKind::Constant, out);
    case ast::NodeKind::Param:
      for (const ast::Identifier& name : ast::cast<ast::Param>(stmt).names) add(out, name, SymbolKind::Param, stmt);
      return;
    case ast::NodeKind::Dim:
      for (const ast::Identifier& name : ast::cast<ast::Dim>(stmt).names) add(out, name, SymbolKind::Dim, stmt);
      return;
    case ast::NodeKind::Import:
    case ast::NodeKind::FromImport: return imports(stmt, out);
    default: return;
  }
}

}  // namespace

std::vector<Declared> list_declared(const SourceManager& sources, FileId file,
                                    std::span<const ast::Declaration> declarations) {
  return Lister(sources, file).run(declarations);
}

std::vector<Declared> list_all_declared(const SourceManager& sources, std::span<const ast::Declaration> declarations) {
  return Lister(sources).run(declarations);
}

ast::Identifier member_declared_by(const ast::Stmt& stmt) {
  if (const auto* def = ast::as<ast::Def>(&stmt)) return def->name;
  if (const auto* constant = ast::as<ast::Const>(&stmt)) return constant->name;
  const auto* field = ast::as<ast::Assign>(&stmt);
  const auto* name = field ? ast::as<ast::Name>(field->targets[0]) : nullptr;
  return name ? ast::Identifier{name->text, name->loc} : ast::Identifier{};
}

Loc place_of_member(const ast::Module& module, std::string_view name) {
  for (const ast::Stmt* stmt : module.body) {
    ast::Identifier member = member_declared_by(*stmt);
    if (member.text == name) return member.loc;
  }
  for (const ast::Parameter& parameter : module.parameters) {
    if (parameter.name.text == name) return parameter.name.loc;
  }
  return {};
}

}  // namespace tessera::names
