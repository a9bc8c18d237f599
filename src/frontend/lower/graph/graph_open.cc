// Functions that nothing calls: they are run as entries are, for their errors.

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "frontend/lower/graph/graph_builder.h"

namespace tessera::frontend {

namespace {

/// Numbers for parameters of which nothing is known but that they have a fraction: another one for each, small in the
/// even choices and above 1 in the others, as hardly a condition of a valid function refuses both.
double some_number(size_t parameter, size_t choice) {
  return choice % 2 == 0 ? 0.0509 + 0.0131 * double(parameter) : 1.3071 + 0.1211 * double(parameter);
}

/// The same for whole numbers that are extents of no parameter: sizes in the even choices.
Datum some_integer(size_t parameter) { return Datum::integer(3 + 2 * int64_t(parameter)); }

/// Of two bools one choice has either, and others both values alike.
bool some_bool(size_t parameter, size_t choice) {
  return choice < 2 ? choice == 0 : (parameter + choice) % 2 == 0;
}

bool is_bool(const SignatureParameter& parameter) {
  return parameter.type.kind == PatternKind::Scalar && parameter.type.dtype == DType::Bool;
}

bool is_tensor(const TypePattern& pattern) {
  return pattern.kind == PatternKind::Tensor || pattern.kind == PatternKind::KTile;
}

/// Whether a parameter is a size that is no extent of another one.
bool is_own_number(const DeclaredSymbol& symbol) { return symbol.uses == 1; }

/// How many choices of values for parameters that are no tensors there are to look at.
size_t count_choices(const Signature& signature) {
  auto has_value = [&](const SignatureParameter& each) {
    bool is_number = each.type.kind == PatternKind::Scalar && is_float(each.type.dtype);
    auto is_it = [&](const DeclaredSymbol& symbol) { return symbol.name == each.name && is_own_number(symbol); };
    return each.default_value || is_bool(each) || is_number || std::ranges::any_of(signature.dims, is_it);
  };
  if (std::ranges::none_of(signature.parameters, has_value)) return 0;
  return std::ranges::count_if(signature.parameters, is_bool) < 2 ? 2 : 4;
}

}  // namespace

/// A tensor is symbolic, and so are those in a tuple. What else a call would give is unknown.
Datum GraphBuilder::open_argument(const TypePattern& pattern, const std::string& name, Loc loc, Scope& scope) {
  bool is_plain = pattern.layout.empty() && pattern.privileges.empty();
  if (is_plain && is_tensor(pattern)) return tensor_input(pattern, name, loc, scope);
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

/// The argument of a parameter. What has a default may be left out: in the even choices it is, in the others it is
/// anything else.
Datum GraphBuilder::chosen_argument(const SignatureParameter& parameter, size_t number, const OpenChoice& choice,
                                    Scope& scope) {
  const TypePattern& pattern = parameter.type;
  bool is_number = pattern.kind == PatternKind::Scalar && is_float(pattern.dtype);
  if (parameter.default_value) {
    Datum usual = evaluator_.evaluate(*parameter.default_value, scope);
    if (!choice.number) return choice.gives_tensors ? open_argument(pattern, parameter.name, parameter.loc, scope)
                                                    : Datum::poison();
    if (usual.is(DatumKind::Bool)) return Datum::boolean(usual.as_bool() == some_bool(number, *choice.number));
    if (*choice.number % 2 == 0) return usual;
  } else if (choice.number && is_bool(parameter)) {
    return Datum::boolean(some_bool(number, *choice.number));
  }
  if (choice.number && is_number) return Datum::number(some_number(number, *choice.number));
  return open_argument(pattern, parameter.name, parameter.loc, scope);
}

void GraphBuilder::explore_function(const Function& function, bool is_called) {
  const Signature& signature = session().signature(evaluator_, function);
  if (signature.failed || function.def->is_declaration()) return;
  explore_dtypes(session(), signature, [&](const DTypeChoices& dtypes) {
    auto explore = [&](const OpenChoice& choice) {
      begin_function("entry", function.name, function.loc);
      evaluator_.begin_uncalled(function.name);
      if (is_called) evaluator_.leave_facts_open();
      explore_body(function, signature, dtypes, choice);
      function_.op->erase();
      end_function();
    };
    explore({});
    bool has_optional = std::ranges::any_of(signature.parameters, [](const SignatureParameter& each) {
      return each.default_value && is_tensor(each.type);
    });
    if (has_optional) explore({.gives_tensors = true});
    if (!session().is_trial()) explore_choices(count_choices(signature), explore);
  });
}

/// Reports what is found with each of the choices.
void GraphBuilder::explore_choices(size_t choices, const std::function<void(const OpenChoice&)>& explore) {
  Budget::Extra budget(session().budget());
  std::set<Session::SaidText> common;
  for (size_t i = 0; i < choices; ++i) {
    Session::Trial trial(session());
    explore({.number = i});
    if (budget.is_spent()) return;
    std::set<Session::SaidText> both;
    std::ranges::set_intersection(common, trial.found(), std::inserter(both, both.end()));
    common = i == 0 ? trial.found() : std::move(both);
    if (common.empty()) return;
  }
  Session::Only only(session(), common);
  if (!common.empty()) explore({.number = 0});
}

void GraphBuilder::explore_body(const Function& function, const Signature& signature, const DTypeChoices& dtypes,
                                const OpenChoice& choice) {
  function_.seed = add_argument("seed", "input", context().tensor({}, DType::U64));
  Scope* scope = session().new_scope(function.scope);
  for (const SignatureParameter& parameter : signature.parameters) {
    scope->set(parameter.name, Datum::poison(), parameter.loc);
  }
  for (const auto& [name, dtype] : dtypes) scope->set(name, Datum::dtype(dtype), function.loc);
  for (const DeclaredSymbol& symbol : signature.dims) {
    auto is_it = [&](const SignatureParameter& parameter) { return parameter.name == symbol.name; };
    auto given = std::ranges::find_if(signature.parameters, is_it);
    bool is_given = given != signature.parameters.end();
    Datum size = is_given ? evaluator_.given_size(symbol.name) : Datum::dim(dims().symbol(symbol.name));
    bool is_even = choice.number && *choice.number % 2 == 0;
    if (is_given && given->default_value) {
      if (is_even) size = evaluator_.evaluate(*given->default_value, *scope);
      if (!choice.number) size = Datum::poison();
    } else if (is_given && is_own_number(symbol) && !is_even) {
      // What a size cannot be in, a number can be.
      size = choice.number ? some_integer(size_t(given - signature.parameters.begin())) : Datum::poison();
    }
    scope->set(symbol.name, std::move(size), symbol.loc);
  }
  {
    // What the clauses say is checked where nothing is known; here they may be about other values.
    std::optional<Session::Trial> quiet;
    if (choice.number) quiet.emplace(session());
    (void)assume_where(function, signature, *scope);
  }
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const SignatureParameter& parameter = signature.parameters[i];
    if (signature.declares_dim(parameter.name)) continue;
    Datum value = chosen_argument(parameter, i, choice, *scope);
    if (!value.is_poison()) scope->set(parameter.name, std::move(value), parameter.loc);
  }
  CallFrame done = evaluator_.run_body(function, *scope, Loc{});
  std::vector<Datum> results = std::exchange(done.possible_results, {});
  if (results.empty()) results.push_back(done.result);
  for (Datum& result : results) {
    if (results.size() > 1 && result.is_none()) continue;  // of arms that may be all that there are
    done.result = std::move(result);
    (void)finish_result(function, signature, done, *scope);
  }
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
