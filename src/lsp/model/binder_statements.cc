#include "lsp/model/binder.h"

namespace tessera::lsp {

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

}  // namespace

void Binder::target(const ast::Expr* expr, const ast::Expr* origin, bool elements) {
  if (!expr) return;
  if (const auto* name = ast::as<ast::Name>(expr)) {
    size_t known = out_.locals.size();
    int32_t made = declare(name->text, name->loc, SymbolKind::Variable);
    if (out_.locals.size() > known) out_.locals[size_t(made)].origin = origin;
    use(name->text, name->loc, Place::Value, true);
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

void Binder::block(ast::StmtList body, uint32_t end) {
  for (size_t i = 0; i < body.size(); ++i) statement(*body[i], end_of(body, i, end));
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
    case ast::NodeKind::AugAssign:
      expression(ast::cast<ast::AugAssign>(stmt).value);
      return target(ast::cast<ast::AugAssign>(stmt).target, nullptr, false);
    case ast::NodeKind::For: {
      const auto& loop = ast::cast<ast::For>(stmt);
      expression(loop.iterable);
      target(loop.target, loop.iterable, true);
      return block(loop.body, end);
    }
    case ast::NodeKind::While:
      expression(ast::cast<ast::While>(stmt).condition);
      return block(ast::cast<ast::While>(stmt).body, end);
    case ast::NodeKind::If:
      for (const ast::IfArm& arm : ast::cast<ast::If>(stmt).arms) {
        expression(arm.condition);
        block(arm.body, end);
      }
      return block(ast::cast<ast::If>(stmt).else_body, end);
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
      declare(constant.name.text, constant.name.loc, SymbolKind::Variable);
      use(constant.name.text, constant.name.loc, Place::Value, true);
      return;
    }
    case ast::NodeKind::ExprStmt: expression(ast::cast<ast::ExprStmt>(stmt).value); return;
    case ast::NodeKind::Return: expression(ast::cast<ast::Return>(stmt).value); return;
    default: return;
  }
}

}  // namespace tessera::lsp
