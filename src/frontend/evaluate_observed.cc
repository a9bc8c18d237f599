// What an evaluation tells its observer beside values: parameters, members and devices.

#include "frontend/evaluate.h"

namespace tessera::frontend {

namespace {

/// Where a module defines a member; unknown when it has none of that name.
Loc member_place(const ast::Module& module, std::string_view name) {
  for (const ast::Parameter& parameter : module.parameters) {
    if (parameter.name.text == name) return parameter.name.loc;
  }
  for (const ast::Stmt* stmt : module.body) {
    if (const auto* def = ast::as<ast::Def>(stmt); def && def->name.text == name) {
      return def->name.loc;
    }
    if (const auto* constant = ast::as<ast::Const>(stmt); constant && constant->name.text == name) {
      return constant->name.loc;
    }
    const auto* field = ast::as<ast::Assign>(stmt);
    const auto* target = field ? ast::as<ast::Name>(field->targets[0]) : nullptr;
    if (target && target->text == name) return target->loc;
  }
  return {};
}

/// Where a name of a file is defined, in the file that it comes from.
Loc binding_place(Scope& scope, std::string_view name) {
  Binding* binding = scope.find_here(name);
  while (binding && binding->alias_scope) {
    binding = binding->alias_scope->find_here(binding->alias);
  }
  return binding ? binding->loc : Loc{};
}

}  // namespace

void Evaluator::observe_parameters(const Function& function, Scope& scope) {
  auto tell = [&](std::string_view name, Loc loc) {
    if (Binding* binding = scope.find_here(name)) observe(name, loc, binding->value);
  };
  for (const ast::Parameter& parameter : function.parameters()) {
    tell(parameter.name.text, parameter.name.loc);
  }
  const Signature* signature = function.def ? session_.known_signature(function) : nullptr;
  if (!signature) return;
  for (const DeclaredSymbol& symbol : signature->dims) tell(symbol.name, symbol.loc);
  for (const DeclaredSymbol& symbol : signature->dtypes) tell(symbol.name, symbol.loc);
}

void Evaluator::observe_member(const Datum& object, const ast::Identifier& name) {
  Loc definition;
  if (object.is(DatumKind::Namespace)) {
    const SourceModule* module = object.as_namespace().module;
    if (module) definition = binding_place(*module->scope, name.text);
  } else if (const auto* instance = object.object_as<ModuleInstance>()) {
    definition = member_place(instance->module().stmt(), name.text);
  }
  if (definition.known()) session_.observer()->used(name.loc, definition);
}

void Evaluator::set_device(std::string device) {
  if (device == device_) return;
  device_ = std::move(device);
  if (session_.observer()) session_.observer()->placed(device_);
}

}  // namespace tessera::frontend
