// Operator precedence: from the flat list of operands and operators to trees, by precedence
// climbing (Richards and Whitby-Strevens, "BCPL: the language and its compiler", 1979).
// Left-associative chains are a loop; the recursion is as deep as prefix operators and `**` nest,
// which is limited.

#include "frontend/syntax/antlr/ast_builder.h"
#include "frontend/syntax/precedence.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using namespace ast;

namespace {

BinaryOp binary_op(TokenKind op) {
  switch (op) {
    case TokenKind::Plus: return BinaryOp::Add;
    case TokenKind::Minus: return BinaryOp::Sub;
    case TokenKind::Star: return BinaryOp::Mul;
    case TokenKind::Slash: return BinaryOp::Div;
    case TokenKind::Floor: return BinaryOp::FloorDiv;
    case TokenKind::Percent: return BinaryOp::Mod;
    case TokenKind::At: return BinaryOp::MatMul;
    case TokenKind::Power: return BinaryOp::Pow;
    case TokenKind::LeftShift: return BinaryOp::ShiftLeft;
    case TokenKind::RightShift: return BinaryOp::ShiftRight;
    case TokenKind::Amp: return BinaryOp::BitAnd;
    case TokenKind::Caret: return BinaryOp::BitXor;
    case TokenKind::Bar: return BinaryOp::BitOr;
    default: TSR_UNREACHABLE("no arithmetic operator");
  }
}

CompareOp compare_op(TokenKind op, bool negated) {
  switch (op) {
    case TokenKind::Equal: return CompareOp::Equal;
    case TokenKind::NotEqual: return CompareOp::NotEqual;
    case TokenKind::Less: return CompareOp::Less;
    case TokenKind::LessEqual: return CompareOp::LessEqual;
    case TokenKind::Greater: return CompareOp::Greater;
    case TokenKind::GreaterEqual: return CompareOp::GreaterEqual;
    case TokenKind::In: return negated ? CompareOp::NotIn : CompareOp::In;
    case TokenKind::Is: return negated ? CompareOp::IsNot : CompareOp::Is;
    default: TSR_UNREACHABLE("no comparison");
  }
}

UnaryOp unary_op(TokenKind op) {
  switch (op) {
    case TokenKind::Plus: return UnaryOp::Plus;
    case TokenKind::Minus: return UnaryOp::Minus;
    case TokenKind::Tilde: return UnaryOp::Invert;
    case TokenKind::Not: return UnaryOp::Not;
    default: TSR_UNREACHABLE("no prefix operator");
  }
}

}  // namespace

/// Flattens an operation: prefix operators and operands, with the binary operators between them.
void AstBuilder::collect_items(Grammar::OperationContext* context, Operation& operation) {
  for (antlr4::tree::ParseTree* child : context->children) {
    if (auto* op = dynamic_cast<Grammar::BinaryOperatorContext*>(child)) {
      size_t first = view(op->start).buffer_index();
      size_t last = view(op->stop).buffer_index();
      TokenKind kind = buffer_.tokens[first].kind;
      bool negated = first != last;
      if (kind == TokenKind::Not) kind = TokenKind::In;
      operation.items.push_back({nullptr, first, last, kind, negated});
      continue;
    }
    auto* operand = static_cast<Grammar::OperandContext*>(child);
    for (antlr4::tree::ParseTree* part : operand->children) {
      if (auto* prefix = dynamic_cast<antlr4::tree::TerminalNode*>(part)) {
        size_t at = view(prefix->getSymbol()).buffer_index();
        operation.items.push_back({nullptr, at, at, buffer_.tokens[at].kind, false});
        continue;
      }
      auto* inner = static_cast<Grammar::PostfixContext*>(part);
      operation.items.push_back({postfix(inner), view(inner->start).buffer_index(),
                                 view(inner->stop).buffer_index(), TokenKind::EndOfFile, false});
    }
  }
}

const Expr* AstBuilder::operation(Grammar::OperationContext* context) {
  if (!is_sound(context)) return error_expr(context == nullptr ? Loc{} : loc(context));
  Operation flat;
  collect_items(context, flat);
  return fold(flat, BindsOr).expr;
}

/// A prefix operator with its operand, or a plain operand.
AstBuilder::Operand AstBuilder::fold_prefix(Operation& operation, int weakest) {
  Item item = operation.items[operation.at++];
  if (item.op == TokenKind::EndOfFile) return {item.operand, item.first, item.last};
  const Token& op = buffer_.tokens[item.first];
  bool is_not = item.op == TokenKind::Not;
  size_t left = operation.at - 2;  // the operator to the left, unless this starts the operation
  Operand operand = fold(operation, is_not ? BindsNot : BindsPrefix);
  if (is_not && weakest > BindsNot) {
    Loc place = buffer_.loc(op);
    diagnostics_.report(diag::not_needs_brackets, place, buffer_.describe(buffer_.tokens[operation.items[left].first]))
        .fix("put the 'not' and its operand in parentheses",
             {{place.before(), "("}, {buffer_.loc(buffer_.tokens[operand.last]).behind(), ")"}});
  }
  Unary* node = make<Unary>(buffer_.span(op, buffer_.tokens[operand.last]));
  node->op = unary_op(item.op);
  node->operand = operand.expr;
  return {node, item.first, operand.last};
}

AstBuilder::Operand AstBuilder::fold_logical(Operation& operation, Operand first, TokenKind op) {
  std::vector<const Expr*> operands = {first.expr};
  size_t last = first.last;
  while (operation.at < operation.items.size() && operation.items[operation.at].op == op) {
    ++operation.at;
    Operand next = fold(operation, binding(op) + 1);
    operands.push_back(next.expr);
    last = next.last;
  }
  Logical* node = make<Logical>(buffer_.span(buffer_.tokens[first.first], buffer_.tokens[last]));
  node->op = op == TokenKind::And ? LogicalOp::And : LogicalOp::Or;
  node->operands = list(operands);
  return {node, first.first, last};
}

AstBuilder::Operand AstBuilder::fold_comparison(Operation& operation, Operand first) {
  std::vector<const Expr*> operands = {first.expr};
  std::vector<CompareOp> ops;
  size_t last = first.last;
  while (operation.at < operation.items.size()) {
    const Item& item = operation.items[operation.at];
    if (binding(item.op) != BindsComparison) break;
    ++operation.at;
    ops.push_back(compare_op(item.op, item.negated));
    Operand next = fold(operation, BindsComparison + 1);
    operands.push_back(next.expr);
    last = next.last;
  }
  Compare* node = make<Compare>(buffer_.span(buffer_.tokens[first.first], buffer_.tokens[last]));
  node->operands = list(operands);
  node->ops = list(ops);
  return {node, first.first, last};
}

/// Folds as long as operators bind at least as tightly as `weakest`.
AstBuilder::Operand AstBuilder::fold(Operation& operation, int weakest) {
  Operand left = fold_prefix(operation, weakest);
  while (operation.at < operation.items.size()) {
    const Item item = operation.items[operation.at];
    int tightness = binding(item.op);
    if (tightness < weakest) break;
    if (tightness <= BindsAnd) {
      left = fold_logical(operation, left, item.op);
      continue;
    }
    if (tightness == BindsComparison) {
      left = fold_comparison(operation, left);
      continue;
    }
    ++operation.at;
    // `**` nests to the right, and its right operand may have a prefix.
    Operand right = fold(operation, tightness == BindsPower ? BindsPower : tightness + 1);
    Loc loc = buffer_.span(buffer_.tokens[left.first], buffer_.tokens[right.last]);
    Binary* node = make<Binary>(loc);
    node->op = binary_op(item.op);
    node->op_loc = buffer_.loc(buffer_.tokens[item.first]);
    node->left = left.expr;
    node->right = right.expr;
    left = {node, left.first, right.last};
  }
  return left;
}

}  // namespace tessera
