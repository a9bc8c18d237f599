// Functions that nothing calls: they are run as entries are, for their errors.

#include <algorithm>

#include "frontend/lower/graph/graph_builder.h"

namespace tessera::frontend {

/// A tensor is symbolic, and an `int` a size. What else a call would give is unknown.
void GraphBuilder::explore_parameter(const SignatureParameter& parameter, Scope& scope) {
  const TypePattern& pattern = parameter.type;
  if (parameter.default_value) evaluator_.evaluate(*parameter.default_value, scope);
  if (parameter.default_value) return scope.set(parameter.name, Datum::poison(), parameter.loc);
  bool is_tensor = pattern.kind == PatternKind::Tensor || pattern.kind == PatternKind::KTile;
  bool is_plain = pattern.layout.empty() && pattern.privileges.empty();
  if (is_plain && is_tensor) (void)add_tensor(parameter, scope);
  bool is_state = pattern.kind == PatternKind::State && !open_state(pattern);
  if (is_plain && is_state) (void)add_state(pattern, parameter, scope);
}

void GraphBuilder::explore_function(const Function& function, bool is_called) {
  const Signature& signature = session().signature(evaluator_, function);
  if (signature.failed || function.def->is_declaration()) return;
  explore_dtypes(session(), signature, [&](const DTypeChoices& dtypes) {
    begin_function("entry", function.name, function.loc);
    if (is_called) evaluator_.leave_facts_open();
    explore_body(function, signature, dtypes);
    function_.op->erase();
    end_function();
  });
}

void GraphBuilder::explore_body(const Function& function, const Signature& signature, const DTypeChoices& dtypes) {
  function_.seed = add_argument("seed", "input", context().tensor({}, DType::U64));
  Scope* scope = session().new_scope(function.scope);
  for (const SignatureParameter& parameter : signature.parameters) {
    scope->set(parameter.name, Datum::poison(), parameter.loc);
  }
  for (const auto& [name, dtype] : dtypes) scope->set(name, Datum::dtype(dtype), function.loc);
  for (const DeclaredSymbol& symbol : signature.dims) {
    auto is_it = [&](const SignatureParameter& parameter) { return parameter.name == symbol.name; };
    bool is_given = std::ranges::any_of(signature.parameters, is_it);
    Datum size = is_given ? evaluator_.given_size(symbol.name) : Datum::dim(dims().symbol(symbol.name));
    scope->set(symbol.name, std::move(size), symbol.loc);
  }
  (void)assume_where(function, signature, *scope);
  for (const SignatureParameter& parameter : signature.parameters) explore_parameter(parameter, *scope);
  (void)finish_result(function, signature, evaluator_.run_body(function, *scope, Loc{}), *scope);
}

void GraphBuilder::explore_initialisers(const ModuleInstance& instance) {
  for (const auto& [name, member] : instance.members()) {
    const auto* reference = member.object_as<ParamReference>();
    if (!reference) continue;
    const ParamDeclaration& declaration = reference->declaration();
    const ParamType* type = param_type(declaration);
    if (!type || !declaration.initialiser) continue;
    begin_function("init", "init", declaration.loc);
    function_.seed = add_argument("seed", "input", context().tensor({}, DType::U64));
    function_.initialised = &declaration;
    (void)evaluator_.evaluate(*declaration.initialiser, *declaration.scope);
    function_.op->erase();
    end_function();
  }
}

}  // namespace tessera::frontend
