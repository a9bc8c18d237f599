#include "lsp/model/declared.h"

#include <algorithm>

#include "frontend/binding/words.h"
#include "lsp/model/piece.h"

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

  Declared* add(List& out, const ast::Identifier& name, SymbolKind kind, const ast::Stmt& stmt) {
    if (name.text.empty() || name.loc.file != piece_.file || stmt.loc.file != piece_.file) return nullptr;
    Declared& made = out.emplace_back();
    made.name = name.text;
    made.kind = kind;
    made.name_range = piece_.range(name.loc);
    made.range = piece_.range(stmt.loc);
    made.range.end = std::max(end_of_code(made.range.end), made.name_range.end);
    made.range.begin = std::min(made.range.begin, made.name_range.begin);
    made.stmt = &stmt;
    return &made;
  }
  /// The end of the last token of code before an offset: a block's tree goes on to what follows it.
  uint32_t end_of_code(uint32_t offset) const {
    auto at = std::partition_point(piece_.tokens.begin(), piece_.tokens.end(),
                                   [&](const RawToken& token) { return token.offset < offset; });
    while (at != piece_.tokens.begin()) {
      const RawToken& token = *--at;
      bool is_code = token.role == TokenRole::Code && !is_trivia(token.kind) && token.length > 0;
      if (is_code) return std::min(token.offset + token.length, offset);
    }
    return offset;
  }
  void statement(const ast::Stmt& stmt, List& out);
  void def(const ast::Def& def, SymbolKind kind, List& out);
  void module(const ast::Module& module, List& out);
  void assign(const ast::Assign& assign, SymbolKind kind, List& out);
  void imports(const ast::Stmt& stmt, List& out);
  void from_tokens(Range range);

  const Piece& piece_;
  List out_;
};

SymbolKind kind_of(const ast::Def& def) {
  SymbolKind kind = SymbolKind::Function;
  for (const ast::Decorator& decorator : def.decorators) {
    std::string name = ast::dotted(decorator.path);
    const names::DecoratorRow* row = names::find_decorator(name);
    if (row && row->meaning == names::DecoratorMeaning::Jit) kind = SymbolKind::Entry;
    if (names::means_kernel(name)) kind = SymbolKind::Kernel;
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

/// `def name`, `module name`, `const name`: enough to show and find a half-typed declaration.
void Lister::from_tokens(Range range) {
  SymbolKind kind = SymbolKind::Function;
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
      kind = SymbolKind::Module;
    } else if (text == "const") {
      kind = SymbolKind::Constant;
    } else {
      announced = false;
      if (text == "jit") kind = SymbolKind::Entry;
      if (text == "kernel") kind = SymbolKind::Kernel;
    }
  }
}

}  // namespace

std::vector<Declared> list_declared(const Piece& piece) { return Lister(piece).run(); }

}  // namespace tessera::lsp
