// Statements of the parse tree.

#include "frontend/syntax/antlr/ast_builder.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using namespace ast;

namespace {

BinaryOp augmented_op(TokenKind kind) {
  switch (kind) {
    case TokenKind::PlusAssign: return BinaryOp::Add;
    case TokenKind::MinusAssign: return BinaryOp::Sub;
    case TokenKind::StarAssign: return BinaryOp::Mul;
    case TokenKind::SlashAssign: return BinaryOp::Div;
    case TokenKind::FloorAssign: return BinaryOp::FloorDiv;
    case TokenKind::PercentAssign: return BinaryOp::Mod;
    case TokenKind::AtAssign: return BinaryOp::MatMul;
    case TokenKind::PowerAssign: return BinaryOp::Pow;
    case TokenKind::LeftAssign: return BinaryOp::ShiftLeft;
    case TokenKind::RightAssign: return BinaryOp::ShiftRight;
    case TokenKind::AmpAssign: return BinaryOp::BitAnd;
    case TokenKind::CaretAssign: return BinaryOp::BitXor;
    case TokenKind::BarAssign: return BinaryOp::BitOr;
    default: TSR_UNREACHABLE("no augmented assignment");
  }
}

}  // namespace

const Stmt* AstBuilder::declaration(Grammar::DeclarationContext* context) {
  std::vector<const Stmt*> found;
  if (context->statement() != nullptr) statement(context->statement(), found);
  if (found.size() == 1) return found[0];
  return error_stmt(context);
}

void AstBuilder::statement(Grammar::StatementContext* context, std::vector<const Stmt*>& out) {
  if (!is_sound(context) || context->brokenLine() != nullptr || context->children.empty()) {
    out.push_back(error_stmt(context));
    return;
  }
  antlr4::tree::ParseTree* last = context->children.back();
  if (auto* line = dynamic_cast<Grammar::SimpleLineContext*>(last)) return simple_line(line, out);
  if (auto* on = dynamic_cast<Grammar::OnStatementContext*>(last)) return on_statement(on, out);
  const Stmt* made = nullptr;
  if (auto* def = dynamic_cast<Grammar::DefStatementContext*>(last)) {
    made = def_statement(context->decorators(), def);
  } else if (auto* module = dynamic_cast<Grammar::ModuleStatementContext*>(last)) {
    made = module_statement(context->decorators(), module);
  } else if (auto* branch = dynamic_cast<Grammar::IfStatementContext*>(last)) {
    made = if_statement(branch);
  } else if (auto* each = dynamic_cast<Grammar::ForStatementContext*>(last)) {
    made = for_statement(each);
  } else if (auto* loop = dynamic_cast<Grammar::WhileStatementContext*>(last)) {
    made = while_statement(loop);
  } else if (auto* with = dynamic_cast<Grammar::WithStatementContext*>(last)) {
    made = with_statement(with);
  }
  out.push_back(made != nullptr ? made : error_stmt(context));
}

/// The names of a statement that is followed by tokens that do not belong to one.
const Stmt* AstBuilder::without_value(const Stmt* stmt) {
  const Expr* unknown = error_expr(stmt->loc);
  if (const auto* assign = as<Assign>(stmt)) {
    Assign* node = make<Assign>(assign->loc);
    node->targets = assign->targets;
    node->annotation = nullptr;
    node->value = unknown;
    return node;
  }
  if (const auto* param = as<Param>(stmt)) {
    Param* node = make<Param>(param->loc);
    node->names = param->names;
    node->annotation = unknown;
    node->initialiser = nullptr;
    return node;
  }
  return stmt;
}

void AstBuilder::simple_line(Grammar::SimpleLineContext* context, std::vector<const Stmt*>& out) {
  for (Grammar::SimpleStatementContext* each : context->simpleStatement()) {
    out.push_back(simple(each));
  }
  if (!out.empty() && !is_sound(context)) out.back() = without_value(out.back());
  if (out.empty()) out.push_back(error_stmt(context));
}

const Stmt* AstBuilder::simple(Grammar::SimpleStatementContext* context) {
  if (!is_sound(context) || context->children.empty()) return error_stmt(context);
  antlr4::tree::ParseTree* only = context->children[0];
  if (auto* value = dynamic_cast<Grammar::ExpressionStatementContext*>(only)) {
    if (value->augmentedAssign() != nullptr) return augmented(value);
    return assignment(value);
  }
  if (auto* back = dynamic_cast<Grammar::ReturnStatementContext*>(only)) {
    Return* node = make<Return>(loc(back));
    if (back->expressionList() != nullptr) node->value = expression_list(back->expressionList());
    return node;
  }
  if (auto* import = dynamic_cast<Grammar::ImportStatementContext*>(only)) {
    return import_statement(import);
  }
  if (auto* from = dynamic_cast<Grammar::FromImportStatementContext*>(only)) {
    return from_import_statement(from);
  }
  if (auto* constant = dynamic_cast<Grammar::ConstStatementContext*>(only)) {
    return const_statement(constant);
  }
  if (auto* param = dynamic_cast<Grammar::ParamStatementContext*>(only)) {
    return param_statement(param);
  }
  if (auto* dim = dynamic_cast<Grammar::DimStatementContext*>(only)) {
    Dim* node = make<Dim>(loc(dim));
    node->names = names(dim->nameList());
    return node;
  }
  return make<Pass>(loc(context));
}

/// An expression, `a = b = c`, or `a: T = b`.
const Stmt* AstBuilder::assignment(Grammar::ExpressionStatementContext* context) {
  std::vector<Grammar::ExpressionListContext*> parts = context->expressionList();
  if (context->annotation() != nullptr) {
    const Expr* target = expression_list(parts[0]);
    Assign* node = make<Assign>(loc(context));
    node->annotation = annotation(context->annotation());
    if (parts.size() > 1) node->value = expression_list(parts[1]);
    if (target->kind == NodeKind::Tuple || target->kind == NodeKind::List) {
      diagnostics_.report(diag::bad_target, target->loc, "a tuple with one annotation");
    } else {
      check_target(*target);
    }
    node->targets = list(std::vector<const Expr*>{target});
    return node;
  }
  if (parts.size() == 1) {
    ExprStmt* node = make<ExprStmt>(loc(context));
    node->value = expression_list(parts[0]);
    return node;
  }
  std::vector<const Expr*> targets;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    targets.push_back(expression_list(parts[i]));
    check_target(*targets.back());
  }
  Assign* node = make<Assign>(loc(context));
  node->targets = list(targets);
  node->value = expression_list(parts.back());
  return node;
}

const Stmt* AstBuilder::augmented(Grammar::ExpressionStatementContext* context) {
  AugAssign* node = make<AugAssign>(loc(context));
  const antlr4::Token* op = context->augmentedAssign()->start;
  node->op = augmented_op(token(op).kind);
  node->op_loc = loc(op);
  node->target = expression_list(context->expressionList(0));
  node->value = expression_list(context->expressionList(1));
  if (node->target->kind == NodeKind::Tuple || node->target->kind == NodeKind::List) {
    diagnostics_.report(diag::bad_target, node->target->loc, "several values at once");
  } else {
    check_target(*node->target);
  }
  return node;
}

/// The statements of a block; one ErrorStmt where there are none.
StmtList AstBuilder::block(Grammar::BlockContext* context) {
  std::vector<const Stmt*> found;
  if (is_sound(context)) {
    if (context->simpleLine() != nullptr) simple_line(context->simpleLine(), found);
    for (Grammar::StatementContext* each : context->statement()) statement(each, found);
  }
  if (found.empty() && context != nullptr) found.push_back(error_stmt(context));
  return list(found);
}

const Stmt* AstBuilder::if_statement(Grammar::IfStatementContext* context) {
  If* node = make<If>(loc(context));
  std::vector<Grammar::ExpressionContext*> conditions = context->expression();
  std::vector<Grammar::BlockContext*> blocks = context->block();
  std::vector<IfArm> arms;
  for (size_t i = 0; i < conditions.size() && i < blocks.size(); ++i) {
    arms.push_back({expression(conditions[i]), block(blocks[i]), loc(conditions[i])});
  }
  node->arms = list(arms);
  if (blocks.size() > conditions.size()) node->else_body = block(blocks.back());
  return node;
}

const Stmt* AstBuilder::for_statement(Grammar::ForStatementContext* context) {
  For* node = make<For>(loc(context));
  node->target = targets(context->targets());
  node->iterable = expression_list(context->expressionList());
  node->body = block(context->block());
  return node;
}

const Stmt* AstBuilder::while_statement(Grammar::WhileStatementContext* context) {
  While* node = make<While>(loc(context));
  node->condition = expression(context->expression());
  node->body = block(context->block());
  return node;
}

const Stmt* AstBuilder::with_statement(Grammar::WithStatementContext* context) {
  With* node = make<With>(loc(context));
  std::vector<WithItem> items;
  for (Grammar::WithItemContext* item : context->withItem()) {
    if (!is_sound(item)) {
      items.push_back({error_expr(loc(item)), nullptr});
      continue;
    }
    const Expr* target = item->postfix() == nullptr ? nullptr : postfix(item->postfix());
    if (target != nullptr) check_target(*target);
    items.push_back({expression(item->expression()), target});
  }
  node->items = list(items);
  node->body = block(context->block());
  return node;
}

/// `on place: …`, or `on place` with more statements on its line.
void AstBuilder::on_statement(Grammar::OnStatementContext* context, std::vector<const Stmt*>& out) {
  On* node = make<On>(loc(context));
  node->place = expression(context->expression());
  node->has_body = context->block() != nullptr;
  if (node->has_body) node->body = block(context->block());
  out.push_back(node);
  for (Grammar::SimpleStatementContext* each : context->simpleStatement()) {
    out.push_back(simple(each));
  }
}

}  // namespace tessera
