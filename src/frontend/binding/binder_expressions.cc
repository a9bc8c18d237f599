#include <algorithm>

#include "frontend/binding/binder.h"
#include "frontend/binding/words.h"
#include "frontend/syntax/ast_walk.h"

namespace tessera::names {

int32_t Binder::expression(const ast::Expr* expr, Place place) {
  if (!expr) return -1;
  switch (expr->kind) {
    case ast::NodeKind::Name: return use(ast::cast<ast::Name>(*expr).text, expr->loc, place, false);
    case ast::NodeKind::Attribute: return attribute(ast::cast<ast::Attribute>(*expr), place);
    case ast::NodeKind::Call: call(ast::cast<ast::Call>(*expr), place); return -1;
    case ast::NodeKind::Lambda: lambda(ast::cast<ast::Lambda>(*expr)); return -1;
    case ast::NodeKind::Comprehension: comprehension(ast::cast<ast::Comprehension>(*expr)); return -1;
    case ast::NodeKind::String:
      if (place == Place::TypeArgument) dims_in(ast::cast<ast::String>(*expr));
      return -1;
    case ast::NodeKind::PrivilegedType:
      for (const ast::Expr* privilege : ast::cast<ast::PrivilegedType>(*expr).privileges) {
        if (privilege->kind == ast::NodeKind::Name) add(privilege->loc, OccurrenceKind::Privilege);
      }
      return expression(ast::cast<ast::PrivilegedType>(*expr).type, place);
    default: children(*expr, place); return -1;
  }
}

void Binder::children(const ast::Expr& expr, Place place) {
  if (const auto* subscript = ast::as<ast::Subscript>(&expr)) {
    expression(subscript->object, place);
    // The state of an optimiser is that of a param, which is no size.
    const auto* name = ast::as<ast::Name>(subscript->object);
    const TypeRow* type = name ? find_type(name->text) : nullptr;
    bool is_of_param = type && type->form == TypeForm::OptimizerState;
    Place inner = place == Place::Value || is_of_param ? place : Place::TypeArgument;
    for (const ast::Expr* index : subscript->indices) expression(index, inner);
    return;
  }
  if (expr.kind == ast::NodeKind::Binary) {
    // Left operands may be nested without limit.
    std::vector<const ast::Binary*> spine = ast::left_spine(expr);
    expression(spine.back()->left, place);
    for (size_t i = spine.size(); i-- > 0;) expression(spine[i]->right, place);
    return;
  }
  std::vector<const ast::Node*> parts;
  ast::append_children(expr, parts);
  for (const ast::Node* part : parts) expression(static_cast<const ast::Expr*>(part), place);
}

int32_t Binder::attribute(const ast::Attribute& attribute, Place place) {
  int32_t object = expression(attribute.object, place == Place::TypeArgument ? Place::Value : place);
  int32_t made = add(attribute.name.loc, OccurrenceKind::Member);
  if (made < 0) return made;
  out_.occurrences[size_t(made)].parent = object;
  if (object < 0) out_.occurrences[size_t(made)].object = attribute.object;
  return made;
}

void Binder::call(const ast::Call& call, Place place) {
  int32_t callee = expression(call.callee, place == Place::TypeArgument ? Place::Value : place);
  arguments(call.arguments, callee, call.callee, place);
}

void Binder::arguments(std::span<const ast::Argument> list, int32_t callee, const ast::Expr* object, Place place) {
  for (const ast::Argument& argument : list) {
    if (!argument.name.text.empty()) {
      int32_t made = add(argument.name.loc, OccurrenceKind::Argument);
      if (made >= 0) out_.occurrences[size_t(made)].parent = callee;
      if (made >= 0 && callee < 0) out_.occurrences[size_t(made)].object = object;
    }
    expression(argument.value, place);
  }
}

void Binder::lambda(const ast::Lambda& lambda) {
  for (const ast::Parameter& parameter : lambda.parameters) expression(parameter.default_value);
  open(range(lambda.loc));
  parameters(lambda.parameters, "", "");
  expression(lambda.body);
  close();
}

void Binder::comprehension(const ast::Comprehension& node) {
  open(range(node.loc));
  for (const ast::ComprehensionClause& clause : node.clauses) {
    expression(clause.iterable);
    target(clause.target, clause.iterable, true);
    for (const ast::Expr* condition : clause.conditions) expression(condition);
  }
  expression(node.key);
  expression(node.element);
  close();
}

/// "B*H": each factor is a name, at its own place where the literal is written plainly.
void Binder::dims_in(const ast::String& string) {
  if (string.loc.length != string.value.size() + 2) return;
  for (size_t start = 0; start < string.value.size();) {
    size_t end = std::min(string.value.find('*', start), string.value.size());
    Loc loc = string.loc;
    loc.column += uint32_t(start) + 1;
    loc.length = uint32_t(end - start);
    if (end > start) use(string.value.substr(start, end - start), loc, Place::TypeArgument, false);
    start = end + 1;
  }
}

}  // namespace tessera::names
