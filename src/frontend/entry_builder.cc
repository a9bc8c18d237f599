#include "frontend/entry_builder.h"

namespace tessera::frontend {

std::vector<std::string_view> constant_names(const ast::Stmt& stmt) {
  if (const auto* constant = ast::as<ast::Const>(&stmt)) return {constant->name.text};
  std::vector<std::string_view> names;
  if (const auto* assign = ast::as<ast::Assign>(&stmt)) {
    for (const ast::Expr* target : assign->targets) {
      if (const auto* name = ast::as<ast::Name>(target)) names.push_back(name->text);
    }
  }
  return names;
}

const Function* declared_function(const SourceModule& file, const ast::Stmt& stmt) {
  const auto* def = ast::as<ast::Def>(&stmt);
  Binding* binding = def ? file.scope->find_here(def->name.text) : nullptr;
  if (!binding || !binding->value.is(DatumKind::Function)) return nullptr;
  const Function& function = binding->value.as_function();
  return function.def == def ? &function : nullptr;
}

void EntryBuilder::evaluate_constants() {
  Scope& scope = *file_.scope;
  for (const ast::Declaration& declaration : file_.unit.declarations) {
    for (std::string_view name : constant_names(*declaration.stmt)) {
      Binding* binding = scope.find_here(name);
      if (binding && binding->state == Binding::State::Pending) {
        builder_.evaluator().resolve(*binding, scope, name, binding->loc);
      }
    }
  }
}

void EntryBuilder::build(const ast::Stmt& declaration) {
  if (declaration.kind == ast::NodeKind::Def) {
    const Function* function = declared_function(file_, declaration);
    if (function) builder_.check_rules(*function);
    if (function && function->kind == FunctionKind::Jit) builder_.build_entry(*function, function->name);
    return;
  }
  for (std::string_view name : constant_names(declaration)) {
    Binding* binding = file_.scope->find_here(name);
    const auto* instance = binding ? binding->value.object_as<ModuleInstance>() : nullptr;
    if (instance && with_entries_.insert(instance).second) build_methods(*instance);
  }
}

void EntryBuilder::build_methods(const ModuleInstance& instance) {
  for (const ast::Stmt* stmt : instance.module().stmt().body) {
    const auto* def = ast::as<ast::Def>(stmt);
    const Function* method = def ? builder_.evaluator().session().method(*def, *instance.scope()) : nullptr;
    if (!method || method->kind != FunctionKind::Jit) continue;
    builder_.build_entry(*method, joined_key(instance.name(), method->name));
  }
}

}  // namespace tessera::frontend
