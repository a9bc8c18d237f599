#include "frontend/evaluate/evaluate.h"

#include <algorithm>

#include "frontend/binding/words.h"
#include "frontend/evaluate/blame_names.h"
#include "frontend/evaluate/links.h"
#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/values/runtime_range.h"
#include "frontend/syntax/ast_walk.h"
#include "ir/core/module.h"
#include "ir/core/op.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// The steps that later passes take for an op.
constexpr size_t steps_of_op = 250;

/// The steps of a search for a key: several comparisons count as one step.
size_t search_steps(const Dictionary& entries) {
  constexpr size_t keys_of_step = 16;
  return entries.entries.size() / keys_of_step;
}

Datum refuse_set(const Evaluator& evaluator, Loc loc) {
  evaluator.report(diag::unsupported_construct, loc, "a set").help("a list or a tuple takes its place: [a, b]");
  return Datum::poison();
}

}  // namespace

Datum Evaluator::unsupported(Loc loc, std::string_view what) const {
  report(diag::unsupported_construct, loc, what);
  return Datum::poison();
}

bool Evaluator::may_spend(size_t steps, Loc loc, size_t bytes) {
  constexpr size_t often = 1 << 12;
  Budget& budget = session_.budget();
  if (++asked_ % often == 0 && session_.is_cancelled()) budget.end();
  if (!budget.is_spent() && !lowering_.may_grow(loc)) budget.end();
  Module* module = lowering_.built();
  size_t ops = module ? module->op_count() : 0;
  steps += steps_of_op * (ops - counted_ops_.value_or(ops));
  counted_ops_ = ops;
  switch (budget.spend(steps, bytes + (module ? module->arena().bytes_used() : 0))) {
    case Budget::Verdict::Within: return true;
    case Budget::Verdict::Spent: return false;
    case Budget::Verdict::OutOfSteps:
      report(diag::unsupported_program_size, loc, budget.most_steps())
          .help("'--max-eval-steps' of tesserac allows more");
      return false;
    case Budget::Verdict::OutOfMemory:
      report(diag::unsupported_evaluation_memory, loc, budget.limits().memory / 1'000'000)
          .help("'--max-eval-memory' of tesserac allows more");
      return false;
  }
  TSR_UNREACHABLE("verdict of a budget");
}

Datum Evaluator::bounded(Datum value, Loc loc) const {
  Measure measure = value.measure();
  if (measure.depth > value_depth_limit) {
    report(diag::unsupported_nesting, loc, value_depth_limit);
    return Datum::poison();
  }
  return measure.parts <= value_parts_limit ? value : refuse_parts(loc);
}

Datum Evaluator::refuse_parts(Loc loc) const {
  report(diag::unsupported_value_size, loc, value_parts_limit)
      .help("a part that a value has several times counts each time");
  return Datum::poison();
}

Evaluator::Nesting::Nesting(Evaluator& evaluator, Loc loc) : evaluator_(evaluator) {
  if (evaluator_.nesting_++ < nesting_limit) return;
  allowed_ = false;
  evaluator_.report(diag::unsupported_nesting, loc, nesting_limit);
}

Datum Evaluator::evaluate(const ast::Expr& expr, Scope& scope) {
  if (!count_step(expr.loc)) return Datum::poison();
  Nesting nesting(*this, expr.loc);
  if (!nesting.allowed()) return Datum::poison();
  Datum value = bounded(evaluate_unguarded(expr, scope), expr.loc);
  observe(expr, value);
  return value;
}

namespace {

Datum evaluate_integer(const Blame& blame, const ast::Integer& integer) {
  if (integer.value <= uint64_t(std::numeric_limits<int64_t>::max())) {
    return Datum::integer(int64_t(integer.value));
  }
  blame.report(diag::number_overflow, integer.loc, integer.text);
  return Datum::poison();
}

}  // namespace

Datum Evaluator::evaluate_unguarded(const ast::Expr& expr, Scope& scope) {
  switch (expr.kind) {
    case ast::NodeKind::Name: {
      const auto& name = ast::cast<ast::Name>(expr);
      return lookup(name.text, scope, name.loc);
    }
    case ast::NodeKind::Integer: return evaluate_integer(blame_, ast::cast<ast::Integer>(expr));
    case ast::NodeKind::Float: return Datum::number(ast::cast<ast::Float>(expr).value);
    case ast::NodeKind::String:
      return Datum::string(std::string(ast::cast<ast::String>(expr).value));
    case ast::NodeKind::Bool: return Datum::boolean(ast::cast<ast::Bool>(expr).value);
    case ast::NodeKind::None: return Datum::none();
    case ast::NodeKind::Tuple: {
      auto elements = evaluate_all(ast::cast<ast::Tuple>(expr).elements, scope);
      return elements ? Datum::tuple(std::move(*elements)) : Datum::poison();
    }
    case ast::NodeKind::List: {
      auto elements = evaluate_all(ast::cast<ast::List>(expr).elements, scope);
      return elements ? Datum::list(std::move(*elements)) : Datum::poison();
    }
    case ast::NodeKind::Dict: return evaluate_dict(ast::cast<ast::Dict>(expr), scope);
    case ast::NodeKind::Unary: {
      const auto& node = ast::cast<ast::Unary>(expr);
      return unary(node.op, evaluate(*node.operand, scope), node.loc);
    }
    case ast::NodeKind::Binary: return evaluate_binaries(ast::cast<ast::Binary>(expr), scope);
    case ast::NodeKind::Logical: return evaluate_logical(ast::cast<ast::Logical>(expr), scope);
    case ast::NodeKind::Compare: return evaluate_compare(ast::cast<ast::Compare>(expr), scope);
    case ast::NodeKind::Conditional:
      return evaluate_conditional(ast::cast<ast::Conditional>(expr), scope);
    case ast::NodeKind::Call: return evaluate_call(ast::cast<ast::Call>(expr), scope);
    case ast::NodeKind::Attribute:
      return evaluate_attribute(ast::cast<ast::Attribute>(expr), scope);
    case ast::NodeKind::Subscript:
      return evaluate_subscript(ast::cast<ast::Subscript>(expr), scope);
    case ast::NodeKind::Lambda: return evaluate_lambda(ast::cast<ast::Lambda>(expr), scope);
    case ast::NodeKind::Comprehension:
      return evaluate_comprehension(ast::cast<ast::Comprehension>(expr), scope);
    case ast::NodeKind::Set: return refuse_set(*this, expr.loc);
    case ast::NodeKind::Ellipsis: return unsupported(expr.loc, "'...' as a value");
    case ast::NodeKind::Slice: return unsupported(expr.loc, "a slice outside a tensor's index");
    case ast::NodeKind::PrivilegedType: return unsupported(expr.loc, "a type as a value");
    default: return Datum::poison();
  }
}

std::optional<std::vector<Datum>> Evaluator::evaluate_all(ast::ExprList list, Scope& scope) {
  std::vector<Datum> values;
  bool poisoned = false;
  for (const ast::Expr* expr : list) {
    values.push_back(evaluate(*expr, scope));
    poisoned = poisoned || values.back().is_poison();
  }
  if (poisoned) return std::nullopt;
  return values;
}

/// Keys that are names of nothing, which are meant as strings: one error for all of a dict. None where a name of the
/// program is near, so that it may be misspelt.
bool Evaluator::refuse_unquoted(const ast::Dict& dict, Scope& scope) const {
  const ast::Name* first = nullptr;
  std::vector<Edit> edits;
  for (const ast::DictEntry& entry : dict.entries) {
    const auto* name = ast::as<ast::Name>(entry.key);
    if (!name || scope.find(name->text)) continue;
    const Binding* near = scope.find(nearest_name(name->text, scope.visible_names()));
    if (near && near->loc.known() && !session_.is_builtin(near->loc)) return false;
    if (!first) first = name;
    edits.push_back({name->loc, fmt::format("\"{}\"", name->text)});
  }
  if (!first) return false;
  report(diag::unknown_name, first->loc, first->text).fix("keys of a dict are strings", std::move(edits));
  return true;
}

Datum Evaluator::evaluate_dict(const ast::Dict& dict, Scope& scope) {
  if (!is_open() && refuse_unquoted(dict, scope)) return Datum::poison();
  Dictionary entries;
  bool is_poisoned = false;
  for (const ast::DictEntry& entry : dict.entries) {
    Datum key = evaluate(*entry.key, scope);
    Datum value = evaluate(*entry.value, scope);
    is_poisoned = is_poisoned || key.is_poison() || value.is_poison();
    if (is_poisoned && is_open()) continue;
    if (is_poisoned) return Datum::poison();
    if (!key.is(DatumKind::String)) {
      report(diag::wrong_kind, entry.key->loc, "a key of this dict", describe(key), "a string")
          .help("keys are strings, {\"width\": 64}; values that have numbers are a list: values[1]");
      return Datum::poison();
    }
    entries.entries.emplace_back(key.as_string(), std::move(value));
  }
  return is_poisoned ? Datum::poison() : Datum::dict(std::move(entries));
}

Datum Evaluator::evaluate_binaries(const ast::Binary& root, Scope& scope) {
  std::vector<const ast::Binary*> spine = ast::left_spine(root);
  Datum value = evaluate(*spine.back()->left, scope);
  for (size_t i = spine.size(); i-- > 0;) {
    const ast::Binary& node = *spine[i];
    if (!count_step(node.loc)) return Datum::poison();
    if (node.op == ast::BinaryOp::MatMul && value.is(DatumKind::DType)) {
      auto dtype = with_policy(*this, {value.as_dtype(), value.dtype_policies()}, *node.right, scope);
      value = dtype ? Datum::dtype(dtype->dtype, dtype->policies) : Datum::poison();
      continue;
    }
    Datum right = evaluate(*node.right, scope);
    OperatorPlace at(node.op_loc, {*node.left, value}, {*node.right, right}, scope, ast::spelling(node.op));
    value = bounded(binary(node.op, value, right, at), node.op_loc);
    if (i > 0) observe(node, value);  // the caller reports the root
  }
  return value;
}

namespace {

/// Whether all names in an expression are sizes.
bool compares_sizes(const ast::Expr& condition, Scope& scope) {
  bool any = false, all = true;
  ast::walk(condition, [&](const ast::Node& node) {
    const auto* name = ast::as<ast::Name>(&node);
    const Binding* binding = name ? scope.find(name->text) : nullptr;
    any = any || name;
    all = all && (!name || (binding && binding->value.is(DatumKind::Dim)));
  });
  return any && all;
}

/// Whether a function of that name is called in an expression.
bool calls_by_name(const ast::Expr& expr, std::string_view function) {
  bool found = false;
  ast::walk(expr, [&](const ast::Node& node) {
    const auto* call = ast::as<ast::Call>(&node);
    const auto* name = call ? ast::as<ast::Name>(call->callee) : nullptr;
    found = found || (name && name->text == function);
  });
  return found;
}

}  // namespace

Datum Evaluator::evaluate_conditional(const ast::Conditional& node, Scope& scope) {
  Datum condition = evaluate(*node.condition, scope);
  if (is_open() && is_unknown(condition)) return explore_conditional(node, scope);
  if (condition.is_ir()) {
    const SourceManager& sources = session_.sources();
    std::string c = source_text(sources, node.condition->loc), a = source_text(sources, node.then_value->loc);
    std::string b = source_text(sources, node.else_value->loc);
    bool is_of_sizes = compares_sizes(*node.condition, scope);
    auto builder = report(diag::wrong_kind, node.condition->loc, "the condition",
                          is_of_sizes ? "one on sizes, which each call decides" : describe(condition),
                          "a compile-time bool");
    bool is_recursive = !frames_.empty() && (calls_by_name(*node.then_value, frame().name) ||
                                             calls_by_name(*node.else_value, frame().name));
    if (is_recursive) {
      builder.help("'if' chooses at compile time, so the calls would have no end; a loop can replace them");
      return Datum::poison();
    }
    if (is_of_sizes) {
      std::string statement = c.empty() || a.empty() || b.empty() ? "if …: y = … else: y = …"
                                                                 : fmt::format("if {}: y = {} else: y = {}", c, a, b);
      builder.help(fmt::format("by sizes an 'if' statement chooses, of values of one shape and dtype: {}", statement));
      return Datum::poison();
    }
    std::string written = source_text(sources, node.loc);
    std::string message = "'if' chooses at compile time; where(condition, a, b) chooses element by element";
    std::string choice = fmt::format("where({}, {}, {})", c, a, b);
    bool is_one_line = written.starts_with(a) && !session_.is_builtin(node.loc);
    is_one_line ? builder.fix(std::move(message), node.loc, std::move(choice)) : builder.help(std::move(message));
    return Datum::poison();
  }
  std::optional<bool> truth = expect_bool(condition, node.condition->loc, "the condition");
  if (!truth) return Datum::poison();
  return evaluate(*truth ? *node.then_value : *node.else_value, scope);
}

/// The scopes that the value of a file's name is made in are none of the lowering's.
Scope* Evaluator::open_scope(Scope* parent) {
  Scope* scope = session_.new_scope(parent);
  if (!is_shared()) lowering_.opened(*scope);
  return scope;
}

Datum Evaluator::received(const Scope& from, Datum value) {
  return is_shared() ? value : lowering_.received(from, std::move(value));
}

Scope* Evaluator::capture(Scope& scope) {
  Scope* base = &scope;
  while (base->parent() && base != scope.module_scope()) base = base->parent();
  Scope* copy = open_scope(base);
  for (Scope* from = &scope; from != base; from = from->parent()) {
    for (const auto& [name, binding] : from->names_here()) {
      if (!copy->find_here(name)) copy->set(name, received(*from, binding.value), binding.loc);
    }
  }
  return copy;
}

Datum Evaluator::evaluate_lambda(const ast::Lambda& lambda, Scope& scope) {
  Function* function = session_.new_function();
  function->name = "lambda";
  function->lambda = &lambda;
  function->scope = capture(scope);
  function->loc = lambda.loc;
  if (is_open()) explore(*function, *open_scope(function->scope));
  return Datum::function(function);
}

Datum Evaluator::evaluate_comprehension(const ast::Comprehension& node, Scope& scope) {
  if (node.form == ast::ComprehensionKind::Set) return refuse_set(*this, node.loc);
  Dictionary entries;
  std::vector<Datum> elements;
  bool is_counted = run_clauses(node, 0, *open_scope(&scope), entries, elements);
  bool is_list = node.form != ast::ComprehensionKind::Dict;
  if (!is_counted) return is_list ? Datum::unknown_list(joined(elements, node.loc)) : Datum::poison();
  for (const Datum& element : elements) {
    if (element.is_poison()) return Datum::poison();
  }
  if (node.form == ast::ComprehensionKind::Dict) return Datum::dict(std::move(entries));
  return Datum::list(std::move(elements));
}

bool Evaluator::run_clauses(const ast::Comprehension& node, size_t clause, Scope& scope,
                            Dictionary& entries, std::vector<Datum>& elements) {
  if (clause == node.clauses.size()) {
    elements.push_back(evaluate(*node.element, scope));
    if (!node.key) return true;
    Datum key = evaluate(*node.key, scope);
    if (key.is(DatumKind::String)) {
      entries.entries.emplace_back(key.as_string(), elements.back());
    } else {
      if (!key.is_poison()) {
        report(diag::wrong_kind, node.key->loc, "a key of this dict", describe(key), "a string")
            .help("elements that have numbers are a list: [f(i) for i in range(n)]");
      }
      elements.back() = Datum::poison();
    }
    return true;
  }
  const ast::ComprehensionClause& at = node.clauses[clause];
  Datum iterable = evaluate(*at.iterable, scope);
  if (const Datum* known = iterable.unless_none()) iterable = Datum(*known);
  if (!iterable.is_sequence()) {
    if (iterable.is_poison() && is_open()) {
      const Datum* element = iterable.known_element();
      assign(*at.target, element ? named_element(*at.target, *element) : Datum::poison(), scope);
      MayRun here(*this, !at.conditions.empty());
      explore_all(at.conditions, scope);
      run_clauses(node, clause + 1, scope, entries, elements);
      return false;
    } else if (!iterable.is_poison()) {
      auto builder = report(diag::wrong_kind, at.iterable->loc, "the iterable of 'for'", describe(iterable),
                            "a tuple, a list or a range");
      if (iterable.is_ir()) builder.help(std::string(help_for_rows()));
      if (iterable.object_as<RuntimeRange>()) {
        builder.help("a list has as many elements as are known at compile time: write the extent as a number, or an "
                     "operation on the whole tensor in place of the list");
      }
    }
    elements.push_back(Datum::poison());
    return true;
  }
  bool is_counted = true;
  for (const Datum& element : iterable.elements()) {
    if (!count_step(node.loc)) {
      elements.push_back(Datum::poison());
      return true;
    }
    assign(*at.target, element, scope);
    bool taken = true;
    std::optional<MayRun> here;
    if (is_open()) here.emplace(*this, false);
    for (const ast::Expr* condition : at.conditions) {
      std::optional<bool> truth =
          expect_bool(evaluate(*condition, scope), condition->loc, "the condition");
      if (!truth && !is_open()) {
        elements.push_back(Datum::poison());
        return true;
      }
      is_counted = is_counted && truth;
      if (!truth) leave_facts_open();
      taken = taken && truth.value_or(true);
    }
    if (taken && !run_clauses(node, clause + 1, scope, entries, elements)) is_counted = false;
  }
  return is_counted;
}

namespace {

/// The expression that gives a pending name its value.
const ast::Expr* pending_value(const ast::Stmt& stmt) {
  if (const auto* constant = ast::as<ast::Const>(&stmt)) return constant->value;
  return ast::cast<ast::Assign>(stmt).value;
}

}  // namespace

Datum Evaluator::constant(const ast::Expr& expr, const ast::Identifier& name, Scope& scope) {
  Datum value = evaluate(expr, scope);
  if (!value.is_ir()) return value;
  if (depends_on_call(value)) return value;  // of a size that an instance has as a number
  report(diag::wrong_kind, name.loc, fmt::format("'{}'", name.text), describe(value),
         "a compile-time value")
      .help("compute tensors inside a function");
  return Datum::poison();
}

Datum Evaluator::lookup(std::string_view name, Scope& scope, Loc loc) {
  Scope* where = nullptr;
  Binding* binding = scope.find(name, &where);
  if (binding && !binding->value.object_as<LocalName>()) {
    if (EvaluationObserver* observer = session_.observer()) observer->named(name, loc, *where, *binding);
    return received(*where, resolve(*binding, *where, name, loc));
  }
  if (names::is_word(name, names::WordKind::Reserved)) {
    auto builder = report(diag::unsupported_construct, loc, fmt::format("'{}'", name));
    if (std::string_view help = help_for_name(name); !help.empty()) builder.help(std::string(help));
    return Datum::poison();
  }
  report_unknown_name(blame_, name, scope, loc);
  return Datum::poison();
}

Datum Evaluator::resolve(Binding& binding, Scope& scope, std::string_view name, Loc loc) {
  if (binding.alias_scope) {
    Binding* target = binding.alias_scope->find_here(binding.alias);
    return resolve(*target, *binding.alias_scope, binding.alias, loc);
  }
  if (binding.state == Binding::State::Running) {
    report(diag::cyclic_definition, binding.loc, name).label(loc, "it is asked for here");
    return Datum::poison();
  }
  if (binding.state == Binding::State::Pending) {
    binding.state = Binding::State::Running;
    push_frame(name, "value", {}).is_shared = true;
    Datum value = constant(*pending_value(*binding.pending), {name, binding.loc}, scope);
    pop_frame();
    // The one instance of a name has its params' keys to itself, those of a list are numbered.
    std::string_view place_name = value.is_sequence() ? name : "";
    bool may_place = may_spend(value.measure().parts / parts_of_step, loc);
    value = may_place ? place(value, scope.module()->key_prefix, place_name) : Datum::poison();
    binding.value = value;
    binding.state = Binding::State::Ready;
    observe(name, binding.loc, value);
  }
  if (const auto* reference = binding.value.object_as<ParamReference>()) {
    return param(reference->declaration(), loc);
  }
  return binding.value;
}

Datum Evaluator::evaluate_attribute(const ast::Attribute& node, Scope& scope) {
  if (report_package(blame_, node, scope)) return Datum::poison();
  Datum object = evaluate(*node.object, scope);
  if (const Datum* known = object.unless_none()) object = Datum(*known);
  if (object.is_poison() || node.name.text.empty()) return Datum::poison();
  if (object.is(DatumKind::Namespace)) return member_of(object.as_namespace(), node.name);
  if (object.is(DatumKind::List)) {
    report_list_member(node, scope, Datum::poison());
    return Datum::poison();
  }
  return attribute(object, node.name, node.loc);
}

Datum Evaluator::member_of(const Namespace& name_space, const ast::Identifier& name) {
  Links& links = session_.links();
  names::Linked linked = links.member(name_space.linked, name.text);
  Links::Found found = links.find(linked);
  if (found.binding) {
    return received(*found.scope, resolve(*found.binding, *found.scope, Links::name_in_scope(linked), name.loc));
  }
  bool is_said = linked.kind != names::Linked::Kind::Unknown || links.is_broken(name_space.linked);
  if (found.module || is_said) return found.value();
  report_unknown_member(blame_, name_space, name);
  return Datum::poison();
}

namespace {

Datum index_sequence(Evaluator& evaluator, const Datum& object, const ast::Expr& index, Scope& scope) {
  const std::vector<Datum>& elements = object.elements();
  int64_t size = int64_t(elements.size());
  if (const auto* slice = ast::as<ast::Slice>(&index)) {
    std::optional<int64_t> step = 1;
    if (slice->step) {
      step = evaluator.expect_int(evaluator.evaluate(*slice->step, scope), slice->step->loc, "the step of a slice");
    }
    if (!step) return Datum::poison();
    if (*step == 0) {
      evaluator.report(diag::wrong_kind, slice->step->loc, "the step of a slice", "0", "another integer");
      return Datum::poison();
    }
    // Backwards a slice begins at the last element, and ends before the first.
    int64_t first = *step > 0 ? 0 : -1, last = first + size;
    auto bound = [&](const ast::Expr* expr, int64_t otherwise) -> std::optional<int64_t> {
      if (!expr) return otherwise;
      std::optional<int64_t> value = evaluator.expect_int(evaluator.evaluate(*expr, scope), expr->loc, "the bound");
      if (!value) return std::nullopt;
      return std::clamp<int64_t>(*value < 0 ? *value + size : *value, first, last);
    };
    std::optional<int64_t> lower = bound(slice->lower, *step > 0 ? first : last);
    std::optional<int64_t> upper = bound(slice->upper, *step > 0 ? last : first);
    if (!lower || !upper) return Datum::poison();
    std::vector<Datum> part;
    for (int64_t at = *lower; *step > 0 ? at < *upper : at > *upper;) {
      part.push_back(elements[size_t(at)]);
      if (__builtin_add_overflow(at, *step, &at)) break;
    }
    return object.is(DatumKind::Tuple) ? Datum::tuple(std::move(part))
                                       : Datum::list(std::move(part));
  }
  const Datum place = evaluator.evaluate(index, scope);
  std::optional<int64_t> at = evaluator.expect_int(place, index.loc, "the index");
  bool is_for_call = !at && evaluator.is_open() && evaluator.is_unknown(place);
  if (!at) return is_for_call ? evaluator.joined(elements, index.loc) : Datum::poison();
  int64_t position = *at < 0 ? *at + size : *at;
  if (position >= 0 && position < size) return elements[size_t(position)];
  evaluator.report(diag::index_out_of_range, index.loc, *at,
                   fmt::format("{} of {} elements", describe(object), size));
  return Datum::poison();
}

}  // namespace

Datum Evaluator::evaluate_subscript(const ast::Subscript& node, Scope& scope) {
  Datum object = evaluate(*node.object, scope);
  if (const Datum* known = object.unless_none()) object = Datum(*known);
  if (object.is_poison() && is_open()) explore_all(node.indices, scope);
  if (const Datum* element = object.known_element(); element && node.indices.size() == 1) {
    return ast::as<ast::Slice>(node.indices[0]) ? object : *element;
  }
  if (object.is_poison()) return Datum::poison();
  if (object.is_sequence() && node.indices.size() == 1) {
    return index_sequence(*this, object, *node.indices[0], scope);
  }
  if (object.is(DatumKind::Dict) && node.indices.size() == 1) {
    Datum key = evaluate(*node.indices[0], scope);
    if (key.is_poison()) return key;
    if (!may_spend(search_steps(object.entries()), node.loc)) return Datum::poison();
    const Datum* value =
        key.is(DatumKind::String) ? object.entries().get(key.as_string()) : nullptr;
    if (value) return *value;
    report(diag::unknown_member, node.indices[0]->loc, "this dict",
           key.is(DatumKind::String) ? key.as_string() : to_text(key));
    return Datum::poison();
  }
  return subscript(object, node.indices, scope, node.loc);
}

}  // namespace tessera::frontend
