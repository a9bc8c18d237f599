// `if` on a run-time value. All threads of a program take the same branch. A name that both
// branches assign, with the same type, is defined afterwards; a name that only one of them defines
// is not.

#include <algorithm>

#include "frontend/binding/names.h"
#include "frontend/lower/kernel/kernel_builder.h"
#include "ir/schedule/ops.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using schedule::info;
using schedule::OpKind;

namespace {

/// Names that the statement assigns from an arm on, in the order of first appearance.
std::vector<std::string_view> names_of(const ast::If& stmt) {
  std::vector<std::string_view> names;
  auto add = [&](ast::StmtList body) {
    for (std::string_view name : names::assigned_names(body)) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  };
  for (const ast::IfArm& arm : stmt.arms) add(arm.body);
  add(stmt.else_body);
  return names;
}

/// The value of a name at the end of a branch; null where it has none.
const Datum* value_of(std::string_view name, Scope* scope) {
  for (; scope; scope = scope->parent()) {
    if (Binding* binding = scope->find_here(name)) return &binding->value;
  }
  return nullptr;
}

}  // namespace

/// One path through the statement.
struct KernelBuilder::Arm {
  Block* block;
  Scope* scope;
  std::vector<Value*> yields = {};
};

/// The condition as a bool scalar; poison when an error was reported.
Datum KernelBuilder::branch_condition(const Datum& condition, Loc loc) {
  Value* value = condition.is_ir() ? condition.as_ir().value : nullptr;
  Type type = value ? value->type() : nullptr;
  if (type && type->is(TypeKind::Tile) && type->rank() == 0) {  // an element
    ops_.builder().set_loc(loc);
    Value* element = ops_.builder().value(info(OpKind::Extract), {{value}}, context().scalar(type->dtype));
    return branch_condition(ops_.handle(element, loc), loc);
  }
  if (!type || !type->is(TypeKind::Scalar) || is_float(type->dtype)) {
    report(diag::wrong_kind, loc, "the condition", describe(condition), "a bool or an integer scalar")
        .help("tile.where(condition, a, b) chooses element by element");
    return Datum::poison();
  }
  if (type->dtype == DType::Bool) return condition;
  Datum operands[] = {condition, Datum::integer(0)};
  return ops_.elementwise(ElementwiseKind::Ne, operands, loc);
}

/// The statement from an arm on, as if those before it did not hold.
Flow KernelBuilder::run_arms(const ast::If& stmt, size_t first, Scope& scope) {
  for (size_t i = first; i < stmt.arms.size(); ++i) {
    Datum condition = evaluator_.evaluate(*stmt.arms[i].condition, scope);
    if (condition.is_poison()) return Flow::Next;
    if (condition.is_ir()) return run_branch(condition, stmt, i, scope);
    auto truth = evaluator_.expect_bool(condition, stmt.arms[i].condition->loc, "the condition");
    if (!truth) return Flow::Next;
    if (*truth) return evaluator_.execute(stmt.arms[i].body, scope);
  }
  return evaluator_.execute(stmt.else_body, scope);
}

void KernelBuilder::run_arm(Arm& arm, const ast::If& stmt, size_t first, bool holds, Scope& scope) {
  arm.scope = evaluator_.open_scope(&scope);
  kernel_.loop_scopes.insert(arm.scope);
  ops_.builder().set_end(arm.block);
  Flow flow = holds ? evaluator_.execute(stmt.arms[first].body, *arm.scope) : run_arms(stmt, first + 1, *arm.scope);
  if (flow == Flow::Return) {
    evaluator_.report(diag::unsupported_construct, stmt.arms[first].condition->loc, "a return in a run-time branch")
        .help("give a name its value in both branches, and return that behind them");
  }
  arm.block = ops_.builder().block();
}

std::optional<Flow> KernelBuilder::branch(const Datum& condition, const ast::If& stmt, size_t arm, Scope& scope) {
  return run_branch(condition, stmt, arm, scope);
}

Flow KernelBuilder::run_branch(const Datum& given, const ast::If& stmt, size_t first, Scope& scope) {
  Loc loc = stmt.arms[first].condition->loc;
  Datum condition = branch_condition(given, loc);
  if (condition.is_poison()) return Flow::Next;
  Block* outside = ops_.builder().block();
  ops_.builder().set_loc(loc);
  // The values that the branches leave, and so the results of the op, are known after they have
  // run.
  Op* draft = ops_.builder().op(info(OpKind::If), {{condition.as_ir().value}}, {});
  std::vector<Arm> arms = {{draft->region(0)->add_block(), nullptr}, {draft->region(1)->add_block(), nullptr}};
  run_arm(arms[0], stmt, first, true, scope);
  run_arm(arms[1], stmt, first, false, scope);
  ops_.builder().set_end(outside);
  if (!has_errors()) {
    join_arms(draft, arms, stmt, scope);
  } else {
    for (std::string_view name : names_of(stmt)) scope.set(name, Datum::poison(), stmt.loc);
  }
  return Flow::Next;
}

void KernelBuilder::join_arms(Op* draft, std::vector<Arm>& arms, const ast::If& stmt, Scope& scope) {
  std::vector<std::string_view> joined;
  std::vector<Type> types;
  for (std::string_view name : names_of(stmt)) {
    const Datum* values[2] = {value_of(name, arms[0].scope), value_of(name, arms[1].scope)};
    if (!values[0] || !values[1]) continue;
    if (!values[0]->is_ir() && !values[1]->is_ir() && equal(*values[0], *values[1])) {
      scope.set(name, *values[0], stmt.loc);
      continue;
    }
    Type type = nullptr;
    for (const Datum* value : values) {
      Type own = value->is_ir() ? value->as_ir().value->type() : nullptr;
      bool wider = type && own && widens_to(type->dtype, own->dtype);
      if (own && (!type || wider)) type = own;
    }
    bool fits = type != nullptr && type->is(TypeKind::Tensor) == false;
    for (size_t n = 0; fits && n < 2; ++n) {
      Type own = values[n]->is_ir() ? values[n]->as_ir().value->type() : nullptr;
      fits = own && own->kind == type->kind && same_dims(own, type) &&
             (own->dtype == type->dtype || widens_to(own->dtype, type->dtype));
    }
    if (!fits) {
      report(diag::wrong_kind, stmt.loc, fmt::format("'{}' after one branch", name), describe(*values[1]),
             describe(*values[0]));
      continue;
    }
    if (values[0]->is_ir() && values[1]->is_ir() && values[0]->as_ir().value == values[1]->as_ir().value) continue;
    for (size_t n = 0; n < 2; ++n) {
      ops_.builder().set_end(arms[n].block);
      arms[n].yields.push_back(ops_.convert(values[n]->as_ir().value, type->dtype));
    }
    joined.push_back(name);
    types.push_back(type);
  }
  Builder& builder = ops_.builder();
  builder.set_loc(draft->loc());
  builder.set_before(draft);
  Op* op = builder.op(info(OpKind::If), {{draft->operand(0)}}, types);
  for (unsigned n = 0; n < 2; ++n) {
    Block* to = op->region(n)->add_block();
    while (Op* inner = draft->region(n)->front()->front()) inner->move_to_end(to);
    builder.set_end(to);
    builder.op(info(OpKind::Yield), {arms[n].yields}, {});
  }
  builder.set_end(draft->block());
  draft->erase();
  for (size_t i = 0; i < joined.size(); ++i) {
    op->result(unsigned(i))->set_name(module_.intern(joined[i]));
    scope.set(joined[i], ops_.handle(op->result(unsigned(i)), stmt.loc), stmt.loc);
  }
}

}  // namespace tessera::frontend
