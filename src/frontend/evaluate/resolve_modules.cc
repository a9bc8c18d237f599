// Enters modules of parameters, and what may stand in one: params, modules, constants and methods.

#include <map>

#include "frontend/binding/declared.h"
#include "frontend/evaluate/session.h"
#include "frontend/fixes/operand_text.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// `def __init__`; null for others.
const ast::Def* constructor_of(const ast::Stmt& stmt) {
  const auto* def = ast::as<ast::Def>(&stmt);
  return def && def->name.text == "__init__" ? def : nullptr;
}

bool is_quiet(const ast::Stmt& stmt) {
  if (stmt.kind == ast::NodeKind::Pass || stmt.kind == ast::NodeKind::ErrorStmt) return true;
  const auto* expression = ast::as<ast::ExprStmt>(&stmt);
  return expression && (expression->value->kind == ast::NodeKind::String ||
                        expression->value->kind == ast::NodeKind::ErrorExpr);
}

}  // namespace

const ast::Name* leading_name(const ast::Expr& expr) {
  const ast::Expr* first = &expr;
  while (true) {
    if (const auto* binary = ast::as<ast::Binary>(first)) {
      first = binary->left;
    } else if (const auto* subscript = ast::as<ast::Subscript>(first)) {
      first = subscript->object;
    } else {
      return first == &expr ? nullptr : ast::as<ast::Name>(first);
    }
  }
}

const ParamDeclaration* Session::add_param(ParamDeclaration declaration) {
  if (auto it = params_by_key_.find(declaration.key); it != params_by_key_.end()) {
    const ParamDeclaration& earlier = *it->second;
    Loc here = declaration.instance.known() ? declaration.instance : declaration.loc;
    auto builder = report(diag::duplicate_key, here, declaration.key);
    if (declaration.instance.known()) builder.label(declaration.loc, "it is this field");
    builder
        .label(earlier.instance.known() ? earlier.instance : earlier.loc,
              earlier.instance.known() ? "the other one is made here"
                                       : "the other one is declared here")
        .help("keys begin with the name of an instance: name=\"encoder\" as its last argument");
    return nullptr;
  }
  declaration.order = unsigned(params_.size());
  constexpr size_t node_bytes = 128;  // in the table of keys, and beside the declaration
  spending().bytes += int64_t(sizeof declaration + declaration.key.capacity() + node_bytes);
  const ParamDeclaration& added = params_.emplace_back(std::move(declaration));
  params_by_key_[added.key] = &added;
  return &added;
}

void Session::enter_module(SourceModule& module, const ast::Module& stmt) {
  if (!is_new_name(module, stmt.name)) return;
  module.scope->set(stmt.name.text,
                    Datum::object(std::make_shared<ModuleReference>(&stmt, module.scope)),
                    stmt.name.loc);
  if (!module.broken) check_module(stmt, *module.scope);
}

void Session::check_module(const ast::Module& stmt, Scope& scope) {
  for (const ast::Decorator& decorator : stmt.decorators) {
    report(diag::misplaced_statement, decorator.loc, "a decorator", "before a module");
  }
  std::map<std::string_view, Loc> names;
  for (const ast::Parameter& parameter : stmt.parameters) {
    if (parameter.name.text == "name" || parameter.name.text == "self") {
      report(diag::reserved_parameter, parameter.loc, parameter.name.text);
    }
    auto [it, fresh] = names.try_emplace(parameter.name.text, parameter.loc);
    if (fresh) continue;
    report(diag::duplicate_parameter, parameter.loc, parameter.name.text)
        .label(it->second, "it is declared here first");
  }
  for (const ast::Stmt* each : stmt.body) {
    if (const ast::Def* constructor = constructor_of(*each)) {
      report_constructor(stmt, *constructor);
      // Its arguments are no parameters of the module, so each instance would be an error.
      scope.set(stmt.name.text, Datum::poison(), stmt.name.loc);
      continue;
    }
    if (is_quiet(*each) || !check_field(*each, scope)) continue;
    ast::Identifier name = names::member_declared_by(*each);
    auto [it, fresh] = names.try_emplace(name.text, name.loc);
    if (!fresh && !name.text.empty()) {
      report(diag::duplicate_member, name.loc, name.text, stmt.name.text)
          .label(it->second, "it is defined here first");
    }
    // Its decorators are looked at now; calls have functions of their own, one for each instance.
    const auto* def = ast::as<ast::Def>(each);
    if (def && make_function(*def, scope)->kind == FunctionKind::Kernel) {
      report(diag::misplaced_statement, name.loc, "a kernel", "in a module");
    }
  }
}

void Session::report_no_self(const ast::Def& def) {
  auto builder = report(diag::method_without_self, def.name.loc, def.name.text);
  Loc behind = def.name.loc.behind();
  std::string_view rest = sources().file(behind.file).line(behind.line).substr(behind.column - 1);
  bool is_open = rest.starts_with('('), is_marker = is_open && rest.starts_with("(*");
  if (!is_open || is_marker) {
    builder.help(fmt::format("a method is given its instance: def {}(self, …):", def.name.text));
    return;
  }
  ++behind.column;
  builder.fix("a method is given its instance", behind, def.parameters.empty() ? "self" : "self, ");
}

/// A module states in its fields what other languages do in a constructor.
void Session::report_constructor(const ast::Module& stmt, const ast::Def& def) {
  std::string parameters;
  for (const ast::Parameter& parameter : def.parameters) {
    if (parameter.name.text == "self") continue;
    parameters += fmt::format("{}{}", parameters.empty() ? "" : ", ", source_text(sources(), parameter.loc));
  }
  report(diag::misplaced_statement, def.name.loc, "the constructor '__init__'", "in a module")
      .help(fmt::format("the parameters of a module stand behind its name: module {}({}):", stmt.name.text,
                        parameters))
      .help("fields have types, and params initial values: w: Param[D, f32] = zeros(), block: Block(D)");
}

/// Whether a statement may stand in a module; reports when it may not.
bool Session::check_field(const ast::Stmt& stmt, Scope& scope) {
  if (stmt.kind == ast::NodeKind::Const) return true;
  if (const auto* def = ast::as<ast::Def>(&stmt)) {
    bool has_self = !def->parameters.empty() && def->parameters[0].name.text == "self" &&
                    !def->parameters[0].keyword_only;
    if (!has_self) report_no_self(*def);
    return true;
  }
  const auto* field = ast::as<ast::Assign>(&stmt);
  bool named = field && field->targets.size() == 1 &&
               field->targets[0]->kind == ast::NodeKind::Name && field->annotation;
  if (named && (!field->value || is_param_field(*field))) return true;
  if (named) {
    const auto* subscript = ast::as<ast::Subscript>(field->annotation);
    const auto* type = ast::as<ast::Name>(subscript ? subscript->object : field->annotation);
    if (type && !scope.find(type->text)) {
      report(diag::unknown_name, type->loc, type->text).suggest(sources(), type->loc, type->text, {"Param"});
      return false;
    }
  }
  auto builder = report(diag::misplaced_statement, stmt.loc,
                        field ? "an assignment" : "this statement", "in a module");
  if (named && field->annotation->kind == ast::NodeKind::List) {
    builder.fix("write 'Param'", field->annotation->loc.before(), "Param");
  } else if (named && field->annotation->kind == ast::NodeKind::Conditional) {
    builder.help("a param is always there, and a module may be None: bias: Bias(O) if has_bias else None, of a module "
                 "Bias with the param");
  } else if (const auto* lacking = ast::as<ast::ExprStmt>(&stmt); lacking && leading_name(*lacking->value)) {
    builder.fix("a field is its name, ':' and what it is", leading_name(*lacking->value)->loc.behind(), ":");
  } else {
    builder.help(
        "fields are params, w: Param[D, f32] = zeros(), and modules, block: Block(D); a constant is written "
        "const N = 4");
  }
  return false;
}

Function* Session::method(const ast::Def& def, Scope& scope) {
  auto [it, fresh] = methods_.try_emplace({&def, &scope});
  if (fresh) {
    it->second = make_function(def, scope);
    it->second->is_method = true;
  }
  return it->second;
}

}  // namespace tessera::frontend
