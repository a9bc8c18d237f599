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
#include "ir/core/op.h"

namespace tessera::frontend {

namespace {

/// Whether they are one value, as far as that is seen at once.
bool are_one(const Datum& a, const Datum& b) {
  return a.is_sequence() && b.is_sequence() && &a.elements() == &b.elements();
}

/// Whether nothing that is checked tells the values apart: they are equal, or tensors of one type.
bool alike(const Datum& a, const Datum& b) {
  if (a.is_poison() || a.kind() != b.kind()) return false;
  if (a.is_sequence()) return are_one(a, b) || std::ranges::equal(a.elements(), b.elements(), alike);
  if (a.is(DatumKind::Object)) return &a.as_object() == &b.as_object();
  if (!a.is_ir()) return equal(a, b);
  const IrValue &x = a.as_ir(), &y = b.as_ir();
  bool same_type = x.storage == y.storage && x.policies == y.policies && x.weak == y.weak;
  return same_type && x.value->type()->dims == y.value->type()->dims;
}

}  // namespace

Datum Evaluator::joined(std::span<const Datum> values, Loc loc) {
  for (size_t i = 1; i < values.size(); ++i) {
    if (are_one(values[i], values[0])) continue;
    if (!may_spend(values[i].measure().parts / parts_of_step, loc)) return Datum::poison();
    if (!alike(values[i], values[0])) return Datum::poison();
  }
  return values.empty() ? Datum::poison() : values.back();
}

bool Evaluator::depends_on_call(const Datum& value) const {
  bool is_size = value.is(DatumKind::Dim) || (value.is_ir() && value.as_ir().value->type()->rank() == 0);
  return is_open() && is_size;
}

Flow Evaluator::explore(ast::StmtList body, Scope& scope) {
  ast::StmtList bodies[] = {body, {}};
  return explore_one_of(bodies, scope, false);
}

Flow Evaluator::explore_iterations(ast::StmtList body, Scope& scope) {
  const std::vector<std::string_view> names = names::assigned_names(body);
  std::map<std::string_view, Datum> before;
  for (std::string_view name : names) {
    Binding* binding = scope.find_here(name);
    before.emplace(name, binding ? binding->value : Datum::poison());
  }
  // An iteration begins with what the one before leaves, which a trial finds out. In it there is none for loops in the
  // loop, which would be run over and over: what they assign is unknown.
  std::set<std::string_view> kept;
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
      if (binding && !binding->value.is_poison()) kept.insert(name);
    }
  }
  for (const auto& [name, value] : before) scope.set(name, kept.count(name) != 0 ? value : Datum::poison(), Loc{});
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
  auto builder = report(diag::unstated_relation, loc, blame_.uncalled(),
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

Flow Evaluator::explore_for(const ast::For& stmt, Scope& scope) {
  assign(*stmt.target, Datum::poison(), scope);
  return explore_iterations(stmt.body, scope);
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
    Datum usual = parameter.default_value ? evaluate(*parameter.default_value, *module.scope()) : Datum::poison();
    bool is_size = pattern.kind == PatternKind::DimParam ||
                   (pattern.kind == PatternKind::Scalar && is_integer(pattern.dtype));
    Datum value = Datum::poison();
    if (is_size) value = given_size(parameter.name.text);
    if (pattern.kind == PatternKind::DTypeParam) value = usual.is_poison() ? Datum::dtype(DType::F32) : usual;
    arguments.push_back({std::string(parameter.name.text), std::move(value), parameter.loc});
  }
  return instantiate(ModuleApplication(module, std::move(arguments), "", Loc{}), std::string(module.name()));
}

}  // namespace tessera::frontend
