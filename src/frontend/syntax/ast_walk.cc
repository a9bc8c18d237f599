#include "frontend/syntax/ast_walk.h"

#include <algorithm>

namespace tessera::ast {

namespace {

using Nodes = std::vector<const Node*>;

void add(Nodes& out, const Node* node) {
  if (node) out.push_back(node);
}
template <typename T>
void add_all(Nodes& out, std::span<T> nodes) {
  for (const auto& node : nodes) add(out, node);
}
void add_arguments(Nodes& out, std::span<const Argument> arguments) {
  for (const Argument& argument : arguments) add(out, argument.value);
}
void add_parameters(Nodes& out, std::span<const Parameter> parameters) {
  for (const Parameter& parameter : parameters) {
    add(out, parameter.annotation);
    add(out, parameter.default_value);
  }
}
void add_decorators(Nodes& out, std::span<const Decorator> decorators) {
  for (const Decorator& decorator : decorators) add_arguments(out, decorator.arguments);
}

void add_comprehension(Nodes& out, const Comprehension& node) {
  add(out, node.key);
  add(out, node.element);
  for (const ComprehensionClause& clause : node.clauses) {
    add(out, clause.target);
    add(out, clause.iterable);
    add_all(out, clause.conditions);
  }
}

void add_expression_children(const Node& node, Nodes& out) {
  switch (node.kind) {
    case NodeKind::Tuple:
      return add_all(out, cast<Tuple>(node).elements);
    case NodeKind::List:
      return add_all(out, cast<List>(node).elements);
    case NodeKind::Set:
      return add_all(out, cast<Set>(node).elements);
    case NodeKind::Dict:
      for (const DictEntry& entry : cast<Dict>(node).entries) {
        add(out, entry.key);
        add(out, entry.value);
      }
      return;
    case NodeKind::Unary:
      return add(out, cast<Unary>(node).operand);
    case NodeKind::Binary:
      add(out, cast<Binary>(node).left);
      return add(out, cast<Binary>(node).right);
    case NodeKind::Logical:
      return add_all(out, cast<Logical>(node).operands);
    case NodeKind::Compare:
      return add_all(out, cast<Compare>(node).operands);
    case NodeKind::Conditional:
      add(out, cast<Conditional>(node).then_value);
      add(out, cast<Conditional>(node).condition);
      return add(out, cast<Conditional>(node).else_value);
    case NodeKind::Call:
      add(out, cast<Call>(node).callee);
      return add_arguments(out, cast<Call>(node).arguments);
    case NodeKind::Attribute:
      return add(out, cast<Attribute>(node).object);
    case NodeKind::Subscript:
      add(out, cast<Subscript>(node).object);
      return add_all(out, cast<Subscript>(node).indices);
    case NodeKind::Slice:
      add(out, cast<Slice>(node).lower);
      add(out, cast<Slice>(node).upper);
      return add(out, cast<Slice>(node).step);
    case NodeKind::Lambda:
      add_parameters(out, cast<Lambda>(node).parameters);
      return add(out, cast<Lambda>(node).body);
    case NodeKind::Comprehension:
      return add_comprehension(out, cast<Comprehension>(node));
    case NodeKind::PrivilegedType:
      add_all(out, cast<PrivilegedType>(node).privileges);
      return add(out, cast<PrivilegedType>(node).type);
    default:
      return;  // leaves
  }
}

void add_definition_children(const Node& node, Nodes& out) {
  if (node.kind == NodeKind::Def) {
    const Def& def = cast<Def>(node);
    add_decorators(out, def.decorators);
    add_parameters(out, def.parameters);
    add(out, def.return_type);
    add_all(out, def.effects);
    add_all(out, def.where);
    add_all(out, def.body);
  } else {
    const Module& module = cast<Module>(node);
    add_decorators(out, module.decorators);
    add_parameters(out, module.parameters);
    add_all(out, module.where);
    add_all(out, module.body);
  }
}

void add_statement_children(const Node& node, Nodes& out) {
  switch (node.kind) {
    case NodeKind::ExprStmt:
      return add(out, cast<ExprStmt>(node).value);
    case NodeKind::Assign:
      add_all(out, cast<Assign>(node).targets);
      add(out, cast<Assign>(node).annotation);
      return add(out, cast<Assign>(node).value);
    case NodeKind::AugAssign:
      add(out, cast<AugAssign>(node).target);
      return add(out, cast<AugAssign>(node).value);
    case NodeKind::Return:
      return add(out, cast<Return>(node).value);
    case NodeKind::If:
      for (const IfArm& arm : cast<If>(node).arms) {
        add(out, arm.condition);
        add_all(out, arm.body);
      }
      return add_all(out, cast<If>(node).else_body);
    case NodeKind::For:
      add(out, cast<For>(node).target);
      add(out, cast<For>(node).iterable);
      return add_all(out, cast<For>(node).body);
    case NodeKind::While:
      add(out, cast<While>(node).condition);
      return add_all(out, cast<While>(node).body);
    case NodeKind::With:
      for (const WithItem& item : cast<With>(node).items) {
        add(out, item.context);
        add(out, item.target);
      }
      return add_all(out, cast<With>(node).body);
    case NodeKind::On:
      add(out, cast<On>(node).place);
      return add_all(out, cast<On>(node).body);
    case NodeKind::Def:
    case NodeKind::Module:
      return add_definition_children(node, out);
    case NodeKind::Const:
      add(out, cast<Const>(node).annotation);
      return add(out, cast<Const>(node).value);
    case NodeKind::Param:
      add(out, cast<Param>(node).annotation);
      return add(out, cast<Param>(node).initialiser);
    default:
      return;  // leaves
  }
}

}  // namespace

void append_children(const Node& node, Nodes& children) {
  if (is_expression(node.kind)) {
    add_expression_children(node, children);
  } else {
    add_statement_children(node, children);
  }
}

void walk(const Node& root, const std::function<void(const Node&)>& visit) {
  Nodes stack = {&root};
  Nodes children;
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    visit(*node);
    children.clear();
    append_children(*node, children);
    std::reverse(children.begin(), children.end());
    stack.insert(stack.end(), children.begin(), children.end());
  }
}

const Node* return_in(StmtList body) {
  Nodes stack(body.rbegin(), body.rend());
  Nodes children;
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (node->kind == NodeKind::Return) return node;
    if (node->kind == NodeKind::Def || node->kind == NodeKind::Module) continue;
    children.clear();
    append_children(*node, children);
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  return nullptr;
}

std::optional<int64_t> written_number(const Expr* expr) {
  const auto* minus = as<Unary>(expr);
  bool is_negative = minus && minus->op == UnaryOp::Minus;
  const auto* number = as<Integer>(is_negative ? minus->operand : expr);
  if (!number) return std::nullopt;
  return is_negative ? -int64_t(number->value) : int64_t(number->value);
}

}  // namespace tessera::ast
