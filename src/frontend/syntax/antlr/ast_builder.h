#pragma once
// From ANTLR's parse tree of one declaration to our AST. Private to the parser: includes ANTLR.
//
// A rule that failed and was recovered from keeps its exception; the builder makes an ErrorExpr or
// ErrorStmt of it. What the grammar leaves open (operator precedence, assignment targets, keyword
// arguments, dictionary entries, parameter order) is decided and checked here.

#include <deque>
#include <span>
#include <vector>

#include "TesseraParser.h"
#include "frontend/syntax/antlr/token_view.h"
#include "frontend/syntax/ast.h"
#include "support/arena.h"
#include "support/diagnostic.h"

namespace tessera {

class AstBuilder {
 public:
  using Grammar = grammar::TesseraParser;

  AstBuilder(const TokenBuffer& buffer, Arena& arena, DiagnosticEngine& diagnostics)
      : buffer_(buffer), arena_(arena), diagnostics_(diagnostics) {}

  const ast::Stmt* declaration(Grammar::DeclarationContext* context);

 private:
  /// An operand with its tokens, or an operator of a flat operation.
  struct Item {
    const ast::Expr* operand = nullptr;
    size_t first = 0;
    size_t last = 0;
    TokenKind op = TokenKind::EndOfFile;  ///< EndOfFile: an operand
    bool negated = false;                 ///< `not in`, `is not`
  };
  /// An expression made from the items of an operation, and its tokens.
  struct Operand {
    const ast::Expr* expr;
    size_t first;
    size_t last;
  };
  struct Operation {
    std::vector<Item> items;
    size_t at = 0;
  };
  using Children = std::vector<antlr4::tree::ParseTree*>;

  // Statements.
  void statement(Grammar::StatementContext* context, std::vector<const ast::Stmt*>& out);
  const ast::Stmt* without_value(const ast::Stmt* stmt);
  void simple_line(Grammar::SimpleLineContext* context, std::vector<const ast::Stmt*>& out);
  const ast::Stmt* simple(Grammar::SimpleStatementContext* context);
  ast::StmtList block(Grammar::BlockContext* context);
  const ast::Stmt* assignment(Grammar::ExpressionStatementContext* context);
  const ast::Stmt* augmented(Grammar::ExpressionStatementContext* context);
  const ast::Stmt* if_statement(Grammar::IfStatementContext* context);
  const ast::Stmt* for_statement(Grammar::ForStatementContext* context);
  const ast::Stmt* while_statement(Grammar::WhileStatementContext* context);
  const ast::Stmt* with_statement(Grammar::WithStatementContext* context);
  void on_statement(Grammar::OnStatementContext* context, std::vector<const ast::Stmt*>& out);
  const ast::Stmt* def_statement(Grammar::DecoratorsContext* decorators,
                                 Grammar::DefStatementContext* context);
  const ast::Stmt* module_statement(Grammar::DecoratorsContext* decorators,
                                    Grammar::ModuleStatementContext* context);
  const ast::Stmt* const_statement(Grammar::ConstStatementContext* context);
  const ast::Stmt* param_statement(Grammar::ParamStatementContext* context);
  const ast::Stmt* import_statement(Grammar::ImportStatementContext* context);
  const ast::Stmt* from_import_statement(Grammar::FromImportStatementContext* context);

  // Parts of declarations.
  std::span<const ast::Decorator> decorators(Grammar::DecoratorsContext* context);
  void result(Grammar::ResultContext* context, ast::Def& def);
  ast::ExprList where(Grammar::WhereClauseContext* context);
  std::span<const ast::Parameter> parameters(Grammar::ParametersContext* context);
  std::span<const ast::Parameter> parameters(Grammar::LambdaParametersContext* context);
  template <typename Context>
  std::span<const ast::Parameter> parameter_list(const std::vector<Context*>& list);
  void check_parameters(const std::vector<ast::Parameter>& list);
  const ast::Expr* annotation(Grammar::AnnotationContext* context);
  std::span<const ast::Identifier> path(Grammar::DottedNameContext* context);
  std::span<const ast::Identifier> names(Grammar::NameListContext* context);

  // Expressions.
  const ast::Expr* expression(Grammar::ExpressionContext* context);
  const ast::Expr* expression_list(Grammar::ExpressionListContext* context);
  const ast::Expr* targets(Grammar::TargetsContext* context);
  const ast::Expr* operation(Grammar::OperationContext* context);
  const ast::Expr* postfix(Grammar::PostfixContext* context);
  const ast::Expr* trailer(const ast::Expr* object, const antlr4::Token* start,
                           Grammar::TrailerContext* context);
  const ast::Expr* atom(Grammar::AtomContext* context);
  const ast::Expr* strings(Grammar::AtomContext* context);
  const ast::Expr* number(const antlr4::Token* token, bool is_integer);
  const ast::Expr* bracketed(Grammar::AtomContext* context, TokenKind opening);
  const ast::Expr* braced(Grammar::AtomContext* context);
  std::span<const ast::Argument> arguments(Grammar::ArgumentsContext* context);
  ast::Argument argument(Grammar::ArgumentContext* context);
  ast::ExprList subscripts(Grammar::SubscriptsContext* context);
  const ast::Expr* subscript(Grammar::SubscriptContext* context);
  const ast::Expr* comprehension(ast::ComprehensionKind form, const ast::Expr* key,
                                 const ast::Expr* element,
                                 const std::vector<Grammar::ComprehensionClauseContext*>& clauses,
                                 Loc loc);
  ast::ExprList expressions(const std::vector<Grammar::ExpressionContext*>& list);

  // Operators (fold_operators.cc).
  void collect_items(Grammar::OperationContext* context, Operation& operation);
  Operand fold(Operation& operation, int weakest);
  Operand fold_prefix(Operation& operation, int weakest);
  Operand fold_logical(Operation& operation, Operand first, TokenKind op);
  Operand fold_comparison(Operation& operation, Operand first);

  // Targets.
  void check_target(const ast::Expr& target);

  // Places and pieces.
  const Token& token(const antlr4::Token* token) const {
    return buffer_.tokens[view(token).buffer_index()];
  }
  Loc loc(const antlr4::Token* at) const { return buffer_.loc(token(at)); }
  Loc loc(const antlr4::ParserRuleContext* context) const;
  Loc loc(const antlr4::Token* first, const antlr4::Token* last) const {
    return buffer_.span(token(first), token(last));
  }
  std::string_view text(const antlr4::Token* at) { return arena_.copy(buffer_.text(token(at))); }
  ast::Identifier identifier(antlr4::tree::TerminalNode* node);
  const ast::Stmt* error_stmt(const antlr4::ParserRuleContext* context);
  const ast::Expr* error_expr(Loc loc);
  template <typename T>
  std::span<const T> list(const std::vector<T>& values) {
    return arena_.copy(std::span<const T>(values));
  }
  /// A node in the arena with its head filled in.
  template <typename T>
  T* make(Loc loc) {
    T* node = arena_.make<T>();
    node->kind = T::node_kind;
    node->loc = loc;
    return node;
  }

  const TokenBuffer& buffer_;
  Arena& arena_;
  DiagnosticEngine& diagnostics_;
};

/// A rule that is there and did not fail.
template <typename Context>
bool is_sound(Context* context) {
  return context != nullptr && context->exception == nullptr;
}

}  // namespace tessera
