// Functions of the graph module: entries, and initialisers of params.

#include <algorithm>

#include "frontend/fixes/operand_text.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/dims.h"
#include "frontend/values/dtype_values.h"
#include "ir/core/dim_facts.h"
#include "ir/text/entries.h"
#include "ir/text/printer.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// Where the dims of a type are written; nothing when one place holds several.
std::vector<Loc> places_of(const TypePattern& pattern) {
  std::vector<Loc> places;
  for (const DimPattern& dim : pattern.dims) {
    if (!dim.group.empty()) return {};
    places.push_back(dim.loc);
  }
  return places;
}

}  // namespace

GraphBuilder::GraphBuilder(Session& session, Module& module, SourceKernels& kernels, Arguments arguments)
    : evaluator_(session, *this, arguments), module_(module), kernels_(kernels), builder_(module) {
  nowhere_ = make_function("init", {})->region()->add_block();
  end_function();
}

Op* GraphBuilder::make_function(std::string_view role, Loc loc) {
  OpState state;
  state.info = graph::info(graph::OpKind::Func);
  state.loc = loc;
  state.attributes = {graph::attr::Func::args(context(), std::vector<Attr>()),
                      graph::attr::Func::results(context(), std::vector<Attr>()),
                      graph::attr::Func::role(context(), role)};
  return module_.create(state);
}

/// Facts that were known in the function hold nowhere else.
void GraphBuilder::end_function() {
  function_ = {};
  builder_.set_end(nowhere_);
  evaluator_.forget_facts();
}

void GraphBuilder::begin_function(std::string_view role, std::string_view symbol, Loc loc) {
  function_ = {};
  evaluator_.forget_facts();
  function_.op = make_function(role, loc);
  function_.name = symbol;
  set_symbol_name(function_.op, symbol);
  function_.op->move_to_end(module_.body());
  builder_.set_end(function_.op->region()->add_block());
  builder_.set_loc(loc);
}

/// A place as calls that fail name it: "mlp.tsr:5:19".
std::string GraphBuilder::place_text(Loc loc) const {
  return fmt::format("{}:{}:{}", session().sources().ir_name(loc.file), loc.line, loc.column);
}

Value* GraphBuilder::add_argument(std::string_view name, std::string_view kind, Type type,
                                  std::vector<Loc> dim_places) {
  using entry::Argument;
  std::vector<std::string> places;
  for (Loc place : dim_places) places.push_back(place_text(place));
  Attr placed = places.empty() ? nullptr : Argument::places.make(context(), places);
  function_.arguments.push_back(entry::make_dict(
      context(), {Argument::kind(context(), kind), Argument::name(context(), name), Argument::places(placed)}));
  Value* argument = function_.op->region()->front()->add_arg(type, context().intern(name));
  if (!dim_places.empty()) function_.dim_places[argument] = std::move(dim_places);
  return argument;
}

/// The description of an argument whose memory a result has.
void GraphBuilder::donate(Attr& argument) {
  using entry::Argument;
  argument = entry::make_dict(
      context(), {Argument::donated(context(), true), Argument::kind(context(), entry::read(argument, Argument::kind)),
                  Argument::name(context(), entry::read(argument, Argument::name))});
}

/// The seed is an argument of every function while it is built, and params are added as the body
/// comes upon them. What is not used goes, and the params come last, in the order of their
/// declaration.
void GraphBuilder::finish_arguments() {
  Block* block = function_.op->region()->front();
  std::vector<const ParamDeclaration*> order;
  for (const auto& [declaration, value] : function_.params) {
    if (!value->unused() || function_.updated.contains(declaration)) order.push_back(declaration);
  }
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->order < b->order; });
  std::set<const Value*> leaving;
  Value* hidden = function_.hidden_seed;
  if (hidden && hidden->unused()) leaving.insert(hidden);
  for (const auto& [declaration, value] : function_.params) leaving.insert(value);
  for (const ParamDeclaration* declaration : order) {
    Value* before = function_.params[declaration];
    Value* after = add_argument(declaration->key, "param", before->type(), function_.dim_places[before]);
    if (function_.updated.contains(declaration)) donate(function_.arguments.back());
    before->replace_all_uses(after);
    function_.params[declaration] = after;
  }
  std::vector<Attr> kept;
  unsigned position = 0;
  for (Attr description : function_.arguments) {
    if (leaving.count(block->arg(position))) {
      block->erase_arg(position);
    } else {
      kept.push_back(description);
      ++position;
    }
  }
  function_.op->set(graph::attr::Func::args, std::move(kept));
}

/// Callers name arguments, so no two that are left may have one name.
void GraphBuilder::check_argument_names(const Function& function) {
  Block* block = function_.op->region()->front();
  std::map<std::string_view, std::pair<std::string, Loc>> seen;
  const std::vector<Attr>& descriptions = function_.op->attr(graph::attr::Func::args);
  for (unsigned i = 0; i < block->arg_count(); ++i) {
    std::string_view name = entry::read(descriptions[i], entry::Argument::name);
    std::pair<std::string, Loc> what{"its parameter", Loc{}};
    if (entry::read(descriptions[i], entry::Argument::kind) == "param") what.first = "a param";
    if (std::ranges::count(function_.cotangents, block->arg(i))) what.first = "the cotangent of a result";
    if (block->arg(i) == function_.seed) what.first = "the seed of its random numbers";
    for (const auto& [declaration, value] : function_.params) {
      if (value == block->arg(i)) what.second = declaration->loc;
    }
    auto [it, fresh] = seen.try_emplace(name, what);
    if (fresh) continue;
    auto own = std::ranges::find_if(function.parameters(), [&](const auto& each) { return each.name.text == name; });
    bool is_own = own != function.parameters().end();
    auto builder = report(diag::ambiguous_argument, is_own ? own->name.loc : function.loc, function.name, name,
                          it->second.first, what.first);
    if (what.second.known()) builder.label(what.second, "the param is declared here");
    bool is_seed = is_own && block->arg(i) == function_.seed;
    builder.help(is_seed ? "leave it out: an entry with random numbers has a seed of its own"
                         : "give one of them another name");
    return;
  }
}

/// The name of a use of random numbers. Entries for derivatives have the numbers of their entry.
std::string GraphBuilder::next_stream() { return fmt::format("{}.{}", function_.name, function_.streams++); }

/// The seed of a draw: in a run-time loop each iteration has its own, the bits of the one around it
/// mixed with the iteration's number. Null when an error was reported.
Value* GraphBuilder::seed(Loc loc) {
  constexpr int64_t spread = 0x1e3779b97f4a7c15, mixer = 0x3f58476d1ce4e5b9;  // odd: nothing is lost
  Value* seed = function_.seed;
  builder_.set_loc(loc);
  for (const RuntimeLoop& loop : function_.runtime_loops) {
    if (!loop.counter && !loop.value) {
      evaluator_.unsupported(loc, "random numbers in a run-time 'while' loop");
      return nullptr;
    }
    Value* number = loop.value ? loop.value : graph::dim(builder_, loop.counter);
    number = graph::add(builder_, graph::cast(builder_, number, DType::U64), graph::scalar(builder_, 1, DType::U64));
    number = graph::mul(builder_, number, graph::scalar(builder_, spread, DType::U64));
    seed = graph::elementwise(builder_, ElementwiseKind::Xor, {seed, number});
    seed = graph::mul(builder_, seed, graph::scalar(builder_, mixer, DType::U64));
  }
  return seed;
}

const ParamType* GraphBuilder::param_type(const ParamDeclaration& declaration) {
  auto [it, fresh] = param_types_.try_emplace(&declaration);
  if (!fresh) return it->second ? &*it->second : nullptr;
  if (!declaration.annotation) {
    report(diag::malformed_type, declaration.loc,
           fmt::format("param '{}' has no type", declaration.name))
        .help(fmt::format("write its dims and dtype: param {}: Param[D, F, f32]{}", declaration.name,
                          declaration.initialiser ? " = normal(0.02)" : ""));
    return nullptr;
  }
  TypePattern pattern = read_type(evaluator_, *declaration.annotation, *declaration.scope);
  if (pattern.kind == PatternKind::Poison) return nullptr;
  if (pattern.kind != PatternKind::Tensor) {
    report(diag::not_a_type, pattern.loc, "something else than Param[…]");
    return nullptr;
  }
  auto type = written_type(pattern, *declaration.scope);
  auto extents = type ? evaluate_dims(evaluator_, pattern, *declaration.scope) : std::nullopt;
  if (!extents) return nullptr;
  if (!check_memory(type->storage, pattern.loc, fmt::format("param '{}'", declaration.name))) return nullptr;
  evaluator_.observe(declaration.name, declaration.loc,
                     Datum::type(context().tensor(*extents, type->storage, type->policies)));
  it->second = ParamType{std::move(*extents), places_of(pattern), type->storage, type->policies};
  return &*it->second;
}

/// A param becomes an argument of the entry where its body comes upon it first.
Value* GraphBuilder::param_argument(const ParamDeclaration& declaration, const ParamType& type) {
  Value*& argument = function_.params[&declaration];
  if (!argument) {
    argument =
        add_argument(declaration.key, "param",
                     context().tensor(type.dims, type.storage, type.policies), type.dim_places);
  }
  return argument;
}

std::optional<Datum> GraphBuilder::param(const ParamDeclaration& declaration, Loc) {
  const ParamType* type = param_type(declaration);
  if (!type) return Datum::poison();
  if (function_.op == nullptr || function_.initialised) return std::nullopt;
  Value* argument = param_argument(declaration, *type);
  auto current = function_.current.find(&declaration);
  Value* now = current == function_.current.end() ? argument : current->second;
  Datum value = handle(now, {type->storage, type->policies, false}, declaration.loc);
  if (!value.is_ir()) return value;
  IrValue named = value.as_ir();
  named.name = context().intern(declaration.name);
  return Datum::ir(named);
}

/// Gives each symbol of an entry's signature the dim it stands for: itself.
bool GraphBuilder::declare_symbols(const Signature& signature, Scope& scope) {
  for (const DeclaredSymbol& symbol : signature.dtypes) {
    if (!default_dtype(signature, symbol, scope)) return false;
  }
  for (const DeclaredSymbol& symbol : signature.dims) {
    scope.set(symbol.name, Datum::dim(dims().symbol(symbol.name)), symbol.loc);
  }
  return true;
}

/// Makes a size that is one symbol another dim wherever the signature's symbols mention it. False
/// when it is no symbol, or part of that dim.
bool GraphBuilder::unify(Dim from, Dim to, const Signature& signature, Scope& scope) {
  std::string symbol(from->symbol());
  if (symbol.empty() || mentions(to, symbol)) return false;
  std::map<std::string, Dim, std::less<>> replacement = {{symbol, to}};
  auto replaced = [&](Dim dim) { return dims().substitute(dim, replacement); };
  for (const DeclaredSymbol& declared : signature.dims) {
    Binding* binding = scope.find_here(declared.name);
    Dim now = as_dimension(dims(), binding->value);
    if (now) scope.set(declared.name, Datum::dim(replaced(now)), binding->loc);
  }
  for (DimFact& fact : evaluator_.facts()) fact = {fact.relation, replaced(fact.left), replaced(fact.right)};
  for (Attr& guard : function_.guards) {
    std::vector<NamedAttr> entries = guard->entries;
    for (auto& [name, value] : entries) {
      if (value->is(AttrKind::Dim)) value = context().dim(replaced(value->dim));
    }
    guard = context().dict(std::move(entries));
  }
  return true;
}

/// Of A + B - 2*C == 0: makes A the dim 2*C - B, which is a size as A is. False when no symbol stands alone.
bool GraphBuilder::unify_part(Dim zero, const Signature& signature, Scope& scope) {
  for (const DimTerm& term : zero->terms) {
    bool is_symbol = term.factors.size() == 1 && term.factors[0]->kind == DimAtomKind::Symbol;
    if (!is_symbol || (term.coefficient != 1 && term.coefficient != -1)) continue;
    Dim symbol = dims().symbol(term.factors[0]->text), sign = dims().constant(-term.coefficient);
    Dim rest = dims().add(symbol, dims().mul(sign, zero));
    if (!unify(symbol, rest, signature, scope)) continue;
    evaluator_.facts().push_back({Relation::GreaterEqual, rest, dims().constant(0)});
    return true;
  }
  return false;
}

/// One comparison of a `where` clause. `A == B` makes the two one dim; everything else is a fact
/// for the checker and a guard for the runtime.
bool GraphBuilder::assume(const ast::Compare& compare, const Signature& signature, Scope& scope) {
  for (size_t i = 0; i < compare.ops.size(); ++i) {
    Dim left = evaluator_.expect_dim(evaluator_.evaluate(*compare.operands[i], scope), compare.operands[i]->loc,
                                     "a side of a 'where' clause");
    Dim right = left ? evaluator_.expect_dim(evaluator_.evaluate(*compare.operands[i + 1], scope),
                                             compare.operands[i + 1]->loc, "a side of a 'where' clause")
                     : nullptr;
    if (!right) return false;
    ast::CompareOp op = compare.ops[i];
    std::optional<Relation> relation = as_relation(op);
    if (!relation) {
      evaluator_.unsupported(compare.loc, fmt::format("'{}' in a 'where' clause", ast::spelling(op)));
      return false;
    }
    DimFact fact{*relation, left, right};
    auto known = tessera::decide(dims(), fact, evaluator_.facts());
    if (known == true) continue;
    if (known == false) {
      report(diag::false_where, compare.loc, source_text(session().sources(), compare.loc), " whatever the sizes are");
      return false;
    }
    if (op == ast::CompareOp::Equal &&
        (unify(left, right, signature, scope) || unify(right, left, signature, scope) ||
         unify_part(dims().sub(left, right), signature, scope))) {
      continue;
    }
    evaluator_.facts().push_back(fact);
    add_guard(fact, source_text(session().sources(), compare.loc), compare.loc);
  }
  return true;
}

namespace {

/// A parameter that gets its value from a call, and that one of the names means; null when there is none.
const SignatureParameter* input_in(const names::FreeNames& names, const Signature& signature, Scope& scope) {
  for (const SignatureParameter& parameter : signature.parameters) {
    if (names.contains(parameter.name) && !scope.find_here(parameter.name)) return &parameter;
  }
  return nullptr;
}

}  // namespace

bool GraphBuilder::assume_where(const Function& function, const Signature& signature,
                                Scope& scope) {
  std::vector<const ast::Expr*> clauses(function.def->where.begin(), function.def->where.end());
  for (size_t i = 0; i < clauses.size(); ++i) {
    const ast::Expr* clause = clauses[i];
    if (const auto* both = ast::as<ast::Logical>(clause); both && both->op == ast::LogicalOp::And) {
      clauses.insert(clauses.end(), both->operands.begin(), both->operands.end());
      continue;
    }
    if (const SignatureParameter* input = input_in(session().free_names(*clause), signature, scope)) {
      if (function.kind != FunctionKind::Jit) {  // its callers say the value
        evaluator_.leave_facts_open();
        continue;
      }
      std::string what = fmt::format("a 'where' clause of an entry on the value of '{}'", input->name);
      evaluator_.unsupported(clause->loc, what);
      return false;
    }
    const auto* compare = ast::as<ast::Compare>(clause);
    bool good = compare && compares_sizes(*compare, scope) ? assume(*compare, signature, scope)
                                                           : check_entry_clause(*clause, scope);
    if (!good && !evaluator_.is_open()) return false;
    if (!good) evaluator_.leave_facts_open();
  }
  return true;
}

/// The parameter is a state object, or a list of such.
bool GraphBuilder::add_state(const TypePattern& pattern, const SignatureParameter& parameter, Scope& scope) {
  bool list = pattern.kind == PatternKind::Tuple;
  auto is_state = [](const TypePattern& each) { return each.kind == PatternKind::State; };
  if (list && !std::all_of(pattern.elements.begin(), pattern.elements.end(), is_state)) {
    evaluator_.unsupported(pattern.loc,
                           fmt::format("parameter '{}' of an entry, which is not a tensor,", parameter.name));
    return false;
  }
  std::vector<Datum> states;
  size_t count = list ? pattern.elements.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    std::string name = list ? fmt::format("{}.{}", parameter.name, i) : parameter.name;
    states.push_back(state_input(list ? pattern.elements[i] : pattern, name, parameter.loc, scope));
    if (states.back().is_poison()) return false;
  }
  scope.set(parameter.name, list ? Datum::list(std::move(states)) : states[0], parameter.loc);
  return true;
}

bool GraphBuilder::add_input(const Function& function, const Signature& signature,
                             const SignatureParameter& parameter, Scope& scope) {
  const TypePattern& pattern = parameter.type;
  bool tensor = pattern.kind == PatternKind::Tensor || pattern.kind == PatternKind::KTile;
  bool scalar = pattern.kind == PatternKind::Scalar;
  if (pattern.kind == PatternKind::DTypeParam) return true;  // its default, which is in the scope
  bool number = scalar || pattern.kind == PatternKind::DimParam;
  if (number && signature.declares_dim(parameter.name)) return add_size(function, parameter, scope);
  std::string_view help = parameter.name == "device"
                              ? "the device is chosen where the program is run, tsr run --device: leave it out"
                              : "";
  if (!tensor && !scalar && !pattern.loc.known()) {
    report(diag::unsupported_construct, parameter.loc,
           fmt::format("an entry whose parameter '{}' has no type", parameter.name))
        .help(help.empty() ? fmt::format("write its type, such as {}: Tensor[N, f32]", parameter.name)
                           : std::string(help));
    return false;
  }
  if (pattern.kind == PatternKind::State || pattern.kind == PatternKind::Tuple) {
    return add_state(pattern, parameter, scope);
  }
  if (!tensor && !scalar) {
    auto builder = report(diag::unsupported_construct, pattern.loc.known() ? pattern.loc : parameter.loc,
                          fmt::format("parameter '{}' of an entry, which is not a tensor,", parameter.name));
    if (!help.empty()) builder.help(std::string(help));
    return false;
  }
  if (!pattern.layout.empty()) {
    evaluator_.unsupported(pattern.loc, fmt::format("layout '{}' of a tensor", pattern.layout));
    return false;
  }
  if (!pattern.privileges.empty()) return evaluator_.unsupported(pattern.loc, "a region of a tensor"), false;
  if (parameter.default_value) {
    report_default(parameter);
    return false;
  }
  return add_tensor(parameter, scope);
}

void GraphBuilder::report_default(const SignatureParameter& parameter) {
  bool is_none = parameter.default_value->kind == ast::NodeKind::None;
  std::string constant = fmt::format("a value that no call changes is a constant of the file: const {} = …",
                                     parameter.name);
  report(diag::unsupported_construct, parameter.default_value->loc, "a default of an entry's parameter")
      .help(is_none ? "each call gives all arguments: write another entry, without it" : constant);
}

/// The parameter is a tensor, or a scalar, which is one of rank 0.
bool GraphBuilder::add_tensor(const SignatureParameter& parameter, Scope& scope) {
  Datum input = tensor_input(parameter.type, parameter.name, parameter.loc, scope);
  if (input.is_poison()) return false;
  const IrValue& tensor = input.as_ir();
  if (parameter.name == "seed" && tensor.storage == DType::U64 && tensor.value->type()->dims.empty()) {
    function_.seed = tensor.value;
  }
  scope.set(parameter.name, std::move(input), parameter.loc);
  return true;
}

/// An argument of the function that is built; poison when an error was reported.
Datum GraphBuilder::tensor_input(const TypePattern& pattern, const std::string& name, Loc loc, Scope& scope) {
  bool tensor = pattern.kind != PatternKind::Scalar;
  auto type = written_type(pattern, scope);
  std::optional<std::vector<Dim>> extents = std::vector<Dim>{};
  if (type && tensor) extents = evaluate_dims(evaluator_, pattern, scope);
  if (!type || !extents) return Datum::poison();
  if (!check_memory(type->storage, pattern.loc, fmt::format("parameter '{}'", name))) return Datum::poison();
  Value* argument = add_argument(name, "input", context().tensor(*extents, type->storage, type->policies),
                                 places_of(pattern));
  if (extents->empty()) function_.type_places[argument] = pattern.loc;
  Datum input = handle(argument, *type, loc);
  if (input.is_poison()) return input;
  IrValue named = input.as_ir();
  named.name = context().intern(name);
  return Datum::ir(named);
}

bool GraphBuilder::add_inputs(const Function& function, const Signature& signature, Scope& scope) {
  for (const SignatureParameter& parameter : signature.parameters) {
    if (!add_input(function, signature, parameter, scope)) return false;
  }
  if (!function_.seed) {
    function_.seed = function_.hidden_seed = add_argument("seed", "input", context().tensor({}, DType::U64));
  }
  return check_bound_symbols(function);
}

/// Every symbol of the arguments' types has to be an extent of an argument, which is where its
/// value comes from.
bool GraphBuilder::check_bound_symbols(const Function& function) {
  Block* block = function_.op->region()->front();
  std::set<std::string, std::less<>> bound;
  for (unsigned i = 0; i < block->arg_count(); ++i) {
    for (Dim dim : block->arg(i)->type()->dims) bound.insert(std::string(dim->symbol()));
    if (auto dim = entry::read(function_.arguments[i], entry::Argument::dim)) bound.insert(std::string(*dim));
  }
  for (unsigned i = 0; i < block->arg_count(); ++i) {
    std::string missing;
    for (Dim dim : block->arg(i)->type()->dims) {
      for_each_symbol(dim, [&](std::string_view name) {
        if (!bound.count(name) && missing.empty()) missing = std::string(name);
      });
    }
    if (missing.empty()) continue;
    report(diag::unbound_dimension, function.loc, missing, function.name)
        .help(fmt::format("a parameter with '{}' alone as a dimension binds it", missing));
    return false;
  }
  return true;
}

namespace {

using Expressions = std::vector<const ast::Expr*>;

/// A value of a result, and the variable that each `return` writes for it; empty where they write none, or several.
struct NamedResult {
  Datum value;
  std::string_view name;
};

/// The variable that all of these expressions are.
std::string_view variable_of(const Expressions& written) {
  std::string_view found;
  for (const ast::Expr* each : written) {
    const auto* name = each ? ast::as<ast::Name>(each) : nullptr;
    if (!name || (!found.empty() && name->text != found)) return {};
    found = name->text;
  }
  return found;
}

/// The i-th elements of expressions that are tuples or lists of that many; null for others.
Expressions elements_of(const Expressions& written, size_t i, size_t count) {
  Expressions elements;
  for (const ast::Expr* each : written) {
    const auto* tuple = each ? ast::as<ast::Tuple>(each) : nullptr;
    const auto* list = each ? ast::as<ast::List>(each) : nullptr;
    ast::ExprList parts = tuple ? tuple->elements : list ? list->elements : ast::ExprList();
    elements.push_back(parts.size() == count ? parts[i] : nullptr);
  }
  return elements;
}

/// The values of a result: lists, tuples and trees in each other are spread out. Beside them is what `return` writes.
void spread(const Datum& value, const Expressions& written, std::vector<NamedResult>& values) {
  if (const auto* tree = value.object_as<Tree>()) {
    for (const auto& [name, member] : tree->members().entries) {
      if (!member.is_none()) spread(member, {}, values);
    }
    return;
  }
  if (!value.is_sequence()) return values.push_back({value, variable_of(written)});
  size_t count = value.elements().size();
  for (size_t i = 0; i < count; ++i) spread(value.elements()[i], elements_of(written, i, count), values);
}

}  // namespace

/// The tensors of a state object, each left in the memory it came in.
bool GraphBuilder::add_state_result(const StateValue& state, Loc loc, std::vector<Attr>& names,
                                    std::vector<Value*>& returned) {
  HeldState& held = function_.states[state.name()];
  if (held.returned) {
    report(diag::state_returned_twice, loc, state.name());
    return false;
  }
  if (!is_current(state, loc)) return false;
  held.returned = loc;
  for (const auto& [field, value] : state.fields()) {
    std::string name = fmt::format("{}.{}", state.name(), field);
    using entry::Argument, entry::Result;
    names.push_back(entry::make_dict(context(), {Result::alias_of(context(), name), Result::name(context(), name)}));
    returned.push_back(value.value);
    for (Attr& argument : function_.arguments) {
      if (entry::read(argument, Argument::name) == name) donate(argument);
    }
  }
  return true;
}

/// The params that the function updated, each left in the memory it came in.
void GraphBuilder::add_updated_params(std::vector<Attr>& names, std::vector<Value*>& returned) {
  std::vector<const ParamDeclaration*> order;
  for (const auto& [declaration, loc] : function_.updated) order.push_back(declaration);
  std::ranges::sort(order, {}, &ParamDeclaration::order);
  using entry::Result;
  for (const ParamDeclaration* declaration : order) {
    names.push_back(entry::make_dict(context(), {Result::alias_of(context(), declaration->key),
                                                 Result::name(context(), declaration->key)}));
    returned.push_back(function_.current.at(declaration));
  }
}

bool GraphBuilder::add_results(const CallFrame& done, const Datum& result) {
  const Function& function = *done.function;
  Loc loc = done.result_place(function.loc);
  std::vector<NamedResult> values;
  spread(result, done.returned, values);
  if (result.is_none()) values.clear();
  if (values.empty() && function_.updated.empty()) {
    blame().report_missing_return(done);
    return false;
  }
  std::set<std::string, std::less<>> taken;
  for (const auto& [declaration, place] : function_.updated) taken.insert(declaration->key);
  std::vector<Attr> names;
  std::vector<Value*> returned;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!evaluator_.may_spend(1, loc)) return false;
    if (const auto* state = values[i].value.object_as<StateValue>()) {
      if (!add_state_result(*state, loc, names, returned)) return false;
      continue;
    }
    std::string what = values.size() == 1 ? fmt::format("the result of '{}'", function.name)
                                          : fmt::format("result {} of '{}'", i, function.name);
    auto value = expect_tensor(values[i].value, loc, what);
    if (!value || !check_memory(value->storage, loc, what)) return false;
    std::string name(values[i].name);
    if (name.empty() || taken.count(name)) {
      const std::string& entry = function_.name;
      name = values.size() == 1 ? std::string(entry) : fmt::format("{}.{}", entry, i);
    }
    taken.insert(name);
    names.push_back(entry::make_dict(context(), {entry::Result::name(context(), name)}));
    builder_.set_loc(loc);
    returned.push_back(stored(*value));
  }
  if (!check_states_returned(function)) return false;
  add_updated_params(names, returned);
  builder_.set_loc(loc);
  function_.given = unsigned(returned.size());
  if (function_.is_derived && !add_derivatives(function, names, returned)) return false;
  builder_.op(graph::info(graph::OpKind::Return), {returned}, {});
  dissolve_records();
  function_.op->set(graph::attr::Func::results, std::move(names));
  return true;
}

/// Values between those with a handle, such as an operand of a matmul under its common leading
/// dims.
void GraphBuilder::check_sizes() {
  walk(function_.op, [&](Op* op) {
    for (unsigned i = 0; i < op->result_count(); ++i) {
      check_size(blame(), op->result(i)->type()->dims, op->loc());
    }
  });
}

/// The function's arguments, ops and results; false when an error was reported.
bool GraphBuilder::add_body(const Function& function, const Signature& signature, Scope& scope) {
  if (!declare_symbols(signature, scope) || !assume_where(function, signature, scope) ||
      !add_inputs(function, signature, scope)) {
    return false;
  }
  if (!record_numerics(function)) return false;
  function_.recorded += function_.is_derived;
  CallFrame done = evaluator_.run_body(function, scope, Loc{});
  function_.recorded -= function_.is_derived;
  std::vector<Attr> found;
  for (const auto& [effect, sites] : done.effects) found.push_back(context().string(effect));
  if (!found.empty())
    function_.op->set_node(graph::attr::Func::effects, context().array(std::move(found)));
  Datum result = finish_result(function, signature, done, scope);
  if (result.is_poison() || !add_results(done, result)) return false;
  check_sizes();
  return check_bound_symbols(function);
}

/// The promises and requests of the function.
void GraphBuilder::add_facts() {
  if (!function_.guards.empty()) function_.op->set(graph::attr::Func::guards, function_.guards);
  if (!function_.numerics.empty()) function_.op->set(graph::attr::Func::numerics, function_.numerics);
  if (!function_.hints.empty()) function_.op->set(graph::attr::Func::hints, function_.hints);
}

void GraphBuilder::build_entry(const Function& function, std::string_view symbol) {
  size_t errors = session().error_count();
  const Signature& signature = session().signature(evaluator_, function);
  if (signature.failed) return;
  if (open_dtype(signature) || open_parameter(signature)) return open_entries_.push_back(&function);
  if (module_.find(symbol)) {
    report(diag::duplicate_entry, function.loc, symbol)
        .help("entries begin with the name of an instance: name=\"encoder\" as its last argument");
    return;
  }
  called_.insert(function.def);
  begin_function("entry", symbol, function.loc);
  Scope* scope = session().new_scope(function.scope);
  bool good = add_body(function, signature, *scope);
  if (good && session().error_count() == errors) {
    finish_arguments();
    check_argument_names(function);
    add_facts();
  } else {
    function_.op->erase();
    good = false;
  }
  end_function();
  if (good && function.autodiff) build_halves(function, signature, std::string(symbol));
}

void GraphBuilder::build_initialisers() {
  for (const ParamDeclaration& declaration : session().params()) build_initialiser(declaration);
  // At the end: an attribute that grew would be kept in each of its lengths.
  for (auto& [text, shared] : initialisers_) {
    shared.function->set_node(graph::attr::Func::params, context().array(std::move(shared.params)));
  }
}

void GraphBuilder::build_initialiser(const ParamDeclaration& declaration) {
  size_t errors = session().error_count();
  const ParamType* type = param_type(declaration);
  if (!type || !declaration.initialiser) return;
  for (Dim dim : type->dims) {
    if (dim->constant()) continue;
    evaluator_.unsupported(
        declaration.initialiser->loc,
        fmt::format("an initial value of a size that is bound at run time ({})", dim->text));
    return;
  }
  begin_function("init", "init", declaration.loc);
  function_.seed = add_argument("seed", "input", context().tensor({}, DType::U64));
  function_.initialised = &declaration;
  const ast::Expr& expr = *declaration.initialiser;
  Datum value = evaluator_.evaluate(expr, *declaration.scope);
  bool good = !value.is_poison();
  if (good) {
    TypePattern pattern = read_type(evaluator_, *declaration.annotation, *declaration.scope);
    std::string what = fmt::format("the initial value of '{}'", declaration.name);
    if (value.is_sequence()) {
      report(diag::wrong_kind, expr.loc, what, describe(value), "a tensor")
          .help("an initial value is normal(0.02), zeros() or a number; values of their own come from a file: "
                "tsr run --params w.safetensors");
      value = Datum::poison();
    }
    if (value.is_scalar() || value.is(DatumKind::Bool)) {
      Value* filled = number(value, type->storage, type->dims, expr.loc);
      value = filled ? handle(filled, {type->storage, type->policies, false}, expr.loc)
                     : Datum::poison();
    }
    value = conform(pattern, value, *declaration.scope, Use::Stored, expr.loc, what);
    good = value.is_ir();
    if (good) check_sizes();
  }
  if (good && session().error_count() == errors) {
    builder_.op(graph::info(graph::OpKind::Return), {{value.as_ir().value}}, {});
    dissolve_records();
    std::string text = source_text(session().sources(), expr.loc);
    using entry::Result;
    Attr result = entry::make_dict(context(), {Result::name(context(), "value"), Result::text(context(), text)});
    function_.op->set(graph::attr::Func::results, std::vector<Attr>{result});
    function_.op->set(graph::attr::Func::args, function_.arguments);
    share_initialiser(declaration);
  } else {
    function_.op->erase();
  }
  end_function();
}

/// Params that begin alike have one function: those of the layers of a model.
void GraphBuilder::share_initialiser(const ParamDeclaration& declaration) {
  auto [it, fresh] = initialisers_.try_emplace(print(function_.op));
  Initialiser& shared = it->second;
  if (fresh) {
    shared.function = function_.op;
    set_symbol_name(function_.op, fmt::format("init.{}", declaration.key));
  } else {
    function_.op->erase();
  }
  shared.params.push_back(context().string(declaration.key));
}

}  // namespace tessera::frontend
