#include "lsp/declared.h"

#include <algorithm>

#include "lsp/piece.h"

namespace tessera::lsp {

namespace {

class Lister {
 public:
  explicit Lister(const Piece& piece) : piece_(piece) {}

  std::vector<Declared> run() {
    for (const ast::Declaration& declaration : piece_.declarations) {
      size_t before = out_.size();
      statement(*declaration.stmt, out_);
      if (out_.size() == before && declaration.has_error) from_tokens(piece_.range(declaration.stmt->loc));
    }
    return std::move(out_);
  }

 private:
  using List = std::vector<Declared>;

  Declared* add(List& out, const ast::Identifier& name, DeclaredKind kind, const ast::Stmt& stmt) {
    if (name.text.empty() || name.loc.file != piece_.file || stmt.loc.file != piece_.file) return nullptr;
    Declared& made = out.emplace_back();
    made.name = name.text;
    made.kind = kind;
    made.name_range = piece_.range(name.loc);
    made.range = piece_.range(stmt.loc);
    made.range.end = std::max(made.range.end, made.name_range.end);
    made.range.begin = std::min(made.range.begin, made.name_range.begin);
    made.stmt = &stmt;
    return &made;
  }
  void statement(const ast::Stmt& stmt, List& out);
  void def(const ast::Def& def, DeclaredKind kind, List& out);
  void module(const ast::Module& module, List& out);
  void assign(const ast::Assign& assign, DeclaredKind kind, List& out);
  void imports(const ast::Stmt& stmt, List& out);
  void from_tokens(Range range);

  const Piece& piece_;
  List out_;
};

DeclaredKind kind_of(const ast::Def& def) {
  DeclaredKind kind = DeclaredKind::Function;
  for (const ast::Decorator& decorator : def.decorators) {
    std::string name = ast::dotted(decorator.path);
    if (name.starts_with("tessera.")) name.erase(0, 8);
    if (name == "jit") kind = DeclaredKind::Entry;
    if (name == "kernel" || name.starts_with("kernel.")) kind = DeclaredKind::Kernel;
  }
  return kind;
}

void Lister::def(const ast::Def& def, DeclaredKind kind, List& out) { add(out, def.name, kind, def); }

void Lister::assign(const ast::Assign& assign, DeclaredKind kind, List& out) {
  for (const ast::Expr* target : assign.targets) {
    const auto* name = ast::as<ast::Name>(target);
    if (name) add(out, {name->text, name->loc}, kind, assign);
  }
}

void Lister::module(const ast::Module& module, List& out) {
  Declared* made = add(out, module.name, DeclaredKind::Module, module);
  if (!made) return;
  List members;
  for (const ast::Stmt* stmt : module.body) {
    if (const auto* method = ast::as<ast::Def>(stmt)) {
      def(*method, DeclaredKind::Method, members);
    } else if (const auto* field = ast::as<ast::Assign>(stmt)) {
      assign(*field, DeclaredKind::Field, members);
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
      Declared* made = add(out, name, DeclaredKind::Namespace, stmt);
      if (made) made->path = ast::dotted(item.path);
      // `import a.b` makes `a` a namespace that has `b`.
      bool nested = made && item.alias.text.empty() && item.path.size() > 1;
      if (nested) made->imported = made->path;
    }
    return;
  }
  const auto& from = ast::cast<ast::FromImport>(stmt);
  for (const ast::ImportedName& item : from.names) {
    const ast::Identifier& name = item.alias.text.empty() ? item.name : item.alias;
    Declared* made = add(out, name, DeclaredKind::Imported, stmt);
    if (!made) continue;
    made->path = ast::dotted(from.path);
    made->imported = item.name.text;
  }
}

void Lister::statement(const ast::Stmt& stmt, List& out) {
  switch (stmt.kind) {
    case ast::NodeKind::Def: return def(ast::cast<ast::Def>(stmt), kind_of(ast::cast<ast::Def>(stmt)), out);
    case ast::NodeKind::Module: return module(ast::cast<ast::Module>(stmt), out);
    case ast::NodeKind::Const: add(out, ast::cast<ast::Const>(stmt).name, DeclaredKind::Constant, stmt); return;
    case ast::NodeKind::Assign: return assign(ast::cast<ast::Assign>(stmt), DeclaredKind::Constant, out);
    case ast::NodeKind::Param:
      for (const ast::Identifier& name : ast::cast<ast::Param>(stmt).names) add(out, name, DeclaredKind::Param, stmt);
      return;
    case ast::NodeKind::Dim:
      for (const ast::Identifier& name : ast::cast<ast::Dim>(stmt).names) add(out, name, DeclaredKind::Dim, stmt);
      return;
    case ast::NodeKind::Import:
    case ast::NodeKind::FromImport: return imports(stmt, out);
    default: return;
  }
}

/// `def name`, `module name`, `const name`: enough to show and find a half-typed declaration.
void Lister::from_tokens(Range range) {
  DeclaredKind kind = DeclaredKind::Function;
  bool announced = false;
  for (const RawToken& token : piece_.tokens) {
    if (token.role != TokenRole::Code || token.offset < range.begin) continue;
    std::string_view text = piece_.text(token);
    if (announced && token.kind == TokenKind::Name) {
      Declared& made = out_.emplace_back();
      made.name = text;
      made.kind = kind;
      made.name_range = {token.offset, token.offset + token.length};
      made.range = {std::min(range.begin, token.offset), std::max(range.end, made.name_range.end)};
      return;
    }
    announced = true;
    if (token.kind == TokenKind::Def) {
      // What its decorators said stays.
    } else if (text == "module") {
      kind = DeclaredKind::Module;
    } else if (text == "const") {
      kind = DeclaredKind::Constant;
    } else {
      announced = false;
      if (text == "jit") kind = DeclaredKind::Entry;
      if (text == "kernel") kind = DeclaredKind::Kernel;
    }
  }
}

}  // namespace

std::vector<Declared> list_declared(const Piece& piece) { return Lister(piece).run(); }

}  // namespace tessera::lsp
