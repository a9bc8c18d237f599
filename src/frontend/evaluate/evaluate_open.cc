// Runs of functions that nothing calls. Their tensors are symbolic, as those of an entry are; what else a call would
// give is unknown, and poison stands for it. Whatever is computed of poison is poison, so nothing is reported that
// depends on it. Everything is looked at all the same: each arm that an unknown condition could choose, the body of a
// loop over an unknown sequence, functions that nothing calls inside of the function.

#include <map>

#include "frontend/binding/names.h"
#include "frontend/evaluate/evaluate.h"
#include "ir/core/op.h"

namespace tessera::frontend {

bool Evaluator::depends_on_call(const Datum& value) const {
  bool is_size = value.is(DatumKind::Dim) || (value.is_ir() && value.as_ir().value->type()->rank() == 0);
  return is_open() && is_size;
}

Flow Evaluator::explore(ast::StmtList body, Scope& scope) {
  bool returns = execute(body, scope) == Flow::Return;
  for (std::string_view name : names::assigned_names(body)) scope.set(name, Datum::poison(), Loc{});
  if (returns) frame().result = Datum::poison();
  return Flow::Next;
}

Flow Evaluator::explore_arms(const ast::If& stmt, size_t first, Scope& scope) {
  std::vector<ast::StmtList> bodies;
  for (size_t i = first; i < stmt.arms.size(); ++i) bodies.push_back(stmt.arms[i].body);
  bodies.push_back(stmt.else_body);
  leave_facts_open();
  std::map<std::string_view, Datum> before;  // of the names that arms assign
  for (ast::StmtList body : bodies) {
    for (std::string_view name : names::assigned_names(body)) {
      Binding* binding = scope.find_here(name);
      before.emplace(name, binding ? binding->value : Datum::poison());
    }
  }
  bool all_return = true, any_returns = false;
  for (size_t i = 0; i < bodies.size(); ++i) {
    if (i > 0 && first + i < stmt.arms.size()) evaluate(*stmt.arms[first + i].condition, scope);
    bool returns = execute(bodies[i], scope) == Flow::Return;
    all_return = all_return && returns;
    any_returns = any_returns || returns;
    for (std::string_view name : names::assigned_names(bodies[i])) scope.set(name, before[name], Loc{});
  }
  for (const auto& [name, value] : before) scope.set(name, Datum::poison(), Loc{});
  if (any_returns) frame().result = Datum::poison();
  return all_return ? Flow::Return : Flow::Next;
}

Flow Evaluator::explore_for(const ast::For& stmt, Scope& scope) {
  assign(*stmt.target, Datum::poison(), scope);
  return explore(stmt.body, scope);
}

void Evaluator::explore_all(ast::ExprList exprs, Scope& scope) {
  for (const ast::Expr* expr : exprs) {
    const auto* slice = ast::as<ast::Slice>(expr);
    if (!slice && expr->kind != ast::NodeKind::Ellipsis) evaluate(*expr, scope);
    if (!slice) continue;
    for (const ast::Expr* bound : {slice->lower, slice->upper, slice->step}) {
      if (bound) evaluate(*bound, scope);
    }
  }
}

void Evaluator::explore_call(const Datum& callee, std::vector<CallArgument> arguments, Loc loc) {
  if (callee.is(DatumKind::Builtin)) {
    bind_arguments(callee.as_builtin(), std::move(arguments), loc);
  } else if (callee.is(DatumKind::Function)) {
    match_parameters(callee.as_function(), arguments, loc);
  } else if (const auto* module = callee.object_as<ModuleReference>()) {
    std::erase_if(arguments, [](const CallArgument& argument) { return argument.name == "name"; });
    match_parameters(Callable(*module), arguments, loc);
  }
}

void Evaluator::explore(const Function& function, Scope& scope) {
  for (const ast::Parameter& parameter : function.parameters()) {
    if (parameter.default_value) evaluate(*parameter.default_value, scope);
    scope.set(parameter.name.text, Datum::poison(), parameter.loc);
  }
  // Under which conditions it would be called is not known.
  SizeFacts outside = facts_;
  leave_facts_open();
  push_frame(function.name, "call", Loc{}).function = &function;
  if (function.lambda) {
    evaluate(*function.lambda->body, scope);
  } else {
    execute(function.def->body, scope);
  }
  pop_frame();
  facts_ = std::move(outside);
}

Datum Evaluator::open_instance(const ModuleReference& module) {
  std::vector<ModuleApplication::Argument> arguments;
  for (const ast::Parameter& parameter : module.stmt().parameters) {
    TypePattern pattern;
    if (parameter.annotation) pattern = read_type(*this, *parameter.annotation, *module.scope());
    if (parameter.default_value) evaluate(*parameter.default_value, *module.scope());
    bool is_size = pattern.kind == PatternKind::DimParam ||
                   (pattern.kind == PatternKind::Scalar && is_integer(pattern.dtype));
    Datum value = Datum::poison();
    if (is_size) value = given_size(parameter.name.text);
    if (pattern.kind == PatternKind::DTypeParam) value = Datum::dtype(DType::F32);
    arguments.push_back({std::string(parameter.name.text), std::move(value), parameter.loc});
  }
  return instantiate(ModuleApplication(module, std::move(arguments), "", Loc{}), std::string(module.name()));
}

}  // namespace tessera::frontend
