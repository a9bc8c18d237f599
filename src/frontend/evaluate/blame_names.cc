#include "frontend/evaluate/blame_names.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "frontend/binding/binder.h"
#include "frontend/binding/declared.h"
#include "frontend/binding/words.h"
#include "frontend/evaluate/links.h"
#include "frontend/evaluate/schedule_value.h"
#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/syntax/lines.h"
#include "frontend/values/embedded.h"
#include "frontend/values/modules.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// Of text that is read for an error; of longer ones nothing is known, so that many errors in a long text take no
/// longer.
constexpr size_t longest_text = size_t(64) << 10;

/// Helps with a name that other languages have; false for any other.
bool help_foreign_name(DiagnosticEngine::Builder& builder, std::string_view name, Loc loc) {
  constexpr std::pair<std::string_view, std::string_view> same[] = {
      {"tl", "tile"}, {"true", "True"}, {"false", "False"}, {"null", "None"}, {"nil", "None"}};
  for (const auto& [foreign, ours] : same) {
    if (foreign != name) continue;
    builder.fix(fmt::format("write '{}'", ours), loc, std::string(ours));
    return true;
  }
  if (std::string_view dtype = dtype_here(name); !dtype.empty()) {
    builder.fix(fmt::format("the dtype is '{}' here", dtype), loc, std::string(dtype));
    return true;
  }
  if (std::string_view ours = constant_here(name); name.size() > 1 && !ours.empty()) {
    builder.fix(fmt::format("write {}", ours), loc, std::string(ours));
    return true;
  }
  for (std::string_view help : {help_for_name(name), help_for_dtype(name), help_for_statement(name)}) {
    if (help.empty()) continue;
    builder.help(std::string(help));
    return true;
  }
  return false;
}

/// `Tensor`, `dim`: words of types are in no scope.
bool is_type_word(std::string_view name) {
  bool is_capitalised = std::isupper(static_cast<unsigned char>(name[0]));
  bool is_title = is_capitalised && std::any_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return is_title || names::find_type(name);
}

/// Whether a name that is not defined is spelt several times (a member: behind dots), and the nearest one only where
/// it is defined.
bool is_misspelt(Session& session, Loc defined, std::string_view nearest, std::string_view name,
                 bool is_member = false) {
  if (!defined.known() || session.is_builtin(defined)) return false;
  if (session.sources().file(defined.file).text().size() > longest_text) return false;
  return session.count_uses(defined, nearest) == 1 && session.count_uses(defined, name, is_member) > 1;
}

void blame_definition(DiagnosticEngine::Builder& builder, Loc defined, std::string_view nearest,
                      std::string_view name, Loc use) {
  builder.label(defined, fmt::format("'{}' is defined here, and used nowhere", nearest))
      .label(use, fmt::format("'{}' is asked for here", name))
      .fix(fmt::format("did you mean '{}'?", name), defined, std::string(name));
}

constexpr size_t shortest_misspelt = 5;  // shorter names are near to much

/// The names of tessera.nn, read once: many errors ask for them.
const std::vector<std::string>& library_names() {
  static const std::vector<std::string> names = names::exported_names(embedded_file("nn.tsr").value_or(""));
  return names;
}

/// Where a binding has its name; functions that are called from outside need not be named in the
/// file again.
Loc place_of_name(const Binding* binding, std::string_view name) {
  if (!binding || !binding->loc.known()) return {};
  bool is_entry = binding->value.is(DatumKind::Function) && binding->value.as_function().kind != FunctionKind::Plain;
  return is_entry ? Loc{} : Loc{binding->loc.file, binding->loc.line, binding->loc.column, uint32_t(name.size())};
}

/// Says that a name, or the nearest to it, is imported from tessera.nn; false when that has no such name.
bool help_import(const Session& session, DiagnosticEngine::Builder& builder, std::string_view name,
                 std::string_view nearest, Loc loc) {
  std::optional<std::vector<Edit>> edits = library_import(session, nearest, loc);
  if (!edits) return false;
  if (name != nearest) edits->push_back({loc, std::string(nearest)});
  bool is_written = source_text(session.sources(), loc) == name;
  std::string message = fmt::format("'{}' is imported from tessera.nn", nearest);
  is_written ? builder.fix(std::move(message), std::move(*edits)) : builder.help(std::move(message));
  return true;
}

/// Where the function in progress assigns a name that has no value yet; false where it does not.
bool label_assignment(const Blame& blame, DiagnosticEngine::Builder& builder, std::string_view name, Loc loc) {
  const Function* function = blame.frame() ? blame.frame()->function : nullptr;
  if (!function || !function->def) return false;
  std::vector<names::Assigned> assigned;
  names::append_assigned(function->def->body, assigned);
  std::erase_if(assigned, [&](const names::Assigned& each) { return !each.is_value || each.name.text != name; });
  if (assigned.empty()) return false;
  auto other = std::ranges::find_if(assigned, [&](const names::Assigned& each) { return each.name.loc != loc; });
  if (other == assigned.end()) {
    std::string_view first = blame.is_in_kernel()
                                 ? "tile.zeros((t.m, t.n), f32)"
                                 : "zeros((B, D), f32), with the shape that it is to have, or a number such as 0";
    builder.help(fmt::format("give it a value before: {} = {}", name, first));
    return true;
  }
  Loc there = other->name.loc;
  bool is_behind = std::tie(there.line, there.column) > std::tie(loc.line, loc.column);
  builder.label(there, is_behind ? "it has a value from here on" : "it has a value in this block alone");
  if (!is_behind) builder.help("give it a value before the block");
  return true;
}

/// The name that a dotted name begins with; null for any other expression.
const ast::Name* first_name(const ast::Expr* expr) {
  while (const auto* member = ast::as<ast::Attribute>(expr)) expr = member->object;
  return ast::as<ast::Name>(expr);
}

/// The names in the types of a module's fields that nothing declares.
void add_undeclared_sizes(const ast::Module& module, Scope& scope, std::vector<std::string>& found) {
  auto is_declared = [&](std::string_view name) {
    auto is_it = [&](const ast::Parameter& each) { return each.name.text == name; };
    bool is_word = is_type_word(name) || names::is_policy(name) || dtype_by_name(name);
    return is_word || scope.find(name) || std::ranges::any_of(module.parameters, is_it) ||
           names::place_of_member(module, name).known();
  };
  for (const ast::Stmt* stmt : module.body) {
    const auto* field = ast::as<ast::Assign>(stmt);
    if (!field || !field->annotation) continue;
    ast::walk(*field->annotation, [&](const ast::Node& node) {
      const auto* name = ast::as<ast::Name>(&node);
      if (!name || is_declared(name->text) || std::ranges::find(found, name->text) != found.end()) return;
      found.emplace_back(name->text);
    });
  }
}

}  // namespace

std::vector<std::string> undefined_names(const Session& session, const Callable& callee) {
  std::vector<std::string> found;
  if (!callee.definition || !callee.scope || session.is_builtin(callee.loc)) return found;
  const names::FreeNames& free = session.free_names(*callee.definition);
  for (std::string_view name : free.names) {
    if (!is_type_word(name) && !callee.scope->find(name)) found.emplace_back(name);
  }
  if (const auto* module = ast::as<ast::Module>(callee.definition)) add_undeclared_sizes(*module, *callee.scope, found);
  return found;
}

bool is_in_library(std::string_view name) {
  return std::ranges::find(library_names(), name) != library_names().end();
}

std::optional<std::vector<Edit>> library_import(const Session& session, std::string_view name, Loc loc) {
  if (!is_in_library(name) || session.is_builtin(loc)) return std::nullopt;
  return session.import_edits(loc.file, "tessera.nn", name);
}

std::string nearest_function(std::string_view name) {
  std::vector<std::string> names = library_names();
  for (const Builtin& builtin : common_builtins()) names.emplace_back(builtin.name);
  return name.size() < shortest_misspelt ? std::string() : nearest_name(name, names);
}

void report_unknown_dtype(const Blame& blame, const ast::Name& name) {
  if (!blame.session().is_first_use(name.loc.file, name.text)) return;
  auto builder = blame.report(diag::unknown_name, name.loc, name.text);
  std::vector<std::string> names;
  for (std::string_view dtype : dtype_names()) names.emplace_back(dtype);
  if (builder.suggest(blame.sources(), name.loc, name.text, names)) return;
  builder.help(fmt::format("a dtype that the file names is a constant of it: const {} = f32", name.text));
}

namespace {

/// The first name of CUDA or Triton stands for the others of its kind in the file, and for all in its function.
bool is_first_of_kernels(const Blame& blame, std::string_view kind, FileId file) {
  std::string inside = fmt::format("kernel names in {}", blame.frame() ? blame.frame()->name : "the file");
  return blame.session().is_first_use(file, kind) && blame.session().is_first_use(file, inside);
}

}  // namespace

void report_unknown_name(const Blame& blame, std::string_view name, Scope& scope, Loc loc) {
  Session& session = blame.session();
  bool is_reported = blame.frame() && blame.frame()->lacks_names;
  if (is_reported) return;
  bool is_first = is_of_cuda(name) ? is_first_of_kernels(blame, "names of CUDA", loc.file)
                                   : session.is_first_use(loc.file, name);
  if (!is_first) return;
  if (session.drops_errors()) {
    blame.report(diag::unknown_name, loc, name);
    return;
  }
  std::string nearest = nearest_name(name, scope.visible_names());
  const Binding* near = nearest.empty() ? nullptr : scope.find(nearest);
  if (Loc defined = place_of_name(near, nearest); is_misspelt(session, defined, nearest, name)) {
    auto builder = blame.report(diag::unknown_name, defined, name);
    return blame_definition(builder, defined, nearest, name, loc);
  }
  auto builder = blame.report(diag::unknown_name, loc, name);
  const Binding* self = scope.find("self");
  const auto* instance = self ? self->value.object_as<ModuleInstance>() : nullptr;
  bool is_member = instance && (instance->member(name) || instance->module().method(name));
  if (is_member && !session.is_builtin(loc)) {
    builder.fix("members of a module are named by its instance", loc.before(), "self.");
    return;
  }
  const names::TypeRow* type = names::find_type(name);
  if (type && std::isupper(static_cast<unsigned char>(name[0])) && type->form != names::TypeForm::Unsupported) {
    bool is_state = type->form == names::TypeForm::KVCache || type->form == names::TypeForm::OptimizerState;
    builder.help(fmt::format("'{}' is a type: it stands behind the ':' of a parameter{}", name,
                             is_state ? "; state is made by the caller, and handed to the entry" : ""));
    return;
  }
  if (label_assignment(blame, builder, name, loc)) return;
  if (const Binding* local = scope.find(name)) {  // of a function around this one
    builder.label(local->loc, "it has a value in this block alone").help("give it a value before the block");
    return;
  }
  if (help_import(session, builder, name, name, loc)) return;
  bool is_foreign = help_foreign_name(builder, name, loc);
  bool is_own = near && near->loc.known() && !session.is_builtin(near->loc);
  if (is_foreign && !is_own) return;  // a name of the file may be meant as well
  bool asks_library = !is_own && !is_foreign && name.size() >= shortest_misspelt;
  std::string importable = asks_library ? nearest_name(name, library_names()) : std::string();
  bool is_nearer = nearest_name(name, {nearest, importable}) != nearest;
  if (is_nearer && help_import(session, builder, name, importable, loc)) return;
  if (near) builder.suggest(blame.sources(), loc, name, {nearest});
  if (near && near->loc.known() && !session.is_builtin(near->loc)) builder.label(near->loc, "this is defined here");
  if (!near && nearest_name(name, {"return"}) == "return") builder.suggest(blame.sources(), loc, name, {"return"});
  if (!near && name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') {
    builder.help(fmt::format("a size is declared where it stands alone as a dimension of a parameter, or by "
                             "'dim {}' in the file", name));
  }
}

bool report_package(const Blame& blame, const ast::Attribute& node, Scope& scope) {
  Session& session = blame.session();
  const ast::Name* package = first_name(&node);
  if (!package || !is_package(package->text) || scope.find(package->text) || session.drops_errors()) return false;
  std::string dotted = source_text(blame.sources(), node.loc);
  bool is_tile = migration_page(package->text).ends_with("triton.md");
  bool is_first = is_tile ? is_first_of_kernels(blame, "names of Triton", node.loc.file)
                          : session.is_first_use(node.loc.file, dotted);
  if (!is_first) return true;
  std::string last(node.name.text);
  auto builder = blame.report(diag::unknown_name, node.loc, dotted);
  bool has_tile = is_tile && language_names("tile").contains(last);
  if (std::string_view dtype = dtype_here(last); !dtype.empty()) {
    std::string_view line = blame.sources().file(node.loc.file).line(node.loc.line);
    bool is_call = line.substr(std::min(line.size(), size_t(node.loc.column - 1 + node.loc.length))).starts_with('(');
    is_call ? builder.help(fmt::format("a conversion is cast(x, {})", dtype))
            : builder.fix("dtypes stand alone", node.loc, std::string(dtype));
  } else if (last == "newaxis") {
    builder.fix("an axis of extent 1 is added by None", node.loc, "None");
  } else if (std::string_view ours = constant_here(last); !ours.empty()) {
    builder.fix(fmt::format("write {}", ours), node.loc, std::string(ours));
  } else if (std::string_view help = help_for_dtype(last); !help.empty()) {
    builder.help(std::string(help));
  } else if (help = is_tile ? "" : help_for_differing(last); !help.empty()) {
    builder.help(std::string(help));
  } else if (help = is_tile ? help_for_tile(last) : ""; !help.empty()) {
    builder.help(fmt::format("{}; {} has the other names", help, migration_page(package->text)));
  } else if (has_tile) {
    std::string_view page = migration_page(package->text);
    auto has = [&](std::string_view keyword) { return written_key(blame.sources(), node.loc, keyword).has_value(); };
    bool is_masked = has("mask") || has("other");  // which no function on tiles takes
    is_masked ? builder.help(fmt::format("tile.{} works on tiles, without addresses and masks; {} has the other names",
                                         last, page))
              : builder.fix(fmt::format("it works on tiles here, without addresses and masks; {} has the other names",
                                        page),
                            node.loc, "tile." + last);
  } else if (dotted.find("random.") != std::string::npos) {
    builder.help(std::string(help_for_name("randn")));
  } else if (const Binding* ours = scope.find(last); ours && !ours->loc.known()) {
    builder.fix("functions stand alone", node.loc, last);
  } else if (help_import(session, builder, dotted, last, node.loc)) {
    return true;
  } else if (help = help_for_name(last); !help.empty()) {
    builder.help(std::string(help));
  } else {
    builder.help(fmt::format("packages of Python are not there; {} says what their functions are called here",
                             migration_page(package->text)));
  }
  return true;
}

void report_unknown_member(const Blame& blame, const ModuleInstance& instance, const ast::Identifier& name) {
  Session& session = blame.session();
  std::vector<std::string> known;
  for (const auto& [member, value] : instance.members()) known.push_back(member);
  for (const ast::Stmt* stmt : instance.module().stmt().body) {
    const auto* def = ast::as<ast::Def>(stmt);
    if (def) known.emplace_back(def->name.text);
  }
  std::string nearest = nearest_name(name.text, known);
  Loc defined = nearest.empty() ? Loc{} : names::place_of_member(instance.module().stmt(), nearest);
  if (is_misspelt(session, defined, nearest, name.text, true)) {
    auto builder = blame.report(diag::unknown_member, defined, instance.describe(), name.text);
    return blame_definition(builder, defined, nearest, name.text, name.loc);
  }
  auto builder = blame.report(diag::unknown_member, name.loc, instance.describe(), name.text);
  builder.suggest(blame.sources(), name.loc, name.text, known);
  if (defined.known() && !session.is_builtin(defined)) builder.label(defined, "this is defined here");
  const ast::Def* forward = name.text == "__call__" ? instance.module().method("forward") : nullptr;
  if (forward && !session.is_builtin(forward->name.loc)) {
    builder.fix("the method that a call of the instance runs is '__call__'", forward->name.loc, "__call__");
  }
}

void report_unknown_member(const Blame& blame, const Namespace& name_space, const ast::Identifier& name) {
  auto builder = blame.report(diag::unknown_member, name.loc, fmt::format("module '{}'", name_space.name), name.text);
  bool is_library = name_space.name.starts_with("tessera");
  std::string_view help = name_space.name == "tile" ? help_for_tile(name.text)
                          : is_library              ? help_for_name(name.text)
                                                    : std::string_view();
  if (!help.empty()) {
    builder.help(std::string(help));
  } else if (!blame.session().drops_errors()) {
    names::NameSet known = blame.session().links().members(name_space.linked);
    builder.suggest(blame.sources(), name.loc, name.text, {known.begin(), known.end()});
  }
}

}  // namespace tessera::frontend
