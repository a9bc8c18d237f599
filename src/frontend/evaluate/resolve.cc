// Enters the names of a file: what each top-level statement defines. Values are evaluated when they
// are first asked for, so the order of a file's declarations has no meaning.

#include <algorithm>
#include <map>
#include <set>

#include "frontend/binding/words.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/kernel_scan.h"
#include "frontend/evaluate/session.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/foreign.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

using names::DecoratorMeaning;
using names::find_decorator;

std::string decorator_name(const ast::Decorator& decorator) {
  std::string name = ast::dotted(decorator.path);
  constexpr std::string_view prefix = "tessera.";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

/// "an 'if' statement": what a message calls a statement that does not belong where it stands.
std::string_view statement_name(ast::NodeKind kind) {
  switch (kind) {
    case ast::NodeKind::ExprStmt:
      return "an expression";
    case ast::NodeKind::AugAssign:
      return "an augmented assignment";
    case ast::NodeKind::Return:
      return "a 'return'";
    case ast::NodeKind::If:
      return "an 'if' statement";
    case ast::NodeKind::For:
      return "a 'for' loop";
    case ast::NodeKind::While:
      return "a 'while' loop";
    case ast::NodeKind::With:
      return "a 'with' statement";
    case ast::NodeKind::On:
      return "an 'on' statement";
    default:
      return "this statement";
  }
}

bool is_bare_tile(const ast::Expr* annotation) {
  const auto* name = ast::as<ast::Name>(annotation);
  return name && name->text == "Tile";
}

/// A kernel that names no axes and says nothing about tiles, or takes and gives bare ones, is a
/// function on whole tensors: how these are cut is left to the compiler. One of bare tiles is
/// generic, so that only calls compile it.
void find_whole_tensors(Function& function) {
  const ast::Def& def = *function.def;
  KernelScan scan = scan_kernel(def);
  if (def.is_declaration() || scan.context) return;
  bool bare = std::any_of(def.parameters.begin(), def.parameters.end(), [](const ast::Parameter& parameter) {
    return is_bare_tile(parameter.annotation);
  });
  if (scan.uses_tiles && !bare) return;
  function.of_tiles = true;
  function.kind = bare ? FunctionKind::Plain : FunctionKind::Jit;
}

/// The place of a dotted name.
Loc path_loc(std::span<const ast::Identifier> path) {
  Loc loc = path.front().loc, last = path.back().loc;
  if (last.file == loc.file && last.line == loc.line && last.column > loc.column) {
    loc.length = last.column + last.length - loc.column;
  }
  return loc;
}

bool is_docstring(const ast::Stmt& stmt) {
  const auto* expression = ast::as<ast::ExprStmt>(&stmt);
  return expression && expression->value->kind == ast::NodeKind::String;
}

}  // namespace

/// Each argument of a decorator must have a meaning, and so must each of several decorators.
/// Schedules are put on top of each other.
bool Session::check_decorator(const ast::Def& def, const ast::Decorator& decorator) {
  std::string name = decorator_name(decorator);
  const names::DecoratorRow& row = *find_decorator(name);
  if (row.meaning == DecoratorMeaning::Unsupported) return true;
  bool has_schedule = row.gives_schedule();
  if (!decorator.arguments.empty() && !has_schedule && row.meaning != DecoratorMeaning::Numerics) {
    size_t given = decorator.arguments.size();
    auto builder = report(diag::wrong_argument_count, decorator.loc, "@" + name, "no arguments",
                          given == 1 ? "1 is" : fmt::format("{} are", given));
    if (row.is_kernel()) {
      builder.help("a schedule is given so: @kernel.schedule(Schedule(…))");
    } else {
      builder.help(fmt::format("write '@{}' alone", name));
    }
  }
  for (const ast::Decorator& earlier : def.decorators) {
    if (&earlier == &decorator) break;
    std::string other = decorator_name(earlier);
    const names::DecoratorRow* before = find_decorator(other);
    if (!before) continue;
    bool is_same = other == name && !has_schedule;
    bool is_entry = row.meaning == DecoratorMeaning::Jit, was_entry = before->meaning == DecoratorMeaning::Jit;
    bool are_two_kinds = (is_entry && before->is_kernel()) || (row.is_kernel() && was_entry);
    if (!is_same && !are_two_kinds) continue;
    auto builder = report(diag::misplaced_statement, decorator.loc, fmt::format("'@{}'", name),
                          fmt::format("beside {}'@{}'", is_same ? "another " : "", other));
    builder.label(earlier.loc, "the other one");
    builder.help(is_same ? "leave one out" : "a function is an entry or a kernel; an entry can call the kernel");
    return false;
  }
  return true;
}

/// The compiler chooses the tiles of a kernel on whole tensors, whatever schedule it has.
void Session::warn_of_schedules(const ast::Def& def) {
  for (const ast::Decorator& decorator : def.decorators) {
    std::string name = decorator_name(decorator);
    const names::DecoratorRow* row = find_decorator(name);
    if (!row || !row->gives_schedule()) continue;
    report(diag::hint_no_effect, decorator.loc, fmt::format("'@{}'", name), "any target")
        .help(fmt::format("'{}' names no axes; a kernel that calls tile.context has a schedule", def.name.text));
  }
}

Function* Session::make_function(const ast::Def& def, Scope& scope) {
  Function* function = new_function();
  function->name = std::string(def.name.text);
  function->def = &def;
  function->scope = &scope;
  function->loc = def.name.loc;
  for (const ast::Decorator& decorator : def.decorators) {
    std::string name = decorator_name(decorator);
    const names::DecoratorRow* row = find_decorator(name);
    if (!row) {
      auto builder = report(diag::unknown_decorator, decorator.loc, name);
      std::string_view help = help_for_decorator(name);
      if (names::is_policy(name)) {
        builder.help(fmt::format("'@{}' is a policy: it stands behind a dtype or the type of a state", name));
      } else if (!help.empty()) {
        builder.help(std::string(help));
      } else {
        builder.suggest(sources(), decorator.loc, name, names::decorator_names());
      }
      // Its ops on tiles are right in the kernel that it was meant to be.
      if (names::means_kernel(name)) function->kind = FunctionKind::Kernel;
      continue;
    }
    if (!check_decorator(def, decorator)) continue;
    switch (row->meaning) {
      case DecoratorMeaning::Jit:
        function->kind = FunctionKind::Jit;
        break;
      case DecoratorMeaning::Kernel:
      case DecoratorMeaning::KernelSchedule:
        function->kind = FunctionKind::Kernel;
        break;
      case DecoratorMeaning::Pure:
        function->pure = true;
        break;
      case DecoratorMeaning::Numerics:
        function->numerics = &decorator;
        break;
      case DecoratorMeaning::Autodiff:
        report(diag::hint_no_effect, decorator.loc, "'@autodiff'", "any target");
        break;
      case DecoratorMeaning::Unsupported:
        function->unsupported = name;
        break;
    }
  }
  if (function->kind == FunctionKind::Kernel) find_whole_tensors(*function);
  if (function->of_tiles) warn_of_schedules(def);
  return function;
}

void Session::enter_names(SourceModule& module) {
  for (const ast::Declaration& declaration : module.unit.declarations) {
    enter(module, *declaration.stmt);
  }
}

bool Session::is_new_name(SourceModule& module, const ast::Identifier& name) {
  if (name.text.empty()) return false;
  Binding* earlier = module.scope->find_here(name.text);
  if (!earlier) return true;
  report(diag::duplicate_name, name.loc, name.text).label(earlier->loc, "it is defined here first");
  return false;
}

void Session::enter(SourceModule& module, const ast::Stmt& stmt) {
  Scope& scope = *module.scope;
  switch (stmt.kind) {
    case ast::NodeKind::Def:
      return enter_def(module, ast::cast<ast::Def>(stmt));
    case ast::NodeKind::Param:
      return enter_params(module, ast::cast<ast::Param>(stmt));
    case ast::NodeKind::Assign:
      return enter_assignment(module, ast::cast<ast::Assign>(stmt));
    case ast::NodeKind::Import:
      return enter_import(module, ast::cast<ast::Import>(stmt));
    case ast::NodeKind::FromImport:
      return enter_from_import(module, ast::cast<ast::FromImport>(stmt));
    case ast::NodeKind::Const: {
      const auto& constant = ast::cast<ast::Const>(stmt);
      if (is_new_name(module, constant.name)) {
        scope.set_pending(constant.name.text, &stmt, constant.name.loc);
      }
      return;
    }
    case ast::NodeKind::Dim:
      for (const ast::Identifier& name : ast::cast<ast::Dim>(stmt).names) {
        if (!is_new_name(module, name)) continue;
        scope.set(name.text, Datum::dim(dims().symbol(name.text)), name.loc);
      }
      return;
    case ast::NodeKind::Module:
      return enter_module(module, ast::cast<ast::Module>(stmt));
    case ast::NodeKind::Pass:
    case ast::NodeKind::ErrorStmt:
      return;
    default:
      // A broken layout leaves parts of functions at the top level.
      if (is_docstring(stmt) || module.broken) return;
      report(diag::misplaced_statement, stmt.loc, statement_name(stmt.kind),
             "at the top level of a file");
  }
}

void Session::enter_def(SourceModule& module, const ast::Def& def) {
  if (!is_new_name(module, def.name)) return;
  module.scope->set(def.name.text, Datum::function(make_function(def, *module.scope)),
                    def.name.loc);
}

void Session::enter_params(SourceModule& module, const ast::Param& stmt) {
  for (const ast::Identifier& name : stmt.names) {
    if (!is_new_name(module, name)) continue;
    ParamDeclaration declaration;
    declaration.name = std::string(name.text);
    declaration.key = joined_key(module.key_prefix, name.text);
    declaration.annotation = stmt.annotation;
    declaration.initialiser = stmt.initialiser;
    declaration.scope = module.scope;
    declaration.loc = name.loc;
    const ParamDeclaration* added = add_param(std::move(declaration));
    Datum value;
    if (added) value = Datum::object(std::make_shared<ParamReference>(added));
    module.scope->set(name.text, std::move(value), name.loc);
  }
}

void Session::enter_assignment(SourceModule& module, const ast::Assign& stmt) {
  for (const ast::Expr* target : stmt.targets) {
    const auto* name = ast::as<ast::Name>(target);
    if (target->kind == ast::NodeKind::ErrorExpr) continue;
    if (!name || !stmt.value) {
      report(diag::misplaced_statement, target->loc, "an assignment to anything but a name",
             "at the top level of a file");
      continue;
    }
    ast::Identifier identifier{name->text, name->loc};
    if (is_new_name(module, identifier)) {
      module.scope->set_pending(name->text, &stmt, name->loc);
    }
  }
}

void Session::define_namespace(SourceModule& module, const ast::ImportItem& item,
                               SourceModule& target) {
  Datum value = Datum::name_space(&target.as_namespace);
  if (!item.alias.text.empty() || item.path.size() == 1) {
    const ast::Identifier& name = item.alias.text.empty() ? item.path[0] : item.alias;
    if (is_new_name(module, name)) module.scope->set(name.text, value, name.loc);
    return;
  }
  // `import a.b` makes `a` a namespace in which `b` is found; a second such import adds to it.
  for (size_t i = item.path.size() - 1; i > 0; --i) {
    Namespace* outer = new_namespace();
    outer->name = ast::dotted(item.path.subspan(0, i));
    Binding* known = i == 1 ? module.scope->find(item.path[0].text) : nullptr;
    if (known && known->value.is(DatumKind::Namespace)) {
      outer->members = known->value.as_namespace().members;
    }
    outer->members[std::string(item.path[i].text)] = value;
    value = Datum::name_space(outer);
  }
  module.scope->set(item.path[0].text, value, item.path[0].loc);
}

void Session::enter_import(SourceModule& module, const ast::Import& stmt) {
  for (const ast::ImportItem& item : stmt.items) {
    SourceModule* target = load_import(ast::dotted(item.path), path_loc(item.path), module);
    if (target) {
      define_namespace(module, item, *target);
    } else {
      const ast::Identifier& name = item.alias.text.empty() ? item.path[0] : item.alias;
      if (!module.scope->find(name.text)) module.scope->set(name.text, Datum::poison(), name.loc);
    }
  }
}

void Session::enter_from_import(SourceModule& module, const ast::FromImport& stmt) {
  std::string path = ast::dotted(stmt.path);
  bool builtin_ops = path == "tessera.ops" || path == "tessera";
  SourceModule* target = builtin_ops ? nullptr : load_import(path, path_loc(stmt.path), module);
  Scope* scope = builtin_ops ? prelude_ : target ? target->scope : nullptr;
  for (const ast::ImportedName& item : stmt.names) {
    const ast::Identifier& name = item.alias.text.empty() ? item.name : item.alias;
    if (!is_new_name(module, name)) continue;
    if (scope && scope->find_here(item.name.text)) {
      module.scope->set_alias(name.text, scope, item.name.text, name.loc);
      continue;
    }
    module.scope->set(name.text, Datum::poison(), name.loc);
    if (!scope || (target && target->broken)) continue;
    auto builder = report(diag::unknown_member, item.name.loc, fmt::format("module '{}'", path),
                          item.name.text);
    std::vector<std::string> members;
    for (const auto& [member, binding] : scope->names_here()) members.push_back(member);
    suggest_member(builder, module, item, nearest_name(item.name.text, members));
  }
}

/// A name that an import was to give has the same spelling where it is used.
void Session::suggest_member(DiagnosticEngine::Builder& builder, const SourceModule& module,
                             const ast::ImportedName& item, const std::string& nearest) {
  if (nearest.empty()) return;
  is_first_use(item.name.loc.file, nearest);  // that the right name is not defined is no other error
  std::set<std::tuple<uint32_t, uint32_t>> uses;
  auto add_use = [&](const ast::Node& node) {
    const auto* name = ast::as<ast::Name>(&node);
    bool is_use = name && name->text == item.name.text && name->loc.file == item.name.loc.file &&
                  source_text(sources(), name->loc) == name->text;
    if (is_use) uses.emplace(name->loc.line, name->loc.column);
  };
  for (const ast::Declaration& declaration : module.unit.declarations) {
    if (item.alias.text.empty()) ast::walk(*declaration.stmt, add_use);
  }
  uses.emplace(item.name.loc.line, item.name.loc.column);
  std::vector<Edit> edits;
  for (auto [line, column] : uses) {
    edits.push_back({{item.name.loc.file, line, column, uint32_t(item.name.text.size())}, nearest});
  }
  builder.fix(fmt::format("did you mean '{}'?", nearest), std::move(edits));
}

namespace {

/// The line that a statement begins on, with its decorators and the comment above it.
uint32_t first_line(const SourceManager& sources, const ast::Stmt& stmt) {
  uint32_t line = stmt.loc.line;
  if (const auto* def = ast::as<ast::Def>(&stmt)) {
    for (const ast::Decorator& decorator : def->decorators) line = std::min(line, decorator.loc.line);
  }
  const SourceFile& file = sources.file(stmt.loc.file);
  uint32_t above = line;
  while (above > 1 && file.line(above - 1).starts_with('#')) --above;
  return above > 1 ? above : line;  // what the file begins with is about the file
}

}  // namespace

std::optional<Edit> Session::import_edit(FileId file, std::string_view path, std::string_view name) const {
  auto found = by_file_.find(file);
  if (found == by_file_.end()) return std::nullopt;
  const ast::Stmt* first = nullptr;
  bool is_import = false;
  for (const ast::Declaration& declaration : found->second->unit.declarations) {
    const ast::Stmt& stmt = *declaration.stmt;
    if (stmt.loc.file != file || is_docstring(stmt)) continue;
    const auto* import = ast::as<ast::FromImport>(&stmt);
    if (import && !import->names.empty() && ast::dotted(import->path) == path) {
      const ast::ImportedName& last = import->names.back();
      return Edit{(last.alias.text.empty() ? last.name : last.alias).loc.behind(), fmt::format(", {}", name)};
    }
    bool imports = import || stmt.kind == ast::NodeKind::Import;
    if (!first || (imports && !is_import)) first = &stmt;
    is_import = is_import || imports;
  }
  if (!first) return std::nullopt;
  uint32_t line = is_import ? first->loc.line : first_line(sources(), *first);
  return Edit{{file, line, 1, 0}, fmt::format("from {} import {}\n{}", path, name, is_import ? "" : "\n")};
}

}  // namespace tessera::frontend
