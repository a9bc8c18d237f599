// Statements of the compile-time part of a program.

#include <algorithm>

#include "frontend/binding/names.h"
#include "frontend/evaluate/blame_names.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/runtime_range.h"
#include "frontend/values/type_text.h"
#include "ir/core/op.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

std::string_view misplaced_name(ast::NodeKind kind) {
  switch (kind) {
    case ast::NodeKind::Module:
      return "a 'module'";
    case ast::NodeKind::Param:
      return "a 'param'";
    case ast::NodeKind::Dim:
      return "a 'dim'";
    case ast::NodeKind::Import:
    case ast::NodeKind::FromImport:
      return "an import";
    default:
      return "this statement";
  }
}

/// The names whose methods a body calls.
std::vector<std::string_view> names_with_calls(ast::StmtList body) {
  std::vector<std::string_view> found;
  auto look = [&](const ast::Node& node) {
    const auto* call = ast::as<ast::Call>(&node);
    const auto* method = call ? ast::as<ast::Attribute>(call->callee) : nullptr;
    const auto* object = method ? ast::as<ast::Name>(method->object) : nullptr;
    if (object) found.push_back(object->text);
  };
  for (const ast::Stmt* stmt : body) ast::walk(*stmt, look);
  return found;
}

/// The names that a condition reads where a body gives none of them another value.
std::vector<std::string_view> unchanged_names(const ast::Expr& condition, ast::StmtList body) {
  std::vector<std::string_view> assigned = names::assigned_names(body), found;
  bool changes = false;
  const ast::Node* callee = nullptr;
  ast::walk(condition, [&](const ast::Node& node) {
    const auto* name = ast::as<ast::Name>(&node);
    if (const auto* call = ast::as<ast::Call>(&node)) callee = call->callee;
    if (!name || name == callee) return;
    changes = changes || std::ranges::find(assigned, name->text) != assigned.end();
    found.push_back(name->text);
  });
  return changes ? std::vector<std::string_view>() : found;
}

/// Whether a body has a word that ends loops elsewhere, which is an error of its own.
bool leaves(ast::StmtList body) {
  bool found = false;
  auto look = [&](const ast::Node& node) {
    const auto* name = ast::as<ast::Name>(&node);
    found = found || (name && name->text == "break");
  };
  for (const ast::Stmt* stmt : body) ast::walk(*stmt, look);
  return found;
}

}  // namespace

Flow Evaluator::execute(ast::StmtList body, Scope& scope) {
  if (body.empty()) return Flow::Next;
  Nesting nesting(*this, body.front()->loc);
  if (!nesting.allowed()) return give_up();
  Continuation here{body, frame().continuation};
  Flow flow = Flow::Next;
  for (size_t i = 0; i < body.size() && flow == Flow::Next; ++i) {
    here.rest = body.subspan(i + 1);
    frame().continuation = &here;
    flow = count_step(body[i]->loc) ? execute_statement(*body[i], scope) : give_up();
  }
  frame().continuation = here.outer;
  return flow;
}

Flow Evaluator::execute_rest(const Continuation* rest, Scope& scope) {
  const Continuation* here = frame().continuation;
  Flow flow = Flow::Next;
  for (; rest && flow == Flow::Next; rest = rest->outer) {
    frame().continuation = rest->outer;
    flow = execute(rest->rest, scope);
  }
  frame().continuation = here;
  return flow;
}

Flow Evaluator::give_up() {
  frame().result = Datum::poison();
  return Flow::Return;
}

Flow Evaluator::skip(ast::StmtList body, Scope& scope) {
  if (is_open()) {
    leave_facts_open();
    return explore(body, scope);
  }
  if (ast::return_in(body)) return give_up();
  for (std::string_view name : names::assigned_names(body)) scope.set(name, Datum::poison(), Loc{});
  return Flow::Next;
}

Flow Evaluator::skip_arms(const ast::If& stmt, Scope& scope) {
  Flow flow = skip(stmt.else_body, scope);
  for (const ast::IfArm& each : stmt.arms) {
    if (skip(each.body, scope) == Flow::Return) flow = Flow::Return;
  }
  return flow;
}

Flow Evaluator::execute_statement(const ast::Stmt& stmt, Scope& scope) {
  switch (stmt.kind) {
    case ast::NodeKind::ExprStmt: {
      const ast::Expr& expr = *ast::cast<ast::ExprStmt>(stmt).value;
      if (expr.kind == ast::NodeKind::String || expr.kind == ast::NodeKind::Ellipsis) {
        return Flow::Next;
      }
      Datum value = evaluate(expr, scope);
      const auto* name = ast::as<ast::Name>(&expr);
      bool leaves_loop = value.is_poison() && name && (name->text == "break" || name->text == "continue");
      if (leaves_loop) return give_up();  // no iteration after it means anything
      if (!value.is_poison()) {
        bool is_used = lowering_.expression_statement(expr, value, scope);
        if (!is_used) warn_unused(expr, value, scope);
      } else {
        frame().result = Datum::poison();  // what it was to do may be what the function lacks
      }
      return Flow::Next;
    }
    case ast::NodeKind::Assign:
      execute_assign(ast::cast<ast::Assign>(stmt), scope);
      break;
    case ast::NodeKind::AugAssign: {
      const auto& node = ast::cast<ast::AugAssign>(stmt);
      if (refuse_part({&node.target, 1}, *node.value, scope)) break;
      Datum left = evaluate(*node.target, scope);
      Datum right = evaluate(*node.value, scope);
      OperatorPlace at(node.op_loc, {*node.target, left}, {*node.value, right}, scope, ast::spelling(node.op));
      at.assigns = true;
      Datum result = bounded(binary(node.op, left, right, at), node.op_loc);
      if (node.op != ast::BinaryOp::MatMul && refuse_growth(node, left, result)) result = Datum::poison();
      assign(*node.target, result, scope);
      break;
    }
    case ast::NodeKind::Return: {
      const auto& node = ast::cast<ast::Return>(stmt);
      Datum value = node.value ? evaluate(*node.value, scope) : Datum::none();
      frame().result_loc = node.value ? node.value->loc : node.loc;
      frame().result = std::move(value);
      frame().returned = {node.value};
      return Flow::Return;
    }
    case ast::NodeKind::If:
      return execute_arms(ast::cast<ast::If>(stmt), 0, scope);
    case ast::NodeKind::For:
      return execute_for(ast::cast<ast::For>(stmt), scope);
    case ast::NodeKind::While:
      return execute_while(ast::cast<ast::While>(stmt), scope);
    case ast::NodeKind::With:
      return execute_with(ast::cast<ast::With>(stmt), scope);
    case ast::NodeKind::On:
      return execute_on(ast::cast<ast::On>(stmt), scope);
    case ast::NodeKind::Def:
      define(ast::cast<ast::Def>(stmt), scope);
      break;
    case ast::NodeKind::Const: {
      const auto& node = ast::cast<ast::Const>(stmt);
      if (refuse_dtype_name(*this, node.name.text, node.name.loc)) break;
      Datum value = evaluate(*node.value, scope);
      observe(node.name.text, node.name.loc, value);
      scope.set(node.name.text, std::move(value), node.name.loc);
      break;
    }
    case ast::NodeKind::Pass:
      break;
    case ast::NodeKind::ErrorStmt:
      return give_up();
    default:
      report(diag::misplaced_statement, stmt.loc, misplaced_name(stmt.kind), "in a function");
  }
  return Flow::Next;
}

namespace {

bool has_effect(const ast::Expr& expr, const CallFrame& frame) {
  bool found = false;
  auto look = [&](const ast::Node& node) {
    auto is_here = [&](const EffectSite& site) { return site.loc == node.loc; };
    for (const auto& [effect, sites] : frame.effects) found = found || std::ranges::any_of(sites, is_here);
  };
  ast::walk(expr, look);
  return found;
}

/// Whether a kernel shows values.
bool prints(const Datum& callee) {
  const ast::Def* def = callee.is(DatumKind::Function) ? callee.as_function().def : nullptr;
  bool found = false;
  auto look = [&](const ast::Node& node) {
    const auto* call = ast::as<ast::Call>(&node);
    const auto* name = call ? ast::as<ast::Name>(call->callee) : nullptr;
    found = found || (name && name->text == "print");
  };
  if (def) ast::walk(*def, look);
  return found;
}

/// The names that a call gives as regions; empty when one of them is no name.
std::vector<std::string_view> region_names(const Signature& called, const ast::Call& call) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const ast::Argument& argument = call.arguments[i];
    auto is_its = [&](const SignatureParameter& each) { return each.name == argument.name.text; };
    auto named = std::ranges::find_if(called.parameters, is_its);
    size_t place = argument.name.text.empty() ? i : size_t(named - called.parameters.begin());
    if (place >= called.parameters.size() || called.parameters[place].type.privileges.empty()) continue;
    const auto* name = ast::as<ast::Name>(argument.value);
    if (!name) return {};
    names.push_back(name->text);
  }
  return names;
}

}  // namespace

/// A statement that may compute a value and do nothing else.
void Evaluator::warn_unused(const ast::Expr& expr, const Datum& value, Scope& scope) {
  if (value.is_none() || value.is(DatumKind::Object)) return;
  const Function* function = frame().function;
  bool has_def = function && function->def;
  bool lacks_return = has_def && (function->kind != FunctionKind::Kernel || function->def->return_type);
  if (lacks_return && !ast::return_in(function->def->body)) return;  // the value may be what was to be returned
  const auto* call = ast::as<ast::Call>(&expr);
  const Datum callee = call ? evaluate(*call->callee, scope) : Datum::none();
  if (has_effect(expr, frame()) || prints(callee)) return;
  auto builder = report(diag::unused_value, expr.loc);
  const Signature* called = callee.is(DatumKind::Function) ? session_.known_signature(callee.as_function()) : nullptr;
  std::vector<std::string_view> regions;
  if (called) regions = region_names(*called, *call);
  size_t count = value.is_sequence() ? value.elements().size() : 1;
  bool is_function = value.is(DatumKind::Function) || value.is(DatumKind::Builtin);
  if (is_function) {
    builder.help("a function runs where it is called: f(…)");
  } else if (regions.empty() || regions.size() != count) {
    builder.help("values do not change: give it a name, as in y = …, or leave the statement out");
  } else {
    std::string names = fmt::format("{}", fmt::join(regions, ", "));
    builder.fix(fmt::format("the call gives the new {}: write {} = …", names, names), expr.loc.before(),
                names + " = ");
  }
}

/// `a += x` leaves a the shape that it has; says so where x would be broadcast to more.
bool Evaluator::refuse_growth(const ast::AugAssign& stmt, const Datum& before, const Datum& after) const {
  if (!before.is_ir() || !after.is_ir()) return false;
  Type from = before.as_ir().value->type(), to = after.as_ir().value->type();
  bool grows = from->dims.size() != to->dims.size();
  for (size_t i = 0; !grows && i < from->dims.size(); ++i) {
    grows = from->dims[i]->is_constant(1) && !to->dims[i]->is_constant(1);
  }
  if (!grows) return false;
  std::string target = source_text(session_.sources(), stmt.target->loc);
  std::string_view sign = ast::spelling(stmt.op);
  report(diag::shape_mismatch, stmt.op_loc, fmt::format("the result of '{}='", sign), type_text(to),
         fmt::format("'{}'", target), type_text(from))
      .help(fmt::format("a value of another shape is given by {0} = {0} {1} …", target, sign));
  return true;
}

void Evaluator::execute_assign(const ast::Assign& stmt, Scope& scope) {
  if (!stmt.value) {
    report(diag::misplaced_statement, stmt.loc, "a declaration without a value", "in a function")
        .help(fmt::format("a name is declared by assigning to it: {} = {}",
                          source_text(session_.sources(), stmt.targets[0]->loc),
                          blame_.is_in_kernel() ? "tile.zeros((t.m, t.n), f32)" : "zeros((4, 8), f32)"));
    for (const ast::Expr* target : stmt.targets) assign(*target, Datum::poison(), scope);
    return;
  }
  if (refuse_part(stmt.targets, *stmt.value, scope)) return;
  Datum value = evaluate(*stmt.value, scope);
  if (stmt.annotation && !value.is_poison()) {
    value = lowering_.annotate(*stmt.annotation, std::move(value), scope, stmt.value->loc);
  }
  for (const ast::Expr* target : stmt.targets) assign(*target, value, scope);
}

namespace {

/// How a dict with another entry is made.
std::string help_for_entry(std::string_view name, const Dictionary& dict, const ast::Subscript& target) {
  const auto* key = target.indices.size() == 1 ? ast::as<ast::String>(target.indices[0]) : nullptr;
  if (!key)
    return fmt::format("keys are strings; values that have numbers are a list: {0} = {0} + [value], from []", name);
  constexpr size_t most_shown = 4;
  std::string entries = fmt::format("\"{}\": value", key->value);
  for (const auto& [other, value] : dict.entries) {
    if (other != key->value) entries += fmt::format(", \"{1}\": {0}[\"{1}\"]", name, other);
  }
  if (dict.entries.size() > most_shown) entries = fmt::format("\"{}\": value, …", key->value);
  return fmt::format("dicts are values, and one with another entry is new: {} = {{{}}}", name, entries);
}

/// How the language says what assigning to a part of a value says elsewhere; `exchanges` where several parts are given
/// values at once.
std::string help_for_change(const Blame& blame, const ast::Expr& target, Scope& scope, bool exchanges) {
  const ast::Expr* root = &target;
  while (root && root->kind != ast::NodeKind::Name) {
    const auto* subscript = ast::as<ast::Subscript>(root);
    const auto* member = ast::as<ast::Attribute>(root);
    root = subscript ? subscript->object : member ? member->object : nullptr;
  }
  const auto* name = ast::as<ast::Name>(root);
  const Binding* binding = name ? scope.find(name->text) : nullptr;
  const Datum value = binding ? binding->value : Datum::none();
  const auto* state = value.object_as<StateValue>();
  if (state && state->kind() == StateKind::KVCache) {
    return fmt::format("a cache takes new keys and values by {0} = {0}.append(k, v)", name->text);
  }
  bool is_part = target.kind == ast::NodeKind::Subscript;
  if (is_part && exchanges && (value.is_ir() || value.is(DatumKind::List)) && !blame.is_in_kernel()) {
    std::string parts = fmt::format("{0}[1:2], {0}[:1], {0}[2:]", name->text);
    return value.is_ir() ? fmt::format("values do not change; one with other rows is new: {} = concat(({}), axis=0)",
                                       name->text, parts)
                         : fmt::format("lists are values, and one in another order is new: {0} = [{0}[1], {0}[0]]",
                                       name->text);
  }
  if (is_part && value.is_ir() && blame.is_in_kernel()) {
    return fmt::format("a kernel writes tiles: tile.store(value, {0}, index), where {0} is a parameter of type "
                       "Region[write] Tensor[…] or memory of tile.alloc", name->text);
  }
  if (is_part && value.is_ir()) {
    return fmt::format("values do not change; {0} = where(mask, value, {0}) is a new one with other elements where a "
                       "mask holds, and concat((…), axis=0) one of slices", name->text);
  }
  if (is_part && value.is(DatumKind::List)) {
    return fmt::format("lists are values, and one with another element is new: {0} = {0}[:i] + [value] + {0}[i + 1:]",
                       name->text);
  }
  const auto* subscript = ast::as<ast::Subscript>(&target);
  if (subscript && subscript->object == root && value.is(DatumKind::Dict)) {
    return help_for_entry(name->text, value.entries(), *subscript);
  }
  if (name && name->text == "self") {
    return "the fields of a module are declared in it: w: Param[I, O, f32] = normal(0.02)";
  }
  return "values do not change; make a new one and give it a name";
}

/// A value that is given to several names and is none of several values.
void report_unpacking(const Blame& blame, const Datum& value, Loc loc) {
  constexpr std::string_view what = "the unpacked value";
  if (blame.report_valueless(value, loc, what)) return;
  auto builder = blame.report(diag::wrong_kind, loc, what, describe(value), "a tuple or a list");
  if (!value.is_ir()) return;
  builder.help("a tensor is one value, whose rows are x[0] and x[1]; max gives no indices, which are argmax of "
               "tessera.nn");
}

}  // namespace

namespace {

/// A name of a function is poison from here on: what it holds is nothing to judge any more.
void spoil(std::string_view name, Scope& scope) {
  Scope* where = nullptr;
  Binding* binding = scope.find(name, &where);
  if (binding && where->parent() && where != where->module_scope()) binding->value = Datum::poison();
}

}  // namespace

std::string Evaluator::help_for_filling(std::string_view name, const Datum& element) const {
  std::optional<WrittenLoop> loop = lowering_.loop();
  // A list made before several loops has more values than the innermost has iterations.
  bool is_outside = loop && loop->body && loop->body->parent() && loop->body->parent()->find_here(name);
  bool is_known = is_outside && (element.is_ir() || element.is_scalar() || element.is(DatumKind::Bool));
  std::string dims, added;
  std::string_view dtype = element.is(DatumKind::Float) ? "f32" : element.is(DatumKind::Bool) ? "bool" : "i64";
  if (is_known && element.is_ir()) {
    dtype = to_string(element.as_ir().storage);
    for (Dim dim : element.as_ir().value->type()->dims) {
      is_known = is_known && !lowering_.is_counted(dim);
      dims += fmt::format("{}{}", dims.empty() ? "" : ", ", dim->text);
      added += ", None";
    }
  }
  if (!is_known) {
    return fmt::format(
        "what a loop changes keeps its shape: make a tensor with room for all values before it, and "
        "replace one in each iteration, {0} = where(mask, value, {0})",
        name);
  }
  auto made = [&](std::string_view extent) {
    return fmt::format("{} = zeros(({},{}{}), {})", name, extent, dims.empty() ? "" : " ", dims, dtype);
  };
  auto replaced = [&](std::string_view extent, std::string_view at) {
    std::string mask = fmt::format("arange({}, i64) == {}", extent, at);
    if (!added.empty()) mask = fmt::format("({})[:{}]", mask, added);
    return fmt::format("{0} = where({1}, value, {0})", name, mask);
  };
  constexpr std::string_view room = "64";
  if (!loop->variable.empty() && !loop->stop.empty()) {
    return fmt::format("a loop over a size fills a tensor, {} before it: {}", made(loop->stop),
                       replaced(loop->stop, loop->variable));
  }
  if (!loop->variable.empty()) {
    return fmt::format("a loop over a number that is computed fills a tensor that has room, such as {} before it: {}",
                       made(room), replaced(room, loop->variable));
  }
  return fmt::format(
      "a loop that counts nothing fills a tensor that has room, such as {}, with count = full((), 0, i64) "
      "before it: {}, then count = count + 1",
      made(room), replaced(room, "count"));
}

/// Whether a name of the function has a value before the run-time loop around, which iterations would change.
bool Evaluator::is_of_loop(std::string_view name) const {
  std::optional<WrittenLoop> loop = lowering_.loop();
  return loop && loop->body && loop->body->parent() && loop->body->parent()->find(name);
}

void Evaluator::report_list_member(const ast::Attribute& node, Scope& scope, const Datum& element) {
  const auto* list = ast::as<ast::Name>(node.object);
  std::string_view name = list ? list->text : "parts";
  auto builder = report(diag::unknown_member, node.name.loc, "a list", node.name.text);
  bool fills = is_of_loop(name) && lengthens(node.name.text);
  // What is extended or inserted are not the values in the order of iterations.
  Datum added = node.name.text == "append" ? element : Datum::poison();
  std::string help = fills ? help_for_filling(name, added) : help_for_list(node.name.text, name);
  if (!help.empty()) builder.help(std::move(help));
  if (list) spoil(name, scope);
}

/// What a run-time loop does where others assign to an element of a list or of a dict; empty for another value.
std::string Evaluator::change_in_loop(const ast::Subscript& target, const ast::Expr* value, Scope& scope) {
  const auto* name = ast::as<ast::Name>(target.object);
  const Binding* binding = name && is_of_loop(name->text) ? scope.find(name->text) : nullptr;
  if (!binding || (!binding->value.is(DatumKind::Dict) && !binding->value.is(DatumKind::List))) return "";
  const auto* key = target.indices.size() == 1 ? ast::as<ast::String>(target.indices[0]) : nullptr;
  if (key && binding->value.is(DatumKind::Dict)) {
    if (!binding->value.entries().get(key->value)) return "";
    return fmt::format(
        "a loop changes what names stand for, and no entry of a dict: value = {}[\"{}\"] before it, and "
        "value = … in it",
        name->text, key->value);
  }
  if (key || (target.indices.size() == 1 && ast::written_number(target.indices[0]))) return "";
  spoil(name->text, scope);
  return help_for_filling(name->text, value ? evaluate(*value, scope) : Datum::poison());
}

void Evaluator::report_part(const ast::Expr& target, Scope& scope, bool exchanges, const ast::Expr* value) {
  if (target.kind == ast::NodeKind::ErrorExpr) return;
  // The result of the function was in that part: that it returns nothing is no second
  // error.
  if (!frames_.empty()) frames_.back().result = Datum::poison();
  bool part = target.kind == ast::NodeKind::Subscript;
  std::string otherwise = help_for_change(blame_, target, scope, exchanges);
  std::string help = part ? change_in_loop(ast::cast<ast::Subscript>(target), value, scope) : std::string();
  report(diag::not_assignable, target.loc, part ? "part of a value" : "a member of a value")
      .help(help.empty() ? otherwise : help);
}

/// Reports the first target that is part of a value, before the value is computed: what is wrong with that would be
/// said of a statement that cannot stay.
bool Evaluator::refuse_part(ast::ExprList targets, const ast::Expr& value, Scope& scope) {
  const ast::Expr* part = nullptr;
  size_t parts = 0;
  std::vector<const ast::Expr*> names;
  auto look = [&](auto&& self, const ast::Expr& target) -> void {
    const auto* tuple = ast::as<ast::Tuple>(&target);
    const auto* list = ast::as<ast::List>(&target);
    if (tuple || list) {
      for (const ast::Expr* each : tuple ? tuple->elements : list->elements) self(self, *each);
    } else if (target.kind == ast::NodeKind::Name) {
      names.push_back(&target);
    } else if (target.kind == ast::NodeKind::Subscript || target.kind == ast::NodeKind::Attribute) {
      part = part ? part : &target;
      ++parts;
    }
  };
  for (const ast::Expr* target : targets) look(look, *target);
  if (!part) return false;
  report_part(*part, scope, targets.size() == 1 && parts > 1, targets[0] == part ? &value : nullptr);
  for (const ast::Expr* name : names) assign(*name, Datum::poison(), scope);
  return true;
}

void Evaluator::assign(const ast::Expr& target, const Datum& value, Scope& scope) {
  if (const auto* name = ast::as<ast::Name>(&target)) {
    if (refuse_dtype_name(*this, name->text, name->loc)) return;
    Datum named = value.is_poison() ? value : lowering_.assigned(name->text, value, name->loc);
    observe(name->text, name->loc, named);
    scope.set(name->text, std::move(named), name->loc);
    return;
  }
  const auto* tuple = ast::as<ast::Tuple>(&target);
  const auto* list = ast::as<ast::List>(&target);
  if (!tuple && !list) {
    if (!value.is_poison()) report_part(target, scope);
    return;
  }
  ast::ExprList targets = tuple ? tuple->elements : list->elements;
  if (!value.is_poison() && !value.is_sequence()) {
    report_unpacking(blame_, value, target.loc);
  } else if (value.is_sequence() && value.elements().size() != targets.size()) {
    report(diag::wrong_unpacking, target.loc, counted_verb(value.elements().size(), "value"),
           counted(targets.size(), "name"));
    // The names that lack are no errors of their own.
    if (!frames_.empty() && value.elements().size() > targets.size()) frames_.back().lacks_names = true;
  }
  bool fits = value.is_sequence() && value.elements().size() == targets.size();
  for (size_t i = 0; i < targets.size(); ++i) {
    assign(*targets[i], fits ? value.elements()[i] : Datum::poison(), scope);
  }
}

Flow Evaluator::execute_arms(const ast::If& stmt, size_t first, Scope& scope) {
  for (size_t i = first; i < stmt.arms.size(); ++i) {
    const ast::IfArm& arm = stmt.arms[i];
    Datum condition = evaluate(*arm.condition, scope);
    if (condition.is_ir() || condition.is(DatumKind::Object)) {
      if (std::optional<Flow> flow = lowering_.branch(condition, stmt, i, scope)) return *flow;
      report(diag::wrong_kind, arm.condition->loc, "the condition", describe(condition), "a compile-time bool");
      return skip_arms(stmt, scope);
    }
    // A rate that may be 0 is tested as in Python.
    if (condition.is(DatumKind::Float)) condition = Datum::boolean(condition.as_double() != 0);
    std::optional<bool> truth = expect_bool(condition, arm.condition->loc, "the condition");
    if (!truth && is_open()) return explore_arms(stmt, i, scope);
    if (!truth) return skip_arms(stmt, scope);
    if (*truth) return execute(arm.body, scope);
  }
  return execute(stmt.else_body, scope);
}

Flow Evaluator::execute_for(const ast::For& stmt, Scope& scope) {
  Datum iterable = evaluate(*stmt.iterable, scope);
  if (const Datum* known = iterable.unless_none()) iterable = Datum(*known);
  if (iterable.is_poison()) return is_open() ? explore_for(stmt, iterable, scope) : skip(stmt.body, scope);
  if (!iterable.is_sequence()) {
    if (std::optional<Flow> flow = lowering_.for_each(iterable, stmt, scope)) return *flow;
    auto builder = report(diag::wrong_kind, stmt.iterable->loc, "the iterable of 'for'", describe(iterable),
                          "a tuple, a list or a range");
    bool counts = iterable.object_as<RuntimeRange>();
    if (counts) builder.help("in a kernel tile.range(K, t.k) counts at run time, in steps of a tile");
    return skip(stmt.body, scope);
  }
  for (const Datum& element : iterable.elements()) {
    if (!count_step(stmt.loc)) return give_up();
    assign(*stmt.target, element, scope);
    if (execute_iteration(stmt.body, scope) == Flow::Return) return Flow::Return;
  }
  return Flow::Next;
}

/// An iteration of an unrolled loop.
Flow Evaluator::execute_iteration(ast::StmtList body, Scope& scope) {
  Continuation iterations{{}, frame().continuation, true};
  frame().continuation = &iterations;
  Flow flow = execute(body, scope);
  frame().continuation = iterations.outer;
  return flow;
}

Flow Evaluator::execute_while(const ast::While& stmt, Scope& scope) {
  const auto* constant = ast::as<ast::Bool>(stmt.condition);
  if (constant && constant->value && !ast::return_in(stmt.body) && !leaves(stmt.body)) {
    report(diag::wrong_kind, stmt.condition->loc, "the condition of 'while'", "always True", "one that becomes False")
        .help("a loop of n iterations is 'for i in range(n):'");
    return skip(stmt.body, scope);
  }
  while (true) {
    if (!count_step(stmt.loc)) return give_up();
    frame().is_trip = true;
    Datum condition = evaluate(*stmt.condition, scope);
    frame().is_trip = false;
    if (condition.is_ir() || condition.is(DatumKind::Object)) {
      if (std::optional<Flow> flow = lowering_.while_loop(stmt, scope)) return *flow;
      report(diag::unsupported_construct, stmt.condition->loc,
             "a 'while' loop whose condition is computed at run time")
          .help("the trip count of a loop in a kernel is known before it: for k in tile.range(K, t.k)");
      return skip(stmt.body, scope);
    }
    std::optional<bool> truth = expect_bool(condition, stmt.condition->loc, "the condition");
    if (!truth && is_open()) {
      leave_facts_open();
      return explore_iterations(stmt.body, scope);
    }
    if (!truth) return skip(stmt.body, scope);
    if (!*truth) return Flow::Next;
    if (refuse_endless(stmt, scope)) return skip(stmt.body, scope);
    if (execute_iteration(stmt.body, scope) == Flow::Return) return Flow::Return;
  }
}

/// Whether the condition of a loop, which holds, holds for ever: nothing in the loop changes what it reads.
bool Evaluator::refuse_endless(const ast::While& stmt, Scope& scope) {
  std::vector<std::string_view> names = unchanged_names(*stmt.condition, stmt.body);
  if (names.empty() || ast::return_in(stmt.body) || leaves(stmt.body)) return false;
  if (auto called = std::ranges::find_first_of(names, names_with_calls(stmt.body)); called != names.end()) {
    // Lists have no methods, which is said of the call; the method of an object may change it.
    const Binding* binding = scope.find(*called);
    bool is_list = binding && binding->value.is_sequence();
    if (is_list) execute_iteration(stmt.body, scope);
    return is_list;
  }
  auto counts = [&](std::string_view name) {
    Scope* where = nullptr;
    const Binding* binding = scope.find(name, &where);
    return binding && binding->value.is(DatumKind::Int) && where->module_scope() != where;
  };
  auto counter = std::ranges::find_if(names, counts);
  std::string help = fmt::format("nothing in the loop gives '{}' another value",
                                 counter == names.end() ? names.front() : *counter);
  if (counter != names.end()) help += fmt::format(", such as {0} = {0} + 1", *counter);
  report(diag::wrong_kind, stmt.condition->loc, "the condition of 'while'", "True in each iteration",
         "one that becomes False")
      .help(std::move(help));
  return true;
}

void Evaluator::define(const ast::Def& def, Scope& scope) {
  Scope* around = capture(scope);
  Datum function = Datum::function(session_.make_function(def, *around));
  // A call of itself finds the name, and then that it may not.
  around->set(def.name.text, function, def.name.loc);
  scope.set(def.name.text, function, def.name.loc);
  if (is_open()) explore(function.as_function(), *open_scope(around));
}

}  // namespace tessera::frontend
