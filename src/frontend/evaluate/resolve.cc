// Enters the names of a file: what each top-level statement defines. Values are evaluated when they
// are first asked for, so the order of a file's declarations has no meaning.

#include <algorithm>
#include <map>
#include <set>

#include "frontend/binding/import_place.h"
#include "frontend/binding/words.h"
#include "frontend/evaluate/blame_names.h"
#include "frontend/evaluate/kernel_scan.h"
#include "frontend/evaluate/links.h"
#include "frontend/evaluate/session.h"
#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/embedded.h"
#include "ir/schedule/schedule_keys.h"
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
void find_whole_tensors(const Session& session, Function& function) {
  const ast::Def& def = *function.def;
  KernelScan scan = scan_kernel(session, function);
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

/// `@kernel(num_warps=4)`: options of a kernel are those of its schedule.
void help_schedule(DiagnosticEngine::Builder& builder, const ast::Decorator& decorator,
                   const SourceManager& sources) {
  static const std::vector<std::string> options = {"warps", "stages"};
  std::string keys;
  for (const ast::Argument& argument : decorator.arguments) {
    std::string_view here = keyword_here(argument.name.text, options);
    std::string value = source_text(sources, argument.value->loc);
    bool is_key = schedule::find_schedule_key(here.empty() ? argument.name.text : here) && !value.empty();
    if (!is_key) {
      builder.help("a schedule is given so: @kernel.schedule(Schedule(…))");
      return;
    }
    keys += fmt::format("{}{}={}", keys.empty() ? "" : ", ", here.empty() ? argument.name.text : here, value);
  }
  builder.fix("a schedule is given so", decorator.loc, fmt::format("@kernel.schedule(Schedule({}))", keys));
}

}  // namespace

/// Each argument of a decorator must have a meaning, and so must each of several decorators.
/// Schedules are put on top of each other.
bool Session::check_decorator(const ast::Def& def, const ast::Decorator& decorator) {
  std::string name = decorator_name(decorator);
  const names::DecoratorRow& row = *find_decorator(name);
  if (row.meaning == DecoratorMeaning::Unsupported) return true;
  bool has_schedule = row.gives_schedule();
  if (row.gives_derivative()) {
    bool fits = decorator.arguments.size() == 1 && decorator.arguments[0].name.text.empty();
    if (!fits) {
      report(diag::wrong_argument_count, decorator.loc, "@" + name, "1 argument",
             fmt::format("{} are", decorator.arguments.size()))
          .help(fmt::format("'@{}(rule)' names a function", name));
      return false;
    }
  }
  bool takes_any = has_schedule || row.meaning == DecoratorMeaning::Numerics ||
                   row.meaning == DecoratorMeaning::Checkpoint || row.gives_derivative();
  if (!decorator.arguments.empty() && !takes_any) {
    size_t given = decorator.arguments.size();
    auto builder = report(diag::wrong_argument_count, decorator.loc, "@" + name, "no arguments",
                          given == 1 ? "1 is" : fmt::format("{} are", given));
    if (row.is_kernel()) {
      help_schedule(builder, decorator, sources());
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

/// The policy of `@checkpoint`, which is written there: no other name is known yet.
CheckpointPolicy Session::policy_of(const ast::Decorator& decorator) {
  if (decorator.arguments.empty()) return {};
  const ast::Argument& argument = decorator.arguments[0];
  auto value_of = [](const ast::Expr& expr) {
    const auto* text = ast::as<ast::String>(&expr);
    return text ? Datum::string(std::string(text->value)) : Datum::none();
  };
  Datum value = value_of(*argument.value);
  const ast::ExprList* elements = nullptr;
  if (const auto* tuple = ast::as<ast::Tuple>(argument.value)) elements = &tuple->elements;
  if (const auto* list = ast::as<ast::List>(argument.value)) elements = &list->elements;
  if (elements) {
    std::vector<Datum> names;
    for (const ast::Expr* element : *elements) names.push_back(value_of(*element));
    value = Datum::tuple(std::move(names));
  }
  bool fits = decorator.arguments.size() == 1 && (argument.name.text.empty() || argument.name.text == "policy");
  std::optional<CheckpointPolicy> policy = fits ? checkpoint_policy(value) : std::nullopt;
  if (policy) return *policy;
  report(diag::wrong_kind, decorator.loc, fmt::format("the argument of '@{}'", decorator_name(decorator)),
         source_text(sources(), fits ? argument.value->loc : decorator.loc),
         fmt::format("policy={}, written there,", checkpoint_policies));
  return {};
}

/// Entries alone are called from outside.
void Session::warn_of_autodiff(const Function& function) {
  for (const ast::Decorator& decorator : function.def->decorators) {
    const names::DecoratorRow* row = find_decorator(decorator_name(decorator));
    if (!row || row->meaning != DecoratorMeaning::Autodiff) continue;
    report(diag::hint_no_effect, decorator.loc, "'@autodiff' of a function that is not an entry", "any target")
        .help("with '@jit', it makes entries for the derivatives; in a program, 'grad' and 'vjp' take them");
  }
}

/// A rule stands for the ops of its function, and a kernel has no derivative without one.
void Session::warn_of_checkpoints(const Function& function) {
  bool is_kernel = function.kind == FunctionKind::Kernel;
  if (!is_kernel && !function.vjp && !function.jvp) return;
  for (const ast::Decorator& decorator : function.def->decorators) {
    const names::DecoratorRow* row = find_decorator(decorator_name(decorator));
    if (!row || row->meaning != DecoratorMeaning::Checkpoint) continue;
    report(diag::hint_no_effect, decorator.loc, fmt::format("'@{}'", decorator_name(decorator)), "any target")
        .help(is_kernel ? "put it before the function that calls the kernel"
                        : "derivatives call the rule, and compute nothing of the function again");
  }
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
  bool has_errors = false;  // of its decorators
  for (const ast::Decorator& decorator : def.decorators) {
    std::string name = decorator_name(decorator);
    const names::DecoratorRow* row = find_decorator(name);
    if (!row) {
      auto builder = report(diag::unknown_decorator, decorator.loc, name);
      std::string_view help = help_for_decorator(name);
      if (const names::PolicyRow* policy = names::find_policy(name)) {
        builder.help(fmt::format("'@{}' is a policy: it stands behind a dtype or the type of a state{}", name,
                                 policy->is_read ? "" : ", and nothing reads it yet"));
      } else if (!help.empty()) {
        builder.help(std::string(help));
      } else {
        builder.suggest(sources(), decorator.loc, name, names::decorator_names());
      }
      // Its ops on tiles are right in the kernel that it was meant to be.
      if (names::means_kernel(name)) function->kind = FunctionKind::Kernel;
      continue;
    }
    if (!check_decorator(def, decorator)) {
      // Of two kinds, a kernel: it may be of whole tensors as well.
      if (row->is_kernel()) function->kind = FunctionKind::Kernel;
      has_errors = true;
      continue;
    }
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
      case DecoratorMeaning::CustomVjp:
        function->vjp = decorator.arguments[0].value;
        break;
      case DecoratorMeaning::CustomJvp:
        function->jvp = decorator.arguments[0].value;
        break;
      case DecoratorMeaning::Checkpoint:
        function->checkpoint = policy_of(decorator);
        break;
      case DecoratorMeaning::Autodiff:
        function->autodiff = true;
        break;
      case DecoratorMeaning::Unsupported:
        function->unsupported = name;
        break;
    }
  }
  if (function->kind == FunctionKind::Kernel) find_whole_tensors(*this, *function);
  if (function->of_tiles && !has_errors) warn_of_schedules(def);
  if (function->checkpoint) warn_of_checkpoints(*function);
  if (function->autodiff && function->kind != FunctionKind::Jit) warn_of_autodiff(*function);
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
      if (refuse_dtype_name(*this, constant.name.text, constant.name.loc)) return;
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
      report_misplaced(stmt);
  }
}

/// A statement that stands in no function. The first one stands for all of a script.
void Session::report_misplaced(const ast::Stmt& stmt) {
  if (!is_first_use(stmt.loc.file, "statements outside of functions")) return;
  auto builder = report(diag::misplaced_statement, stmt.loc, statement_name(stmt.kind), "at the top level of a file");
  const auto* branch = ast::as<ast::If>(&stmt);
  bool is_main = branch && source_text(sources(), branch->arms[0].condition->loc).starts_with("__name__");
  if (stmt.kind == ast::NodeKind::Return) {
    builder.help("it ends a function: indent it like the other lines of the function's body");
    return;
  }
  builder.help(is_main ? "'tsr run' calls an entry of the bundle, a function with @jit: leave it out"
                       : "a file runs nothing by itself: write the statements in a function with @jit, which 'tsr run' "
                         "calls");
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
    if (refuse_dtype_name(*this, name->text, name->loc)) continue;
    ast::Identifier identifier{name->text, name->loc};
    if (is_new_name(module, identifier)) {
      module.scope->set_pending(name->text, &stmt, name->loc);
    }
  }
}

/// Loads what a file imports, so that its names can be followed before they are entered.
void Session::load_imports(SourceModule& module) {
  auto load = [&](std::span<const ast::Identifier> path, std::span<const ast::ImportedName> names) {
    std::string dotted = ast::dotted(path);
    links().add_import(module, dotted, load_import(dotted, path_loc(path), module, names));
  };
  for (const ast::Declaration& declaration : module.unit.declarations) {
    if (const auto* import = ast::as<ast::Import>(declaration.stmt)) {
      for (const ast::ImportItem& item : import->items) load(item.path, {});
    } else if (const auto* from = ast::as<ast::FromImport>(declaration.stmt)) {
      bool is_language = place_of(ast::dotted(from->path), module).kind == names::ModulePlace::Kind::Language;
      if (!is_language) load(from->path, from->names);
    }
  }
}

/// Whether an import may give its name a meaning; reports when it may not. Those of paths below one name add to it.
bool Session::is_new_import(SourceModule& module, const ast::ImportItem& item) {
  if (!item.alias.text.empty()) return is_new_name(module, item.alias);
  const ast::Identifier& first = item.path[0];
  std::set<std::string>& paths = import_paths_[module.file];
  auto leads_below = [&](const std::string& path) { return path.substr(0, path.find('.')) == first.text; };
  bool is_added = std::any_of(paths.begin(), paths.end(), leads_below);
  bool is_again = item.path.size() == 1 && paths.contains(std::string(first.text));
  const Binding* earlier = module.scope->find_here(first.text);
  bool is_failed = earlier && earlier->value.is_poison() && !earlier->pending && !earlier->alias_scope;
  if ((!is_added || is_again) && !is_failed && !is_new_name(module, first)) return false;
  paths.insert(ast::dotted(item.path));
  return true;
}

void Session::enter_import(SourceModule& module, const ast::Import& stmt) {
  for (const ast::ImportItem& item : stmt.items) {
    const ast::Identifier& name = item.alias.text.empty() ? item.path[0] : item.alias;
    if (links().module(module, ast::dotted(item.path)).kind == names::Linked::Kind::Failed) {
      if (!module.scope->find_here(name.text)) module.scope->set(name.text, Datum::poison(), name.loc);
    } else if (is_new_import(module, item)) {
      module.scope->set(name.text, links().find(links().name(module, name.text)).value(), name.loc);
    }
  }
}

void Session::enter_from_import(SourceModule& module, const ast::FromImport& stmt) {
  std::string path = ast::dotted(stmt.path);
  names::Linked from = links().module(module, path);
  for (const ast::ImportedName& item : stmt.names) {
    const ast::Identifier& name = item.alias.text.empty() ? item.name : item.alias;
    if (!is_new_name(module, name)) continue;
    names::Linked linked = links().member(from, item.name.text);
    Links::Found found = links().find(linked);
    if (found.binding) {
      module.scope->set_alias(name.text, found.scope, Links::name_in_scope(linked), name.loc);
      continue;
    }
    module.scope->set(name.text, found.value(), name.loc);
    if (linked.kind != names::Linked::Kind::Unknown || links().is_broken(from)) continue;
    auto builder = report(diag::unknown_member, item.name.loc, fmt::format("module '{}'", path),
                          item.name.text);
    names::NameSet members = links().members(from);
    std::string_view help = path.starts_with("tessera") ? help_for_name(item.name.text) : std::string_view();
    if (!help.empty()) {
      builder.help(std::string(help));
      continue;
    }
    if (prelude()->find(item.name.text)) {
      builder.help(fmt::format("every file has '{}', without an import", item.name.text));
      continue;
    }
    suggest_member(builder, module, item, nearest_name(item.name.text, {members.begin(), members.end()}));
    bool is_library = path.starts_with("tessera") && embedded_file(fmt::format("{}.tsr", item.name.text));
    if (is_library) builder.help(fmt::format("it is in the module 'tessera.{}' of the library", item.name.text));
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

std::optional<std::vector<Edit>> Session::import_edits(FileId file, std::string_view path,
                                                       std::string_view name) const {
  auto found = by_file_.find(file);
  if (found == by_file_.end()) return std::nullopt;
  if (const Binding* binding = found->second->scope->find_here(name)) {
    bool is_imported = binding->value.is(DatumKind::Function) && is_builtin(binding->value.as_function().loc);
    return is_imported ? std::optional(std::vector<Edit>()) : std::nullopt;
  }
  ImportPlace import(path);
  for (const ast::Declaration& declaration : found->second->unit.declarations) {
    auto owner = by_file_.find(declaration.stmt->loc.file);  // none: the text is that of an #include
    if (owner != by_file_.end() && owner->second == found->second) import.visit(*declaration.stmt);
  }
  if (!import.statement()) return std::nullopt;
  return std::vector<Edit>{{import.place(sources()), import.text(name)}};
}

}  // namespace tessera::frontend
