// Runs of functions that nothing calls. Their tensors are symbolic, as those of an entry are; what else a call would
// give is unknown, and poison stands for it. Whatever is computed of poison is poison, so nothing is reported that
// depends on it. Everything is looked at all the same: each arm that an unknown condition could choose, the body of a
// loop over an unknown sequence, functions that nothing calls inside of the function. A name that all arms, or each
// iteration, leave with values of one type has such a value afterwards.

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "frontend/binding/names.h"
#include "frontend/evaluate/evaluate.h"
#include "ir/core/module.h"
#include "ir/core/op.h"

namespace tessera::frontend {

namespace {

/// Whether they are one value, as far as that is seen at once.
bool are_one(const Datum& a, const Datum& b) {
  return a.is_sequence() && b.is_sequence() && &a.elements() == &b.elements();
}

/// Whether nothing that is checked tells the values apart: they are equal, or tensors of one type.
bool alike(const Datum& a, const Datum& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_poison()) {
    const Datum *x = a.known_element(), *y = b.known_element();
    return x && y && alike(*x, *y);
  }
  if (a.is_sequence()) return are_one(a, b) || std::ranges::equal(a.elements(), b.elements(), alike);
  if (a.is(DatumKind::Object)) return &a.as_object() == &b.as_object();
  if (!a.is_ir()) return equal(a, b);
  const IrValue &x = a.as_ir(), &y = b.as_ir();
  bool same_type = x.storage == y.storage && x.policies == y.policies && x.weak == y.weak;
  return same_type && x.value->type()->dims == y.value->type()->dims;
}

}  // namespace

/// Of lists that have different lengths, what is known of their elements.
Datum Evaluator::joined_lists(std::span<const Datum* const> lists, Loc loc) {
  std::vector<Datum> elements;
  for (const Datum* list : lists) {
    if (const Datum* element = list->known_element()) {
      elements.push_back(*element);
    } else if (list->is(DatumKind::List)) {
      if (!may_make(list->elements().size(), loc)) return Datum::poison();
      elements.insert(elements.end(), list->elements().begin(), list->elements().end());
    } else {
      return Datum::poison();
    }
  }
  return Datum::unknown_list(joined(elements, loc));
}

Datum Evaluator::joined(std::span<const Datum> values, Loc loc) {
  std::vector<const Datum*> some;  // beside None
  for (const Datum& value : values) {
    const Datum* known = value.unless_none() ? value.unless_none() : &value;
    if (!known->is_none()) some.push_back(known);
  }
  for (size_t i = 1; i < some.size(); ++i) {
    if (are_one(*some[i], *some[0])) continue;
    if (!may_spend(some[i]->measure().parts / parts_of_step, loc)) return Datum::poison();
    if (!alike(*some[i], *some[0])) return joined_lists(some, loc);
  }
  if (some.empty()) return values.empty() ? Datum::poison() : values.back();
  bool may_lack = some.size() < values.size() || std::ranges::any_of(values, &Datum::unless_none);
  return may_lack ? Datum::or_none(*some.back()) : *some.back();
}

bool Evaluator::depends_on_call(const Datum& value) const {
  bool is_size = value.is(DatumKind::Dim) || (value.is_ir() && value.as_ir().value->type()->rank() == 0);
  return is_open() && is_size;
}

Flow Evaluator::explore(ast::StmtList body, Scope& scope) {
  ast::StmtList bodies[] = {body, {}};
  return explore_one_of(bodies, scope, false);
}

Flow Evaluator::explore_iterations(ast::StmtList body, Scope& scope, const Enters& enters) {
  const std::vector<std::string_view> names = names::assigned_names(body);
  std::map<std::string_view, Datum> before;
  for (std::string_view name : names) {
    Binding* binding = scope.find_here(name);
    before.emplace(name, binding ? binding->value : Datum::poison());
  }
  // The first one begins with what is before the loop, and each call that has iterations runs it.
  if (enters && !tries_iteration_) {
    tries_iteration_ = true;
    enters(true);
    (void)explore(body, scope);
    tries_iteration_ = false;
    for (const auto& [name, value] : before) scope.set(name, value, Loc{});
  }
  if (enters) enters(false);
  // An iteration begins with what the one before leaves, which a trial finds out. In it there is none for loops in the
  // loop, which would be run over and over: what they assign is unknown.
  std::map<std::string_view, Datum> kept;
  if (!tries_iteration_) {
    Session::Trial trial(session_);
    tries_iteration_ = true;
    const Datum result = frame().result;
    const size_t results = frame().possible_results.size();
    (void)explore(body, scope);
    tries_iteration_ = false;
    frame().result = result;
    frame().possible_results.resize(results);
    for (const auto& [name, value] : before) {
      Binding* binding = scope.find_here(name);
      if (binding) kept.emplace(name, binding->value.is_poison() ? binding->value : value);
    }
  }
  for (const auto& [name, value] : before) {
    auto found = kept.find(name);
    scope.set(name, found == kept.end() ? Datum::poison() : found->second, Loc{});
  }
  return explore(body, scope);
}

Flow Evaluator::explore_arms(const ast::If& stmt, size_t first, Scope& scope) {
  std::vector<ast::StmtList> bodies;
  for (size_t i = first; i < stmt.arms.size(); ++i) {
    if (i > first) evaluate(*stmt.arms[i].condition, scope);
    bodies.push_back(stmt.arms[i].body);
  }
  bodies.push_back(stmt.else_body);
  const size_t results = frame().possible_results.size();
  Flow flow = explore_one_of(bodies, scope, true);
  // What follows is run whatever the condition is, unless an arm returns.
  bool returns = flow == Flow::Return || frame().possible_results.size() > results;
  if (returns) leave_facts_open();
  return flow;
}

Datum Evaluator::explore_conditional(const ast::Conditional& node, Scope& scope) {
  std::vector<Datum> values;
  for (const ast::Expr* each : {node.then_value, node.else_value}) {
    MayRun here(*this);
    values.push_back(evaluate(*each, scope));
  }
  return joined(values, node.loc);
}

Flow Evaluator::explore_one_of(std::span<const ast::StmtList> bodies, Scope& scope, bool opens) {
  std::map<std::string_view, Datum> before;  // of the names that bodies assign
  for (ast::StmtList body : bodies) {
    for (std::string_view name : names::assigned_names(body)) {
      Binding* binding = scope.find_here(name);
      before.emplace(name, binding ? binding->value : Datum::poison());
    }
  }
  std::map<std::string_view, std::vector<Datum>> after;  // where the function goes on
  size_t returned = 0;
  Loc loc;
  for (ast::StmtList body : bodies) {
    if (!body.empty()) loc = body[0]->loc;
    MayRun here(*this, opens);
    bool returns = execute(body, scope) == Flow::Return;
    if (returns) frame().possible_results.push_back(std::exchange(frame().result, Datum::none()));
    returned += size_t(returns);
    for (const auto& [name, value] : before) {
      Binding* binding = scope.find_here(name);
      if (!returns) after[name].push_back(binding ? binding->value : Datum::poison());
      scope.set(name, value, Loc{});
    }
  }
  for (const auto& [name, value] : before) scope.set(name, joined(after[name], loc), Loc{});
  if (returned < bodies.size()) return Flow::Next;
  frame().result = frame().possible_results.back();
  frame().possible_results.pop_back();
  return Flow::Return;
}

void Evaluator::assume_clause(const Callable& callee, const ast::Expr& clause, Loc loc, const ClauseAsked& ask,
                              ClauseAnswer answer) {
  constexpr int most_relations = 8;
  for (int i = 0; i < most_relations && answer.undecided; ++i) {
    const DimFact needed = *answer.undecided;
    {
      MayRun otherwise(*this, false);
      facts_.known.push_back({opposite(needed.relation), needed.left, needed.right});
      answer = ask();
    }
    if (answer.holds != false) break;
    if (needed.relation == Relation::Equal) warn_of_need(callee, clause, needed, loc);
    facts_.known.push_back(needed);
    answer = ask();
    if (answer.holds == true) return;
  }
  leave_facts_open();
}

void Evaluator::warn_of_need(const Callable& callee, const ast::Expr& clause, const DimFact& needed, Loc loc) const {
  if (blame_.unproven(needed) != Blame::Unproven::Unstated) return;
  auto builder = report(diag::unstated_relation, loc, blame_.uncalled(needed),
                        fmt::format("{} equal to {}, as '{}' needs", needed.left->text, needed.right->text,
                                    blame_.function_at(loc, callee.name)));
  builder.label(clause.loc, fmt::format("'{}' asks for it here", callee.name));
  blame_.help_clause(builder, needed, "if they are always equal");
}

bool Evaluator::note_undecided(ast::CompareOp op, Dim a, Dim b) {
  auto clause = std::find_if(frames_.rbegin(), frames_.rend(), [](const CallFrame& frame) { return frame.is_clause; });
  if (clause == frames_.rend()) return false;
  std::optional<Relation> relation = as_relation(op);
  if (!clause->undecided && relation) clause->undecided = {*relation, a, b};
  return !clause->refuses_undecided;
}

void Evaluator::join_results() {
  std::vector<Datum>& results = frame().possible_results;
  if (results.empty()) return;
  results.push_back(frame().result);
  frame().result = joined(results, frame().result_loc);
}

Datum Evaluator::unknown_size(std::string_view name) {
  const Module* module = lowering_.built();
  bool has_tensors = module && module->level() == Level::Graph;
  if (!has_tensors) return Datum::poison();
  return Datum::dim(dims().symbol(fmt::format("{}{}{}", name, unknown_mark, unknown_sizes_++)));
}

Datum Evaluator::unknown_range(const Datum& start, bool is_ascending) {
  Dim first = as_dimension(dims(), start), beyond = as_dimension(dims(), unknown_size(""));
  bool is_size = first && beyond && is_ascending && interval(first).low >= 0;
  return Datum::unknown_list(is_size ? Datum::dim(dims().add(first, beyond)) : Datum::poison());
}

/// The first of the values that an element stands for: ranges begin with their starts.
Datum Evaluator::first_element(const Datum& element) {
  if (element.is(DatumKind::Tuple)) {
    std::vector<Datum> parts;
    for (const Datum& part : element.elements()) parts.push_back(first_element(part));
    return Datum::tuple(std::move(parts));
  }
  if (!element.is(DatumKind::Dim)) return element;
  std::map<std::string, Dim, std::less<>> first;
  for_each_symbol(element.as_dim(), [&](std::string_view symbol) {
    if (symbol.starts_with(unknown_mark)) first.emplace(symbol, dims().constant(0));
  });
  return first.empty() ? element : Datum::dim(dims().substitute(element.as_dim(), first));
}

/// The value of a target of a loop: the number of an iteration is called as the target is.
Datum Evaluator::named_element(const ast::Expr& target, const Datum& element) {
  if (const auto* tuple = ast::as<ast::Tuple>(&target)) {
    if (!element.is_sequence() || element.elements().size() != tuple->elements.size()) return element;
    std::vector<Datum> parts;
    for (size_t i = 0; i < tuple->elements.size(); ++i) {
      parts.push_back(named_element(*tuple->elements[i], element.elements()[i]));
    }
    return Datum::tuple(std::move(parts));
  }
  const auto* name = ast::as<ast::Name>(&target);
  bool is_index = element.is(DatumKind::Dim) && element.as_dim()->symbol().starts_with(unknown_mark);
  return name && is_index ? unknown_size(name->text) : element;
}

Flow Evaluator::explore_for(const ast::For& stmt, const Datum& iterable, Scope& scope) {
  const Datum* element = iterable.known_element();
  if (!element) {
    assign(*stmt.target, Datum::poison(), scope);
    return explore_iterations(stmt.body, scope);
  }
  return explore_iterations(stmt.body, scope, [&](bool is_first) {
    assign(*stmt.target, is_first ? first_element(*element) : named_element(*stmt.target, *element), scope);
  });
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

/// Of functions of the language that make sequences of sequences.
Datum Evaluator::explore_sequence(const Builtin& builtin, const BoundArguments& arguments) {
  if (builtin.table != "ops" || builtin.elementwise != ElementwiseKind::None) return Datum::poison();
  auto element_of = [&](const Datum& value) {
    if (const Datum* element = value.known_element()) return *element;
    return value.is_sequence() ? joined(value.elements(), arguments.call) : Datum::poison();
  };
  switch (BuiltinId(builtin.id)) {
    case BuiltinId::Range: {
      bool has_start = !arguments[1].is_none();
      bool is_ascending = arguments[2].is(DatumKind::Int) && arguments[2].as_int() > 0;
      return unknown_range(has_start ? arguments[0] : Datum::integer(0), is_ascending);
    }
    case BuiltinId::Enumerate: {
      const Datum numbers = unknown_range(arguments[1], true);
      return Datum::unknown_list(Datum::tuple({element_of(numbers), element_of(arguments[0])}));
    }
    case BuiltinId::Zip: {
      std::vector<Datum> row;
      for (const Datum& part : arguments[0].elements()) row.push_back(element_of(part));
      return Datum::unknown_list(Datum::tuple(std::move(row)));
    }
    default:
      return Datum::poison();
  }
}

/// The result of a function of the program that has arguments which are not known. What is wrong in it may be right for
/// the arguments of a call, so nothing is said of it.
Datum Evaluator::explore_body(const Datum& callee, std::vector<CallArgument> arguments, Loc loc) {
  constexpr size_t most_calls = 6;  // each may be run twice by the one around it
  const Module* module = lowering_.built();
  bool has_tensors = module && module->level() == Level::Graph;
  if (!has_tensors || frames_.empty() || frames_.size() > most_calls) return Datum::poison();
  Budget::Extra budget(session_.budget());
  Session::Trial quiet(session_);
  MayRun here(*this, false);
  const auto effects = frame().effects;
  Datum result = call(callee, std::move(arguments), loc);
  frame().effects = effects;
  return result;
}

Datum Evaluator::explore_call(const Datum& callee, std::vector<CallArgument> arguments, Loc loc) {
  if (callee.is(DatumKind::Builtin)) {
    std::optional<BoundArguments> bound = bind_arguments(callee.as_builtin(), std::move(arguments), loc);
    return bound ? explore_sequence(callee.as_builtin(), *bound) : Datum::poison();
  }
  if (const auto* module = callee.object_as<ModuleReference>()) {
    std::erase_if(arguments, [](const CallArgument& argument) { return argument.name == "name"; });
    match_parameters(Callable(*module), arguments, loc);
    return apply_module(*module, std::move(arguments), loc);
  }
  Datum method = callee;
  if (const auto* instance = callee.object_as<ModuleInstance>()) method = instance_member(*instance, {"__call__", loc});
  if (!method.is(DatumKind::Function)) return Datum::poison();
  const Function& function = method.as_function();
  match_parameters(function, arguments, loc);
  bool is_plain = function.kind != FunctionKind::Kernel && !function.vjp && !function.jvp && !function.checkpoint;
  return is_plain ? explore_body(method, std::move(arguments), loc) : Datum::poison();
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

Datum Evaluator::open_instance(const ModuleReference& module, std::vector<ModuleApplication::Argument> arguments) {
  return instantiate(ModuleApplication(module, std::move(arguments), "", Loc{}), std::string(module.name()));
}

}  // namespace tessera::frontend
