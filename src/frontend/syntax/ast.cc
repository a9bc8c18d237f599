#include "frontend/syntax/ast.h"

namespace tessera::ast {

std::string_view kind_name(NodeKind kind) {
  switch (kind) {
    case NodeKind::ErrorExpr: return "error";
    case NodeKind::Name: return "name";
    case NodeKind::Integer: return "integer";
    case NodeKind::Float: return "float";
    case NodeKind::String: return "string";
    case NodeKind::Bool: return "bool";
    case NodeKind::None: return "none";
    case NodeKind::Ellipsis: return "ellipsis";
    case NodeKind::Tuple: return "tuple";
    case NodeKind::List: return "list";
    case NodeKind::Set: return "set";
    case NodeKind::Dict: return "dict";
    case NodeKind::Unary: return "unary";
    case NodeKind::Binary: return "binary";
    case NodeKind::Logical: return "logical";
    case NodeKind::Compare: return "compare";
    case NodeKind::Conditional: return "conditional";
    case NodeKind::Call: return "call";
    case NodeKind::Attribute: return "attribute";
    case NodeKind::Subscript: return "subscript";
    case NodeKind::Slice: return "slice";
    case NodeKind::Lambda: return "lambda";
    case NodeKind::Comprehension: return "comprehension";
    case NodeKind::PrivilegedType: return "privileged";
    case NodeKind::ErrorStmt: return "error-stmt";
    case NodeKind::ExprStmt: return "expr";
    case NodeKind::Assign: return "assign";
    case NodeKind::AugAssign: return "augment";
    case NodeKind::Return: return "return";
    case NodeKind::If: return "if";
    case NodeKind::For: return "for";
    case NodeKind::While: return "while";
    case NodeKind::With: return "with";
    case NodeKind::On: return "on";
    case NodeKind::Pass: return "pass";
    case NodeKind::Def: return "def";
    case NodeKind::Module: return "module";
    case NodeKind::Const: return "const";
    case NodeKind::Param: return "param";
    case NodeKind::Dim: return "dim";
    case NodeKind::Import: return "import";
    case NodeKind::FromImport: return "from-import";
  }
  TSR_UNREACHABLE("bad node kind");
}

bool Def::is_declaration() const {
  if (body.size() != 1) return false;
  const ExprStmt* only = as<ExprStmt>(body[0]);
  return only != nullptr && only->value->kind == NodeKind::Ellipsis;
}

std::vector<const Stmt*> SourceUnit::imports() const {
  std::vector<const Stmt*> found;
  for (const Declaration& declaration : declarations) {
    NodeKind kind = declaration.stmt->kind;
    if (kind == NodeKind::Import || kind == NodeKind::FromImport) found.push_back(declaration.stmt);
  }
  return found;
}

std::vector<const Binary*> left_spine(const Expr& root) {
  std::vector<const Binary*> spine;
  for (const Binary* at = as<Binary>(&root); at != nullptr; at = as<Binary>(at->left)) {
    spine.push_back(at);
  }
  return spine;
}

std::string_view spelling(UnaryOp op) {
  switch (op) {
    case UnaryOp::Plus: return "+";
    case UnaryOp::Minus: return "-";
    case UnaryOp::Invert: return "~";
    case UnaryOp::Not: return "not";
  }
  TSR_UNREACHABLE("bad unary operator");
}

std::string_view spelling(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return "+";
    case BinaryOp::Sub: return "-";
    case BinaryOp::Mul: return "*";
    case BinaryOp::Div: return "/";
    case BinaryOp::FloorDiv: return "//";
    case BinaryOp::Mod: return "%";
    case BinaryOp::MatMul: return "@";
    case BinaryOp::Pow: return "**";
    case BinaryOp::ShiftLeft: return "<<";
    case BinaryOp::ShiftRight: return ">>";
    case BinaryOp::BitAnd: return "&";
    case BinaryOp::BitXor: return "^";
    case BinaryOp::BitOr: return "|";
  }
  TSR_UNREACHABLE("bad binary operator");
}

std::string_view spelling(LogicalOp op) {
  return op == LogicalOp::And ? "and" : "or";
}

std::string_view spelling(CompareOp op) {
  switch (op) {
    case CompareOp::Equal: return "==";
    case CompareOp::NotEqual: return "!=";
    case CompareOp::Less: return "<";
    case CompareOp::LessEqual: return "<=";
    case CompareOp::Greater: return ">";
    case CompareOp::GreaterEqual: return ">=";
    case CompareOp::In: return "in";
    case CompareOp::NotIn: return "not-in";
    case CompareOp::Is: return "is";
    case CompareOp::IsNot: return "is-not";
  }
  TSR_UNREACHABLE("bad comparison");
}

std::string dotted(std::span<const Identifier> path) {
  std::string text;
  for (const Identifier& part : path) {
    if (!text.empty()) text += '.';
    text += part.text;
  }
  return text;
}

}  // namespace tessera::ast
