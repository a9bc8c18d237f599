// Functions that nothing calls: they are run as entries are, for their errors.

#include <algorithm>

#include "frontend/lower/graph/graph_builder.h"

namespace tessera::frontend {

namespace {

/// A number that nothing is likely to be compared with.
constexpr double any_number = 0.6180339887;

}  // namespace

/// Values that a call could give a parameter that is no tensor: its default, either bool, some number. Nothing where it
/// is for the body to say what fits.
std::vector<Datum> GraphBuilder::possible_arguments(const SignatureParameter& parameter, Scope& scope) {
  if (parameter.default_value) return {evaluator_.evaluate(*parameter.default_value, scope)};
  if (parameter.type.kind != PatternKind::Scalar) return {};
  if (parameter.type.dtype == DType::Bool) return {Datum::boolean(true), Datum::boolean(false)};
  if (is_float(parameter.type.dtype)) return {Datum::number(any_number)};
  return {};
}

/// A tensor is symbolic, and so are those in a tuple. What else a call would give is unknown.
Datum GraphBuilder::open_argument(const TypePattern& pattern, const std::string& name, Loc loc, Scope& scope) {
  bool is_plain = pattern.layout.empty() && pattern.privileges.empty();
  bool is_tensor = pattern.kind == PatternKind::Tensor || pattern.kind == PatternKind::KTile;
  if (is_plain && is_tensor) return tensor_input(pattern, name, loc, scope);
  if (is_plain && pattern.kind == PatternKind::State && !open_state(pattern)) {
    return state_input(pattern, name, loc, scope);
  }
  if (pattern.kind != PatternKind::Tuple || pattern.elements.empty()) return Datum::poison();
  std::vector<Datum> elements;
  for (const TypePattern& element : pattern.elements) {
    elements.push_back(open_argument(element, fmt::format("{}.{}", name, elements.size()), loc, scope));
  }
  return Datum::tuple(std::move(elements));
}

void GraphBuilder::explore_function(const Function& function, bool is_called) {
  const Signature& signature = session().signature(evaluator_, function);
  if (signature.failed || function.def->is_declaration()) return;
  explore_dtypes(session(), signature, [&](const DTypeChoices& dtypes) {
    // With nothing known all arms are looked at, and with values that a call could give what is computed of them.
    for (size_t choice = 0, choices = 1; choice < choices; ++choice) {
      begin_function("entry", function.name, function.loc);
      if (is_called) evaluator_.leave_facts_open();
      choices = std::max(choices, explore_body(function, signature, dtypes, choice));
      function_.op->erase();
      end_function();
    }
  });
}

size_t GraphBuilder::explore_body(const Function& function, const Signature& signature, const DTypeChoices& dtypes,
                                  size_t choice) {
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
  size_t choices = 1;
  for (const SignatureParameter& parameter : signature.parameters) {
    std::vector<Datum> possible = possible_arguments(parameter, *scope);
    if (possible.empty()) continue;
    choices = std::max(choices, possible.size() + 1);
    Datum value = choice == 0 ? Datum::poison() : possible[std::min(choice, possible.size()) - 1];
    scope->set(parameter.name, std::move(value), parameter.loc);
  }
  if (choice == 0) {
    (void)assume_where(function, signature, *scope);
  } else {
    Session::Trial clauses(session());
    (void)assume_where(function, signature, *scope);
    if (clauses.errors() != 0) return choices;  // no call may give these values
  }
  for (const SignatureParameter& parameter : signature.parameters) {
    if (parameter.default_value) continue;
    Datum value = open_argument(parameter.type, parameter.name, parameter.loc, *scope);
    if (!value.is_poison()) scope->set(parameter.name, std::move(value), parameter.loc);
  }
  (void)finish_result(function, signature, evaluator_.run_body(function, *scope, Loc{}), *scope);
  return choices;
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
