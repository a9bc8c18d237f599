// Functions that nothing calls, and modules that nothing makes: they are run as entries are, for their errors.

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "frontend/lower/graph/graph_builder.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/modules.h"

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

bool is_scalar(const TypePattern& pattern, bool (*is)(DType)) {
  return pattern.kind == PatternKind::Scalar && is(pattern.dtype);
}

bool is_bool(const TypePattern& pattern) { return pattern.kind == PatternKind::Scalar && pattern.dtype == DType::Bool; }
bool is_flag(const SignatureParameter& parameter) { return is_bool(parameter.type); }

bool is_tensor(const TypePattern& pattern) {
  return pattern.kind == PatternKind::Tensor || pattern.kind == PatternKind::KTile;
}

/// Whether a parameter is a size that is no extent of another one.
bool is_own_number(const DeclaredSymbol& symbol) { return symbol.uses == 1; }

/// How many choices of values for parameters that are no tensors there are to look at; of a method beside those of its
/// module.
size_t count_choices(const Signature& signature, size_t bools, size_t choices) {
  auto has_value = [&](const SignatureParameter& each) {
    bool is_number = each.type.kind == PatternKind::Scalar && is_float(each.type.dtype);
    auto is_it = [&](const DeclaredSymbol& symbol) { return symbol.name == each.name && is_own_number(symbol); };
    return each.default_value || is_flag(each) || is_number || std::ranges::any_of(signature.dims, is_it);
  };
  if (choices == 0 && std::ranges::none_of(signature.parameters, has_value)) return 0;
  return bools + size_t(std::ranges::count_if(signature.parameters, is_flag)) < 2 ? 2 : 4;
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
  } else if (choice.number && is_flag(parameter)) {
    return Datum::boolean(some_bool(number, *choice.number));
  }
  if (choice.number && is_number) return Datum::number(some_number(number, *choice.number));
  return open_argument(pattern, parameter.name, parameter.loc, scope);
}

/// Instances of a module that nothing makes, one for each choice of what it is given.
class GraphBuilder::OpenModule {
 public:
  struct Instance {
    Datum made;  ///< poison where the choice cannot be made
    SizeFacts facts;
    unsigned unknown_sizes = 0;  ///< in its fields
    const ModuleInstance* get() const { return made.object_as<ModuleInstance>(); }
  };
  OpenModule(GraphBuilder& graph, const ModuleReference& module) : graph_(graph), module_(module) { read_parameters(); }

  size_t choices() const { return choices_; }
  size_t bools() const { return bools_; }
  /// Whether extents of its params have defaults.
  bool has_usual_sizes() const {
    return std::ranges::any_of(parameters_, [](const Parameter& each) {
      return each.is_extent && each.written->default_value;
    });
  }
  /// What is wrong with one of values that are chosen is not said.
  const Instance& at(const OpenChoice& choice) {
    auto [it, fresh] = instances_.try_emplace({choice.number, choice.states_sizes});
    std::optional<Session::Trial> quiet;
    if (fresh && (choice.number || choice.states_sizes)) quiet.emplace(graph_.session());
    if (fresh) it->second = make(choice);
    return it->second;
  }

 private:
  struct Parameter {
    const ast::Parameter* written;
    TypePattern type;
    bool is_extent = false;  ///< of a param, or of an argument of a method
  };

  void read_parameters();
  Datum chosen(const Parameter& parameter, size_t number, const OpenChoice& choice, Scope& scope) const;
  Instance make(const OpenChoice& choice) const;

  GraphBuilder& graph_;
  const ModuleReference& module_;
  std::vector<Parameter> parameters_;
  size_t choices_ = 0;
  size_t bools_ = 0;
  std::map<std::pair<std::optional<size_t>, bool>, Instance> instances_;
};

namespace {

/// Whether types of a module's params and of its methods' arguments have a name as an extent.
bool is_in_types(const ast::Module& module, std::string_view name) {
  bool found = false;
  auto look = [&](const ast::Node& node) {
    const auto* each = ast::as<ast::Name>(&node);
    found = found || (each && each->text == name);
  };
  for (const ast::Stmt* stmt : module.body) {
    const auto* field = ast::as<ast::Assign>(stmt);
    if (field && field->annotation && is_param_field(*field)) ast::walk(*field->annotation, look);
    const auto* method = ast::as<ast::Def>(stmt);
    if (!method) continue;
    for (const ast::Parameter& parameter : method->parameters) {
      if (parameter.annotation) ast::walk(*parameter.annotation, look);
    }
    if (method->return_type) ast::walk(*method->return_type, look);
  }
  return found;
}

}  // namespace

void GraphBuilder::OpenModule::read_parameters() {
  for (const ast::Parameter& written : module_.stmt().parameters) {
    Parameter parameter{&written, {}};
    if (written.annotation) parameter.type = read_type(graph_.evaluator_, *written.annotation, *module_.scope());
    const TypePattern& type = parameter.type;
    parameter.is_extent = type.kind == PatternKind::DimParam || is_in_types(module_.stmt(), written.name.text);
    bool has_value = written.default_value && type.kind != PatternKind::DTypeParam;
    bool is_own_number = is_scalar(type, is_integer) && !parameter.is_extent;
    if (has_value || is_own_number || is_bool(type) || is_scalar(type, is_float)) choices_ = 2;
    bools_ += is_bool(type);
    parameters_.push_back(std::move(parameter));
  }
}

/// Sizes are symbols; a number that is an extent nowhere is one in the odd choices. The rest is as it is for functions.
/// The scope has the parameters before, which a default may be made of.
Datum GraphBuilder::OpenModule::chosen(const Parameter& parameter, size_t number, const OpenChoice& choice,
                                       Scope& scope) const {
  const TypePattern& type = parameter.type;
  const ast::Expr* written = parameter.written->default_value;
  Datum usual = written ? graph_.evaluator_.evaluate(*written, scope) : Datum::poison();
  bool is_even = choice.number && *choice.number % 2 == 0;
  if (type.kind == PatternKind::DTypeParam) return usual.is_poison() ? Datum::dtype(DType::F32) : usual;
  if (type.kind == PatternKind::DimParam || is_scalar(type, is_integer)) {
    if (is_even && written) return usual;
    if (choice.number && !is_even && !parameter.is_extent) return some_integer(number);
    std::string_view name = parameter.written->name.text;
    // What its default makes hold, no clause has to say.
    bool is_stated = parameter.is_extent && (!written || choice.states_sizes);
    if (is_stated) return Datum::dim(graph_.dims().symbol(name));
    if (parameter.is_extent) return graph_.evaluator_.given_size(name);
    return choice.number ? graph_.evaluator_.given_size(name) : Datum::poison();
  }
  if (!choice.number) return Datum::poison();
  if (is_bool(type)) {
    bool chosen = some_bool(number, *choice.number);
    return Datum::boolean(usual.is(DatumKind::Bool) ? usual.as_bool() == chosen : chosen);
  }
  if (is_even && written) return usual;
  return is_scalar(type, is_float) ? Datum::number(some_number(number, *choice.number)) : Datum::poison();
}

GraphBuilder::OpenModule::Instance GraphBuilder::OpenModule::make(const OpenChoice& choice) const {
  Evaluator& evaluator = graph_.evaluator_;
  evaluator.forget_facts();
  evaluator.count_unknown_from(0);
  evaluator.begin_uncalled("");
  std::vector<ModuleApplication::Argument> arguments;
  std::vector<std::string> sizes;
  Scope* scope = graph_.session().new_scope(module_.scope());
  for (const Parameter& parameter : parameters_) {
    Datum value = chosen(parameter, arguments.size(), choice, *scope);
    scope->set(parameter.written->name.text, value, parameter.written->loc);
    const ast::Identifier& name = parameter.written->name;
    bool is_size = value.is(DatumKind::Dim) && parameter.is_extent;
    const auto* usual = ast::as<ast::Integer>(parameter.written->default_value);
    if (is_size) sizes.emplace_back(name.text);
    if (is_size && !(usual && usual->value == 0)) {
      // A param without elements is in no module that anybody makes.
      evaluator.facts().push_back({Relation::GreaterEqual, value.as_dim(), graph_.dims().constant(1)});
    }
    arguments.push_back({std::string(name.text), std::move(value), parameter.written->loc});
  }
  evaluator.begin_unmade(std::string(module_.name()), std::move(sizes));
  Datum made = evaluator.open_instance(module_, std::move(arguments));
  return {std::move(made), evaluator.size_facts(), evaluator.unknown_sizes()};
}

void GraphBuilder::explore_module(const ModuleReference& module,
                                  const std::function<bool(const ast::Def&)>& lacks_run) {
  OpenModule open(*this, module);
  const OpenModule::Instance& usual = open.at({});
  if (!usual.get()) return;
  explore_initialisers(*usual.get(), usual.facts);
  for (const ast::Stmt* stmt : module.stmt().body) {
    const auto* def = ast::as<ast::Def>(stmt);
    if (def && lacks_run(*def)) explore(*session().method(*def, *usual.get()->scope()), false, &open);
  }
  evaluator_.begin_unmade("", {});
}

void GraphBuilder::explore(const Function& function, bool is_called, OpenModule* module) {
  const Signature& signature = session().signature(evaluator_, function);
  if (signature.failed || function.def->is_declaration()) return;
  explore_dtypes(session(), signature, [&](const DTypeChoices& dtypes) {
    auto explore = [&](const OpenChoice& choice) {
      const OpenModule::Instance* instance = module ? &module->at(choice) : nullptr;
      if (instance && !instance->get()) return false;
      const Function& run = instance ? *session().method(*function.def, *instance->get()->scope()) : function;
      const Signature& its = session().signature(evaluator_, run);
      if (its.failed) return false;
      begin_function("entry", run.name, run.loc);
      if (instance) evaluator_.set_size_facts(instance->facts);
      evaluator_.count_unknown_from(instance ? instance->unknown_sizes : 0);
      evaluator_.begin_uncalled(run.name);
      if (is_called) evaluator_.leave_facts_open();
      explore_body(run, its, dtypes, choice);
      function_.op->erase();
      end_function();
      return true;
    };
    explore({});
    bool has_optional = std::ranges::any_of(signature.parameters, [](const SignatureParameter& each) {
      return each.default_value && is_tensor(each.type);
    });
    if (has_optional) explore({.gives_tensors = true});
    size_t bools = module ? module->bools() : 0, of_module = module ? module->choices() : 0;
    if (session().is_trial()) return;
    explore_choices(count_choices(signature, bools, of_module), explore);
    if (module && module->has_usual_sizes()) explore_usual_sizes(explore);
  });
}

/// Relations between sizes of a module that their defaults do not make hold either, in the words of the sizes.
void GraphBuilder::explore_usual_sizes(const std::function<bool(const OpenChoice&)>& explore) {
  Budget::Extra budget(session().budget());
  std::set<std::tuple<FileId, uint32_t, uint32_t>> places;
  auto place_of = [](const Session::SaidText& said) {
    const auto& [kind, file, line, column] = said.first;
    return std::tuple(file, line, column);
  };
  {
    Session::Trial usual(session());
    if (!explore({.number = 0}) || usual.found().empty()) return;
    for (const Session::SaidText& said : usual.found()) places.insert(place_of(said));
  }
  std::set<Session::SaidText> common;
  {
    Session::Trial stated(session());
    if (!explore({.states_sizes = true}) || budget.is_spent()) return;
    for (const Session::SaidText& said : stated.found()) {
      bool is_relation = std::get<0>(said.first) == subject_of(DiagId::unstated_relation);
      if (is_relation && places.count(place_of(said)) != 0) common.insert(said);
    }
  }
  Session::Only only(session(), common);
  if (!common.empty()) explore({.states_sizes = true});
}

/// Reports what is found with each of the choices that can be made.
void GraphBuilder::explore_choices(size_t choices, const std::function<bool(const OpenChoice&)>& explore) {
  Budget::Extra budget(session().budget());
  std::set<Session::SaidText> common;
  std::optional<size_t> first;
  for (size_t i = 0; i < choices; ++i) {
    Session::Trial trial(session());
    if (!explore({.number = i})) continue;
    if (budget.is_spent()) return;
    std::set<Session::SaidText> both;
    std::ranges::set_intersection(common, trial.found(), std::inserter(both, both.end()));
    common = first ? std::move(both) : trial.found();
    if (!first) first = i;
    if (common.empty()) return;
  }
  Session::Only only(session(), common);
  if (first && !common.empty()) explore({.number = *first});
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

void GraphBuilder::explore_initialisers(const ModuleInstance& instance, const SizeFacts& facts) {
  for (const auto& [name, member] : instance.members()) {
    const auto* reference = member.object_as<ParamReference>();
    if (!reference) continue;
    const ParamDeclaration& declaration = reference->declaration();
    const ParamType* type = param_type(declaration);
    if (!type || !declaration.initialiser) continue;
    begin_function("init", "init", declaration.loc);
    evaluator_.set_size_facts(facts);
    function_.seed = add_argument("seed", "input", context().tensor({}, DType::U64));
    function_.initialised = &declaration;
    (void)evaluator_.evaluate(*declaration.initialiser, *declaration.scope);
    function_.op->erase();
    end_function();
  }
}

}  // namespace tessera::frontend
