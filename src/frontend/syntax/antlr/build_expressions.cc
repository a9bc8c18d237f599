// Expressions of the parse tree.

#include "frontend/syntax/antlr/ast_builder.h"
#include "frontend/syntax/literal.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using namespace ast;

namespace {

/// The name, in messages, of an expression that is in the wrong place.
std::string_view describe(NodeKind kind) {
  switch (kind) {
    case NodeKind::Call: return "a call";
    case NodeKind::Integer:
    case NodeKind::Float: return "a number";
    case NodeKind::String: return "a string";
    case NodeKind::Bool:
    case NodeKind::None:
    case NodeKind::Ellipsis: return "a constant";
    case NodeKind::Attribute: return "an attribute";
    case NodeKind::Subscript: return "a subscript";
    case NodeKind::Dict:
    case NodeKind::Set: return "a literal";
    case NodeKind::Compare: return "a comparison";
    case NodeKind::Lambda: return "a lambda";
    default: return "an expression";
  }
}

}  // namespace

Loc AstBuilder::loc(const antlr4::ParserRuleContext* context) const {
  const antlr4::Token* first = context->start;
  const antlr4::Token* last = context->stop;
  if (last == nullptr || view(last).buffer_index() < view(first).buffer_index()) last = first;
  return buffer_.span(token(first), token(last));
}

const Expr* AstBuilder::error_expr(Loc loc) {
  return make<ErrorExpr>(loc);
}

const Stmt* AstBuilder::error_stmt(const antlr4::ParserRuleContext* context) {
  return make<ErrorStmt>(loc(context));
}

Identifier AstBuilder::identifier(antlr4::tree::TerminalNode* node) {
  if (node == nullptr || view(node->getSymbol()).buffer_index() == SIZE_MAX) return {};
  return {text(node->getSymbol()), loc(node->getSymbol())};
}

ExprList AstBuilder::expressions(const std::vector<Grammar::ExpressionContext*>& contexts) {
  std::vector<const Expr*> found;
  found.reserve(contexts.size());
  for (Grammar::ExpressionContext* context : contexts) found.push_back(expression(context));
  return list(found);
}

const Expr* AstBuilder::expression(Grammar::ExpressionContext* context) {
  if (!is_sound(context)) return error_expr(context == nullptr ? Loc{} : loc(context));
  if (context->LAMBDA() != nullptr) {
    Lambda* node = make<Lambda>(loc(context));
    node->parameters = parameters(context->lambdaParameters());
    node->body = expression(context->expression());
    return node;
  }
  if (context->children.size() == 1) return operation(context->operation(0));
  Conditional* node = make<Conditional>(loc(context));
  node->then_value = operation(context->operation(0));
  node->condition = operation(context->operation(1));
  node->else_value = expression(context->expression());
  return node;
}

const Expr* AstBuilder::expression_list(Grammar::ExpressionListContext* context) {
  if (!is_sound(context)) return error_expr(context == nullptr ? Loc{} : loc(context));
  if (context->children.size() == 1) {
    return expression(static_cast<Grammar::ExpressionContext*>(context->children[0]));
  }
  Tuple* node = make<Tuple>(loc(context));
  node->elements = expressions(context->expression());
  return node;
}

const Expr* AstBuilder::targets(Grammar::TargetsContext* context) {
  if (!is_sound(context)) return error_expr(context == nullptr ? Loc{} : loc(context));
  std::vector<const Expr*> found;
  for (Grammar::PostfixContext* target : context->postfix()) found.push_back(postfix(target));
  const Expr* target = found[0];
  if (context->children.size() > 1) {
    Tuple* tuple = make<Tuple>(loc(context));
    tuple->elements = list(found);
    target = tuple;
  }
  check_target(*target);
  return target;
}

void AstBuilder::check_target(const Expr& target) {
  ExprList parts;
  switch (target.kind) {
    case NodeKind::ErrorExpr:
    case NodeKind::Name:
    case NodeKind::Attribute:
    case NodeKind::Subscript: return;
    case NodeKind::Tuple: parts = cast<Tuple>(target).elements; break;
    case NodeKind::List: parts = cast<List>(target).elements; break;
    default: diagnostics_.report(diag::bad_target, target.loc, describe(target.kind)); return;
  }
  for (const Expr* part : parts) check_target(*part);
}

const Expr* AstBuilder::postfix(Grammar::PostfixContext* context) {
  if (!is_sound(context)) return error_expr(context == nullptr ? Loc{} : loc(context));
  const Expr* node = atom(static_cast<Grammar::AtomContext*>(context->children[0]));
  for (size_t i = 1; i < context->children.size(); ++i) {
    node =
        trailer(node, context->start, static_cast<Grammar::TrailerContext*>(context->children[i]));
  }
  return node;
}

const Expr* AstBuilder::trailer(const Expr* object, const antlr4::Token* start,
                                Grammar::TrailerContext* context) {
  Loc place = loc(start, context->stop);
  if (context->DOT() != nullptr) {
    Attribute* node = make<Attribute>(place);
    node->object = object;
    node->name = identifier(context->NAME());
    return node;
  }
  if (context->LPAREN() != nullptr) {
    Call* node = make<Call>(place);
    node->callee = object;
    node->arguments = arguments(context->arguments());
    return node;
  }
  Subscript* node = make<Subscript>(place);
  node->object = object;
  node->indices = subscripts(context->subscripts());
  return node;
}

std::span<const Argument> AstBuilder::arguments(Grammar::ArgumentsContext* context) {
  if (!is_sound(context)) return {};
  std::vector<Argument> found;
  bool named = false;
  for (Grammar::ArgumentContext* each : context->argument()) {
    found.push_back(argument(each));
    if (!found.back().name.text.empty()) {
      named = true;
    } else if (named && found.back().value->kind != NodeKind::ErrorExpr) {
      diagnostics_.report(diag::positional_after_keyword, found.back().loc);
      named = false;
    }
  }
  return list(found);
}

Argument AstBuilder::argument(Grammar::ArgumentContext* context) {
  Argument made{{}, nullptr, loc(context)};
  if (!is_sound(context)) {
    made.value = error_expr(made.loc);
    return made;
  }
  const Expr* first = expression(context->expression(0));
  if (context->ASSIGN() == nullptr) {
    std::vector<Grammar::ComprehensionClauseContext*> clauses = context->comprehensionClause();
    made.value = clauses.empty() ? first
                                 : comprehension(ComprehensionKind::Generator, nullptr, first,
                                                 clauses, made.loc);
    return made;
  }
  made.value = expression(context->expression(1));
  if (const Name* name = as<Name>(first)) {
    made.name = {name->text, name->loc};
  } else if (first->kind != NodeKind::ErrorExpr) {
    const Token& sign = buffer_.tokens[view(context->ASSIGN()->getSymbol()).buffer_index()];
    diagnostics_.report(diag::bad_keyword_argument, first->loc, describe(first->kind))
        .fix("write '==' to compare", buffer_.loc(sign), "==");
    made.value = error_expr(made.loc);
  }
  return made;
}

ExprList AstBuilder::subscripts(Grammar::SubscriptsContext* context) {
  if (!is_sound(context)) return {};
  std::vector<const Expr*> found;
  for (Grammar::SubscriptContext* each : context->subscript()) found.push_back(subscript(each));
  return list(found);
}

const Expr* AstBuilder::subscript(Grammar::SubscriptContext* context) {
  const Expr* first =
      context->expression() == nullptr ? nullptr : expression(context->expression());
  Grammar::SliceContext* slice = context->slice();
  if (slice == nullptr) return first;
  Slice* node = make<Slice>(loc(context));
  node->lower = first;
  size_t colons = 0;
  for (antlr4::tree::ParseTree* child : slice->children) {
    auto* part = dynamic_cast<Grammar::ExpressionContext*>(child);
    if (part == nullptr) {
      ++colons;
    } else {
      (colons == 1 ? node->upper : node->step) = expression(part);
    }
  }
  return node;
}

const Expr* AstBuilder::number(const antlr4::Token* at, bool is_integer) {
  std::string_view written = text(at);
  if (is_integer) {
    Integer* node = make<Integer>(loc(at));
    node->text = written;
    std::optional<uint64_t> value = parse_integer(written);
    if (!value) diagnostics_.report(diag::integer_too_large, node->loc, written, 64);
    node->value = value.value_or(0);
    return node;
  }
  Float* node = make<Float>(loc(at));
  node->text = written;
  std::optional<double> value = parse_float(written);
  if (!value) diagnostics_.report(diag::float_too_large, node->loc, written);
  node->value = value.value_or(0);
  return node;
}

const Expr* AstBuilder::strings(Grammar::AtomContext* context) {
  std::string value;
  for (antlr4::tree::TerminalNode* part : context->STRING()) {
    const antlr4::Token* at = part->getSymbol();
    decode_string(buffer_.text(token(at)), loc(at), value, &diagnostics_);
  }
  String* node = make<String>(loc(context));
  node->value = arena_.copy(value);
  return node;
}

const Expr* AstBuilder::atom(Grammar::AtomContext* context) {
  if (!is_sound(context)) return error_expr(context == nullptr ? Loc{} : loc(context));
  TokenKind kind = token(context->start).kind;
  switch (kind) {
    case TokenKind::Name: {
      Name* node = make<Name>(loc(context));
      node->text = text(context->start);
      return node;
    }
    case TokenKind::Integer: return number(context->start, true);
    case TokenKind::Float: return number(context->start, false);
    case TokenKind::String: return strings(context);
    case TokenKind::True:
    case TokenKind::False: {
      Bool* node = make<Bool>(loc(context));
      node->value = kind == TokenKind::True;
      return node;
    }
    case TokenKind::None: return make<None>(loc(context));
    case TokenKind::Ellipsis: return make<Ellipsis>(loc(context));
    case TokenKind::Lparen:
    case TokenKind::Lbracket: return bracketed(context, kind);
    case TokenKind::Lbrace: return braced(context);
    default: TSR_UNREACHABLE("an atom begins with another token");
  }
}

/// `(…)` and `[…]`.
const Expr* AstBuilder::bracketed(Grammar::AtomContext* context, TokenKind opening) {
  Loc place = loc(context);
  bool is_list = opening == TokenKind::Lbracket;
  Grammar::ElementsContext* elements = context->elements();
  ExprList parts;
  if (elements != nullptr) {
    if (!is_sound(elements)) return error_expr(place);
    std::vector<Grammar::ComprehensionClauseContext*> clauses = elements->comprehensionClause();
    if (!clauses.empty()) {
      ComprehensionKind form = is_list ? ComprehensionKind::List : ComprehensionKind::Generator;
      return comprehension(form, nullptr, expression(elements->expression(0)), clauses, place);
    }
    // Parentheses without a comma only group.
    if (!is_list && elements->children.size() == 1) return expression(elements->expression(0));
    parts = expressions(elements->expression());
  }
  if (is_list) {
    List* node = make<List>(place);
    node->elements = parts;
    return node;
  }
  Tuple* node = make<Tuple>(place);
  node->elements = parts;
  return node;
}

/// `{…}`: a dictionary when its first entry has a colon or it has none, else a set.
const Expr* AstBuilder::braced(Grammar::AtomContext* context) {
  Loc place = loc(context);
  std::vector<DictEntry> pairs;
  std::vector<const Expr*> elements;
  Grammar::EntriesContext* entries = context->entries();
  if (entries != nullptr && !is_sound(entries)) return error_expr(place);
  std::vector<Grammar::EntryContext*> each =
      entries == nullptr ? std::vector<Grammar::EntryContext*>() : entries->entry();
  bool is_dict = each.empty() || each[0]->COLON() != nullptr;
  for (Grammar::EntryContext* entry : each) {
    const Expr* first = expression(entry->expression(0));
    bool has_value = entry->COLON() != nullptr;
    if (has_value != is_dict) {
      diagnostics_.report(diag::mixed_entries, loc(entry));
      return error_expr(place);
    }
    if (has_value) pairs.push_back({first, expression(entry->expression(1))});
    if (!has_value) elements.push_back(first);
  }
  if (entries != nullptr && !entries->comprehensionClause().empty()) {
    return comprehension(is_dict ? ComprehensionKind::Dict : ComprehensionKind::Set,
                         is_dict ? pairs[0].key : nullptr, is_dict ? pairs[0].value : elements[0],
                         entries->comprehensionClause(), place);
  }
  if (is_dict) {
    Dict* node = make<Dict>(place);
    node->entries = list(pairs);
    return node;
  }
  Set* node = make<Set>(place);
  node->elements = list(elements);
  return node;
}

const Expr* AstBuilder::comprehension(
    ComprehensionKind form, const Expr* key, const Expr* element,
    const std::vector<Grammar::ComprehensionClauseContext*>& clauses, Loc place) {
  Comprehension* node = make<Comprehension>(place);
  node->form = form;
  node->key = key;
  node->element = element;
  std::vector<ComprehensionClause> made;
  for (Grammar::ComprehensionClauseContext* clause : clauses) {
    std::vector<Grammar::OperationContext*> parts = clause->operation();
    std::vector<const Expr*> conditions;
    for (size_t i = 1; i < parts.size(); ++i) conditions.push_back(operation(parts[i]));
    made.push_back({targets(clause->targets()), operation(parts[0]), list(conditions)});
  }
  node->clauses = list(made);
  return node;
}

}  // namespace tessera
