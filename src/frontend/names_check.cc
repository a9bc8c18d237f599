#include "frontend/names_check.h"

#include <algorithm>
#include <set>

#include "frontend/binding/names.h"
#include "frontend/binding/words.h"
#include "frontend/syntax/ast_walk.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

using NameSet = std::set<std::string_view>;

void append_names(const ast::Node* node, NameSet& names) {
  if (!node) return;
  ast::walk(*node, [&](const ast::Node& each) {
    if (const auto* name = ast::as<ast::Name>(&each)) names.insert(name->text);
    if (const auto* text = ast::as<ast::String>(&each)) names.insert(text->value);
  });
}

/// The names that stand alone as parts of a type, so that arguments give them values: D, and not 2 * D.
void append_bound(const ast::Node* annotation, NameSet& names) {
  if (!annotation) return;
  ast::walk(*annotation, [&](const ast::Node& each) {
    const auto* subscript = ast::as<ast::Subscript>(&each);
    for (const ast::Expr* part : subscript ? subscript->indices : ast::ExprList()) {
      const auto* policy = ast::as<ast::Binary>(part);
      if (policy && policy->op == ast::BinaryOp::MatMul) part = ast::left_spine(*part).back()->left;
      if (const auto* name = ast::as<ast::Name>(part)) names.insert(name->text);
      if (const auto* text = ast::as<ast::String>(part)) names.insert(text->value);
    }
  });
}

/// Whether a body says that it is not written yet: `...` stands for the rest.
bool is_sketch(const ast::Def& def) {
  bool found = false;
  auto look = [&](const ast::Node& node) {
    const auto* stmt = ast::as<ast::ExprStmt>(&node);
    found = found || (stmt && stmt->value->kind == ast::NodeKind::Ellipsis);
  };
  for (const ast::Stmt* stmt : def.body) ast::walk(*stmt, look);
  return found;
}

/// Whether a value is given a name for what else its call does: `t = tile.context(m=M)` declares axes.
bool declares(const ast::Expr& value) {
  const auto* call = ast::as<ast::Call>(&value);
  const auto* callee = call ? ast::as<ast::Attribute>(call->callee) : nullptr;
  return callee && callee->name.text == "context";
}

class NamesCheck {
 public:
  NamesCheck(Session& session, const SourceModule& file)
      : session_(session),
        file_(file),
        names_(names::bind_names(session.sources(), file.file, file.unit.declarations)) {}

  void run() {
    for (const ast::Declaration& declaration : file_.unit.declarations) look(*declaration.stmt);
    for (const names::Declared& declared : names_.declared) signature(declared);
    for (const ast::Stmt* stmt : names_.unreachable) session_.report(diag::unreachable, stmt->loc).help("leave it out");
    for (const ast::Identifier& macro : file_.unit.names.unused_macros) unused_macro(macro);
  }

 private:
  /// Whether a name may be without use: the lines that are left out in this compilation may have one.
  bool may_be_unused(std::string_view name) const {
    return name.starts_with('_') || file_.unit.names.skipped.contains(name);
  }
  /// The local that a name declares there; null where another place has declared it, or it is no name of the file.
  const names::Local* declared_at(Loc loc) const {
    if (loc.file != file_.file) return nullptr;
    TextRange place = place_in(session_.sources(), loc);
    const names::Occurrence* found = names_.beginning_at(place.begin);
    if (!found || found->local < 0) return nullptr;
    const names::Local& local = names_.locals[size_t(found->local)];
    return local.range == place ? &local : nullptr;
  }

  void look(const ast::Stmt& stmt) {
    if (const auto* import = ast::as<ast::Import>(&stmt)) return imports(*import);
    if (const auto* from = ast::as<ast::FromImport>(&stmt)) return imports(*from);
    const auto* def = ast::as<ast::Def>(&stmt);
    if (def && is_sketch(*def)) return;
    ast::walk(stmt, [&](const ast::Node& node) {
      const auto* assign = ast::as<ast::Assign>(&node);
      if (!assign || !assign->value || declares(*assign->value)) return;
      for (const ast::Expr* target : assign->targets) variable(*target);
    });
  }

  void variable(const ast::Expr& target) {
    const auto* name = ast::as<ast::Name>(&target);
    const names::Local* local = name ? declared_at(name->loc) : nullptr;
    bool is_unused = local && local->kind == names::SymbolKind::Variable && !local->is_read;
    if (!is_unused || may_be_unused(name->text)) return;
    session_.report(diag::unused_variable, name->loc, name->text)
        .help(fmt::format("use it, leave the statement out, or name it '_{}'", name->text));
  }

  /// A file without code of its own is there for others, which may import from it what it imports.
  bool has_code() const {
    return std::ranges::any_of(names_.declared, [](const names::Declared& each) {
      return each.kind == names::SymbolKind::Entry || each.kind == names::SymbolKind::Kernel;
    });
  }
  void imports(const ast::Import& stmt) {
    for (const ast::ImportItem& item : stmt.items) {
      import(item.alias.text.empty() ? item.path.front() : item.alias, item.path);
    }
  }
  void imports(const ast::FromImport& stmt) {
    for (const ast::ImportedName& item : stmt.names) {
      import(item.alias.text.empty() ? item.name : item.alias, stmt.path);
    }
  }
  /// Files may be imported for their params, which the program then has.
  void import(const ast::Identifier& name, std::span<const ast::Identifier> path) {
    auto uses = [&](const ast::Declaration& declaration) {
      return session_.free_names(*declaration.stmt).contains(name.text);
    };
    bool is_library = !path.empty() && path.front().text == "tessera";
    bool is_used = std::ranges::any_of(file_.unit.declarations, uses);
    if (is_used || !has_code() || (!is_library && has_params_elsewhere()) || may_be_unused(name.text)) return;
    session_.report(diag::unused_import, name.loc, name.text).help("leave it out");
  }
  bool has_params_elsewhere() const {
    return std::ranges::any_of(session_.params(), [&](const auto& each) { return each.loc.file != file_.file; });
  }

  void signature(const names::Declared& declared) {
    const auto* def = ast::as<ast::Def>(declared.stmt);
    bool is_entry = declared.kind == names::SymbolKind::Entry;
    if (!def || !(is_entry || declared.kind == names::SymbolKind::Kernel)) return;
    if (is_entry) hidden_params(*def);
    if (is_sketch(*def)) return;
    for (const ast::Parameter& parameter : def->parameters) {
      const names::Local* local = declared_at(parameter.name.loc);
      if (!local || local->is_read || may_be_unused(parameter.name.text) || gives_size(*def, parameter)) continue;
      session_.report(diag::unused_parameter, parameter.name.loc, def->name.text, parameter.name.text)
          .help(fmt::format("use it, leave it out, or name it '_{}'", parameter.name.text));
    }
  }

  /// Whether the type of a parameter alone gives a size or a dtype that the function uses.
  bool gives_size(const ast::Def& def, const ast::Parameter& parameter) const {
    NameSet own, others;
    append_bound(parameter.annotation, own);
    NameSet used;
    for (const ast::Stmt* stmt : def.body) append_names(stmt, used);
    for (const ast::Expr* clause : def.where) append_names(clause, used);
    append_names(def.return_type, used);
    for (const ast::Parameter& other : def.parameters) {
      if (&other == &parameter) continue;
      append_bound(other.annotation, others);
      append_names(other.annotation, used);  // 2 * D needs that D has a value
    }
    return std::ranges::any_of(own, [&](std::string_view name) {
      return is_open(name) && used.contains(name) && !others.contains(name);
    });
  }
  /// Whether a name in a type gets its value by calls: it is none of the language, and no constant.
  bool is_open(std::string_view name) const {
    if (names::is_word(name, names::WordKind::Type) || names::is_word(name, names::WordKind::DType)) return false;
    const Binding* binding = file_.scope->find_here(name);
    return !binding || binding->value.is(DatumKind::Dim);
  }

  void hidden_params(const ast::Def& def) {
    for (const ast::Parameter& parameter : def.parameters) {
      auto is_same = [&](const ParamDeclaration& each) {
        return each.name == parameter.name.text && each.key == each.name && each.loc.file == file_.file;
      };
      auto param = std::ranges::find_if(session_.params(), is_same);
      if (param == session_.params().end()) continue;
      session_.report(diag::hidden_param, parameter.name.loc, parameter.name.text, def.name.text)
          .label(param->loc, "the param is here")
          .help("leave it out of the entry, which reads the param, or give it another name");
    }
  }

  void unused_macro(const ast::Identifier& macro) {
    if (may_be_unused(macro.text)) return;
    auto builder = session_.report(diag::unused_macro, macro.loc, macro.text);
    bool is_condition = file_.unit.names.conditions.contains(macro.text);
    builder.help(is_condition ? "conditions see what -D defines alone: give it there" : "leave it out");
  }

  Session& session_;
  const SourceModule& file_;
  names::FileNames names_;
};

/// -D defines names for all files that are read.
void check_defines(Session& session) {
  std::vector<std::string> read;
  for (const auto& module : session.modules()) {
    const auto& conditions = module->unit.names.conditions;
    read.insert(read.end(), conditions.begin(), conditions.end());
  }
  for (const auto& [name, value] : session.options().parse.defines) {
    if (std::ranges::find(read, name) != read.end()) continue;
    auto builder = session.diagnostics().report(diag::unused_define, Loc{}, name);
    std::string nearest = nearest_name(name, read);
    builder.help(nearest.empty() ? fmt::format("-D chooses lines by conditions: %if defined({})", name)
                                 : fmt::format("did you mean '{}'?", nearest));
  }
}

}  // namespace

void check_names(Session& session, const SourceModule& file) {
  size_t first = session.diagnostics().all().size();
  NamesCheck(session, file).run();
  check_defines(session);
  session.diagnostics().sort_from(first);
}

}  // namespace tessera::frontend
