// Modules of parameters: an application becomes an instance when it gets a place.

#include <algorithm>

#include "frontend/evaluate/blame_names.h"
#include "frontend/evaluate/evaluate.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

constexpr size_t instance_depth_limit = 100;
/// Instances and params together.
constexpr size_t made_limit = 100'000;
constexpr size_t key_length_limit = 1000;
constexpr unsigned list_depth_limit = 100;

/// "encoder", "layers.0": what may be the name of an instance.
bool is_key(std::string_view name) {
  bool part_is_empty = true;
  for (char c : name) {
    if (c == '.' && part_is_empty) return false;
    part_is_empty = c == '.';
    bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
    if (!plain) return false;
  }
  return !part_is_empty;
}

/// Whether a module's parameter may be of this type: those of compile-time values.
bool is_constant_type(PatternKind kind) {
  switch (kind) {
    case PatternKind::Any:
    case PatternKind::Scalar:
    case PatternKind::DimParam:
    case PatternKind::DTypeParam:
    case PatternKind::String:
    case PatternKind::Function:
    case PatternKind::Schedule:
      return true;
    default:
      return false;
  }
}

/// An instance, a module without a place, or a list of such.
bool holds_modules(const Datum& value, unsigned depth = 0) {
  if (!value.is_sequence() || depth == list_depth_limit) {
    return value.object_as<ModuleApplication>() || value.object_as<ModuleInstance>();
  }
  return std::all_of(value.elements().begin(), value.elements().end(),
                     [&](const Datum& element) { return holds_modules(element, depth + 1); });
}

bool has_application(const Datum& value, unsigned depth = 0) {
  if (!value.is_sequence() || depth == list_depth_limit) {
    return value.object_as<ModuleApplication>();
  }
  return std::any_of(value.elements().begin(), value.elements().end(),
                     [&](const Datum& element) { return has_application(element, depth + 1); });
}

}  // namespace

Datum Evaluator::apply_module(const ModuleReference& module, std::vector<CallArgument> arguments,
                              Loc loc) {
  if (!is_open()) session_.note_instance(module.stmt(), Datum::poison());  // until one is made
  std::string name;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name != "name") continue;
    const Datum& value = arguments[i].value;
    if (!value.is(DatumKind::String) || !is_key(value.as_string())) {
      report(diag::wrong_kind, arguments[i].loc, "the name of an instance", to_text(value),
             "a string of names and numbers with dots between them");
      return Datum::poison();
    }
    name = value.as_string();
    arguments.erase(arguments.begin() + ptrdiff_t(i));
    break;
  }
  Scope* scope = open_scope(module.scope());
  std::vector<Loc> locs;
  Callable callee(module);
  if (!bind_parameters(callee, std::move(arguments), *scope, loc, locs)) return Datum::poison();
  std::vector<ModuleApplication::Argument> bound;
  for (size_t i = 0; i < callee.parameters.size(); ++i) {
    const ast::Parameter& parameter = callee.parameters[i];
    Datum value = scope->find_here(parameter.name.text)->value;
    if (parameter.annotation) {
      TypePattern pattern = read_type(*this, *parameter.annotation, *module.scope());
      if (pattern.kind == PatternKind::Poison) return Datum::poison();
      if (!is_constant_type(pattern.kind)) {
        report(diag::malformed_type, pattern.loc, "a parameter of a module is a tensor")
            .help(
                "tensors are arguments of its methods; int, dim, dtype, float, … are known before");
        return Datum::poison();
      }
      value = conform_constant(pattern, value, locs[i],
                               fmt::format("argument '{}'", parameter.name.text));
      if (value.is_poison() && !is_open()) return value;
    }
    bound.push_back({std::string(parameter.name.text), value, parameter.loc});
  }
  return Datum::object(
      std::make_shared<ModuleApplication>(module, std::move(bound), std::move(name), loc));
}

Datum Evaluator::unplaced(const ModuleApplication& application, Loc loc) {
  report(diag::unplaced_module, loc, application.module().name())
      .help(
          "an instance is made at the top level of the file, model = GPT(…), or as a field of a "
          "module");
  return Datum::poison();
}

/// What may be there, or is there more than once. Where it is not, nothing is wrong with it.
Datum Evaluator::place_unknown(const Datum& value, const std::string& prefix, std::string_view name) {
  const Datum* known = value.known_element() ? value.known_element() : value.unless_none();
  constexpr size_t most_levels = 3;  // each level may have several, of which calls may have none
  bool is_shown = known && instantiating_.size() <= most_levels;
  if (!is_shown || (!known->is_poison() && !holds_modules(*known))) return Datum::poison();
  Session::Trial quiet(session_);
  bool is_list = known == value.known_element();
  Datum placed = place(*known, prefix, is_list ? fmt::format("{}.0", name) : std::string(name));
  return is_list ? Datum::unknown_list(std::move(placed)) : Datum::or_none(std::move(placed));
}

Datum Evaluator::place(const Datum& value, const std::string& prefix, std::string_view name) {
  if (value.is_poison()) return place_unknown(value, prefix, name);
  if (!has_application(value)) return value;
  if (const auto* application = value.object_as<ModuleApplication>()) {
    bool named = !application->name().empty();
    return instantiate(*application, joined_key(prefix, named ? application->name() : name));
  }
  std::vector<Datum> elements;
  for (const Datum& element : value.elements()) {
    elements.push_back(place(element, prefix, fmt::format("{}.{}", name, elements.size())));
    if (elements.back().is_poison()) return Datum::poison();
  }
  return value.is(DatumKind::Tuple) ? Datum::tuple(std::move(elements))
                                    : Datum::list(std::move(elements));
}

bool Evaluator::may_instantiate(const ModuleApplication& application) {
  auto is_unknown = [](const ModuleApplication::Argument& argument) { return argument.value.is_poison(); };
  for (const ModuleApplication* outer : instantiating_) {
    if (outer->is_like(application) && std::ranges::none_of(application.arguments(), is_unknown)) {
      report(diag::recursive_module, application.loc(), application.module().name());
      return false;
    }
    // Where a module is a part of itself, an argument ends it that is not known.
    if (is_open() && &outer->module().stmt() == &application.module().stmt()) return false;
  }
  if (instantiating_.size() >= instance_depth_limit) {
    report(diag::unsupported_nesting, application.loc(), instance_depth_limit);
    return false;
  }
  return true;
}

bool Evaluator::count_made(const std::string& path, Loc loc) {
  if (path.size() > key_length_limit) {
    report(diag::unsupported_key_length, loc, key_length_limit);
    return false;
  }
  if (session_.count_made() <= made_limit) return true;
  report(diag::unsupported_instances, loc, made_limit);
  session_.budget().end();  // the params that there are would take as long again
  return false;
}

Datum Evaluator::instantiate(const ModuleApplication& application, const std::string& path) {
  if (!may_instantiate(application) || !count_made(path, application.loc())) {
    return Datum::poison();
  }
  const ModuleReference& module = application.module();
  Scope* scope = open_scope(module.scope());
  constexpr size_t member_bytes = sizeof(std::pair<std::string, Datum>) + 64;
  size_t members = application.arguments().size() + module.stmt().body.size();
  spending().bytes += int64_t(sizeof(ModuleInstance) + sizeof(ModuleApplication) + members * member_bytes);
  auto instance = std::make_shared<ModuleInstance>(application, scope, path);
  for (const ModuleApplication::Argument& argument : application.arguments()) {
    observe(argument.name, argument.loc, argument.value);
    scope->set(argument.name, argument.value, argument.loc);
    instance->set_member(argument.name, argument.value);
  }
  if (!check_clauses(Callable(module), module.stmt().where, *scope, application.loc())) {
    return Datum::poison();
  }
  instantiating_.push_back(&application);
  push_frame(module.name(), "instance", application.loc());
  bool good = make_members(application, path, *scope, *instance);
  pop_frame();
  instantiating_.pop_back();
  if (!good) return Datum::poison();
  Datum made = Datum::object(std::move(instance));
  if (!is_open()) session_.note_instance(module.stmt(), made);
  scope->set("self", made, module.stmt().name.loc);
  return made;
}

/// The constants and fields.
bool Evaluator::make_members(const ModuleApplication& application, const std::string& path,
                             Scope& scope, ModuleInstance& instance) {
  const ast::Module& module = application.module().stmt();
  for (const ast::Stmt* stmt : module.body) {
    if (const auto* constant = ast::as<ast::Const>(stmt)) {
      Datum value = this->constant(*constant->value, constant->name, scope);
      if (value.is_poison() && !is_open()) return false;
      observe(constant->name.text, constant->name.loc, value);
      scope.set(constant->name.text, value, constant->name.loc);
      instance.set_member(constant->name.text, std::move(value));
    } else if (const auto* assign = ast::as<ast::Assign>(stmt)) {
      const auto* name = ast::as<ast::Name>(assign->targets[0]);
      if (!name || !assign->annotation) return false;
      if (instance.member(name->text)) return false;  // defined twice, which is said
      Datum value = field(*assign, scope, path, application.loc());
      if (value.is_poison() && !is_open()) return false;
      if (!value.object_as<ParamReference>()) observe(name->text, name->loc, value);
      instance.set_member(name->text, std::move(value));
    }
  }
  return true;
}

/// A param, or a module, or a list of modules.
Datum Evaluator::field(const ast::Assign& field, Scope& scope, const std::string& path,
                       Loc instance) {
  const auto& name = ast::cast<ast::Name>(*field.targets[0]);
  if (is_param_field(field)) {
    ParamDeclaration declaration;
    declaration.name = std::string(name.text);
    declaration.key = joined_key(path, name.text);
    if (!count_made(declaration.key, instance)) return Datum::poison();
    declaration.annotation = field.annotation;
    declaration.initialiser = field.value;
    declaration.scope = &scope;
    declaration.loc = name.loc;
    declaration.instance = instance;
    if (is_open()) return Datum::object(std::make_shared<ParamReference>(session_.add_unlisted_param(declaration)));
    const ParamDeclaration* added = session_.add_param(std::move(declaration));
    return added ? Datum::object(std::make_shared<ParamReference>(added)) : Datum::poison();
  }
  if (field.value) return Datum::poison();  // which is said of the module
  Datum value = evaluate(*field.annotation, scope);
  if (value.is_poison()) return place_unknown(value, path, name.text);
  if (value.is_none()) return value;
  if (!holds_modules(value)) {
    auto builder =
        report(diag::wrong_kind, field.annotation->loc, fmt::format("field '{}'", name.text),
               describe(value), "a param, a module or a list of modules");
    if (value.object_as<ModuleReference>()) {
      builder.help("a module has its arguments in brackets, and () where it takes none");
    }
    return Datum::poison();
  }
  return place(value, path, name.text);
}

Datum Evaluator::instance_member(const ModuleInstance& instance, const ast::Identifier& name) {
  if (const Datum* member = instance.member(name.text)) {
    const auto* reference = member->object_as<ParamReference>();
    return reference ? param(reference->declaration(), name.loc) : received(*instance.scope(), *member);
  }
  if (const ast::Def* method = instance.module().method(name.text)) {
    return Datum::function(session_.method(*method, *instance.scope()));
  }
  for (const ast::Stmt* stmt : instance.module().stmt().body) {
    const auto* field = ast::as<ast::ExprStmt>(stmt);
    const ast::Name* first = field ? leading_name(*field->value) : nullptr;
    if (first && first->text == name.text) return Datum::poison();  // a field without its ':', which is said
  }
  report_unknown_member(blame_, instance, name);
  return Datum::poison();
}

}  // namespace tessera::frontend
