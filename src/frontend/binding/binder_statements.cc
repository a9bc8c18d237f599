#include <utility>

#include "frontend/binding/binder.h"

namespace tessera::names {

namespace {

/// The value of the n-th of several names: `zip(xs, ys)` and `enumerate(xs)` give elements of their
/// arguments, a tuple its own.
const ast::Expr* part_of(const ast::Expr* origin, size_t n, bool elements) {
  const auto* tuple = ast::as<ast::Tuple>(origin);
  if (tuple && !elements) return n < tuple->elements.size() ? tuple->elements[n] : nullptr;
  const auto* call = elements ? ast::as<ast::Call>(origin) : nullptr;
  const auto* callee = call ? ast::as<ast::Name>(call->callee) : nullptr;
  if (!callee) return nullptr;
  if (callee->text == "zip") return n < call->arguments.size() ? call->arguments[n].value : nullptr;
  bool counted = callee->text == "enumerate" && n == 1 && !call->arguments.empty();
  return counted ? call->arguments[0].value : nullptr;
}

void append_targets(const ast::Expr* target, bool is_value, std::vector<Assigned>& out) {
  if (const auto* name = ast::as<ast::Name>(target)) out.push_back({{name->text, name->loc}, is_value});
  const auto* tuple = ast::as<ast::Tuple>(target);
  const auto* list = ast::as<ast::List>(target);
  for (const ast::Expr* part : tuple ? tuple->elements : list ? list->elements : ast::ExprList()) {
    append_targets(part, is_value, out);
  }
}

void append_assigned(const ast::Stmt& stmt, std::vector<Assigned>& out) {
  switch (stmt.kind) {
    case ast::NodeKind::Assign:
      for (const ast::Expr* target : ast::cast<ast::Assign>(stmt).targets) append_targets(target, true, out);
      return;
    case ast::NodeKind::AugAssign: return append_targets(ast::cast<ast::AugAssign>(stmt).target, true, out);
    case ast::NodeKind::For:
      append_targets(ast::cast<ast::For>(stmt).target, true, out);
      return append_assigned(ast::cast<ast::For>(stmt).body, out);
    case ast::NodeKind::While: return append_assigned(ast::cast<ast::While>(stmt).body, out);
    case ast::NodeKind::If:
      for (const ast::IfArm& arm : ast::cast<ast::If>(stmt).arms) append_assigned(arm.body, out);
      return append_assigned(ast::cast<ast::If>(stmt).else_body, out);
    case ast::NodeKind::With:
      for (const ast::WithItem& item : ast::cast<ast::With>(stmt).items) append_targets(item.target, false, out);
      return append_assigned(ast::cast<ast::With>(stmt).body, out);
    case ast::NodeKind::On: return append_assigned(ast::cast<ast::On>(stmt).body, out);
    case ast::NodeKind::Const: out.push_back({ast::cast<ast::Const>(stmt).name, false}); return;
    case ast::NodeKind::Def: out.push_back({ast::cast<ast::Def>(stmt).name, false, true}); return;
    default: return;
  }
}

}  // namespace

void append_assigned(ast::StmtList body, std::vector<Assigned>& out) {
  for (const ast::Stmt* stmt : body) append_assigned(*stmt, out);
}

void Binder::target(const ast::Expr* expr, const ast::Expr* origin, bool elements) {
  if (!expr) return;
  if (const auto* name = ast::as<ast::Name>(expr)) {
    int32_t made = declare(name->text, name->loc, SymbolKind::Variable);
    bool is_first = made >= 0 && out_.locals[size_t(made)].range == range(name->loc);
    if (is_first) out_.locals[size_t(made)].origin = origin;
    use(name->text, name->loc, Place::Value, true);
    give(made);
    return;
  }
  const auto* tuple = ast::as<ast::Tuple>(expr);
  const auto* list = ast::as<ast::List>(expr);
  if (!tuple && !list) {
    expression(expr);
    return;
  }
  ast::ExprList parts = tuple ? tuple->elements : list->elements;
  for (size_t i = 0; i < parts.size(); ++i) target(parts[i], part_of(origin, i, elements), elements);
}

/// The target is read before it is given the new value.
void Binder::augmented(const ast::AugAssign& stmt) {
  expression(stmt.value);
  const auto* name = ast::as<ast::Name>(stmt.target);
  int32_t before = name ? out_.find(name->text, scope_) : -1;
  bool is_certain = before >= 0 && is_given(before);
  if (name) note_free(name->text, Place::Value);
  target(stmt.target, nullptr, false);
  auto made = name && is_own(name->loc) ? by_offset_.find(range(name->loc).begin) : by_offset_.end();
  if (made == by_offset_.end()) return;
  Occurrence& occurrence = out_.occurrences[size_t(made->second)];
  occurrence.is_certain = is_certain && occurrence.local == before;
}

void Binder::branches(const ast::If& stmt, uint32_t end) {
  Flow before = flow_;
  Join join;
  for (const ast::IfArm& arm : stmt.arms) {
    expression(arm.condition);
    block(arm.body, end);
    join.add(std::exchange(flow_, before));
  }
  block(stmt.else_body, end);
  join.add(flow_);
  flow_ = join.result(before);
}

/// The body may run several times, or not at all: from its second iteration on it has the names that it assigns.
void Binder::loop(const ast::Expr* variable, const ast::Expr* iterable, const ast::Expr* condition,
                  ast::StmtList body, uint32_t end) {
  expression(iterable);
  Flow before = flow_;
  target(variable, iterable, true);
  std::vector<Assigned> assigned;
  append_assigned(body, assigned);
  for (const Assigned& each : assigned) {
    declare(each.name.text, each.name.loc, each.is_function ? SymbolKind::Function : SymbolKind::Variable);
  }
  expression(condition);
  block(body, end);
  flow_ = std::move(before);
}

void Binder::block(ast::StmtList body, uint32_t end) {
  bool is_reached = !flow_.ends;
  for (size_t i = 0; i < body.size(); ++i) {
    if (is_reached && flow_.ends) out_.unreachable.push_back(body[i]);
    is_reached = is_reached && !flow_.ends;
    statement(*body[i], end_of(body, i, end));
  }
}

void Binder::statement(const ast::Stmt& stmt, uint32_t end) {
  switch (stmt.kind) {
    case ast::NodeKind::Def: return nested_def(ast::cast<ast::Def>(stmt), end);
    case ast::NodeKind::Assign: {
      const auto& assign = ast::cast<ast::Assign>(stmt);
      expression(assign.annotation, Place::Annotation);
      expression(assign.value);
      for (const ast::Expr* left : assign.targets) target(left, assign.value, false);
      return;
    }
    case ast::NodeKind::AugAssign: return augmented(ast::cast<ast::AugAssign>(stmt));
    case ast::NodeKind::For: {
      const auto& loop = ast::cast<ast::For>(stmt);
      return this->loop(loop.target, loop.iterable, nullptr, loop.body, end);
    }
    case ast::NodeKind::While:
      return loop(nullptr, nullptr, ast::cast<ast::While>(stmt).condition, ast::cast<ast::While>(stmt).body, end);
    case ast::NodeKind::If: return branches(ast::cast<ast::If>(stmt), end);
    case ast::NodeKind::With:
      for (const ast::WithItem& item : ast::cast<ast::With>(stmt).items) {
        expression(item.context);
        target(item.target, item.context, false);
      }
      return block(ast::cast<ast::With>(stmt).body, end);
    case ast::NodeKind::On:
      expression(ast::cast<ast::On>(stmt).place);
      return block(ast::cast<ast::On>(stmt).body, end);
    case ast::NodeKind::Const: {
      const auto& constant = ast::cast<ast::Const>(stmt);
      expression(constant.annotation, Place::Annotation);
      expression(constant.value);
      int32_t made = declare(constant.name.text, constant.name.loc, SymbolKind::Variable);
      use(constant.name.text, constant.name.loc, Place::Value, true);
      return give(made);
    }
    case ast::NodeKind::ExprStmt: expression(ast::cast<ast::ExprStmt>(stmt).value); return;
    case ast::NodeKind::Return:
      expression(ast::cast<ast::Return>(stmt).value);
      flow_.ends = true;
      return;
    default: return;
  }
}

}  // namespace tessera::names
