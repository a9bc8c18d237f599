// Functions, modules, imports and their parts.

#include "frontend/syntax/antlr/ast_builder.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using namespace ast;

std::span<const Identifier> AstBuilder::path(Grammar::DottedNameContext* context) {
  if (!is_sound(context)) return {};
  std::vector<Identifier> parts;
  for (antlr4::tree::TerminalNode* part : context->NAME()) parts.push_back(identifier(part));
  return list(parts);
}

std::span<const Identifier> AstBuilder::names(Grammar::NameListContext* context) {
  if (!is_sound(context)) return {};
  std::vector<Identifier> found;
  for (antlr4::tree::TerminalNode* name : context->NAME()) found.push_back(identifier(name));
  return list(found);
}

std::span<const Decorator> AstBuilder::decorators(Grammar::DecoratorsContext* context) {
  if (context == nullptr) return {};
  std::vector<Decorator> found;
  for (Grammar::DecoratorContext* each : context->decorator()) {
    if (!is_sound(each)) continue;
    Decorator decorator{path(each->dottedName()), each->LPAREN() != nullptr, {}, loc(each)};
    decorator.arguments = arguments(each->arguments());
    found.push_back(decorator);
  }
  return list(found);
}

const Expr* AstBuilder::annotation(Grammar::AnnotationContext* context) {
  if (!is_sound(context)) return error_expr(context == nullptr ? Loc{} : loc(context));
  const Expr* type = expression(context->expression());
  if (context->REGION() == nullptr) return type;
  PrivilegedType* node = make<PrivilegedType>(loc(context));
  node->privileges = subscripts(context->subscripts());
  node->type = type;
  return node;
}

template <typename Context>
std::span<const Parameter> AstBuilder::parameter_list(const std::vector<Context*>& contexts) {
  std::vector<Parameter> found;
  const antlr4::Token* marker = nullptr;
  bool followed = true;
  for (Context* each : contexts) {
    if (!is_sound(each)) continue;
    if (each->STAR() != nullptr) {
      if (marker != nullptr) {
        diagnostics_.report(diag::bad_keyword_marker, loc(each->start), "stands there twice");
      }
      marker = each->start;
      followed = false;
      continue;
    }
    followed = true;
    Parameter parameter{identifier(each->NAME()), nullptr, nullptr, marker != nullptr, loc(each)};
    if constexpr (requires { each->annotation(); }) {
      if (each->annotation() != nullptr) parameter.annotation = annotation(each->annotation());
    }
    if (each->expression() != nullptr) parameter.default_value = expression(each->expression());
    found.push_back(parameter);
  }
  // A name right behind the marker is no parameter, which is reported.
  bool is_starred = !followed && buffer_.tokens[view(marker).buffer_index() + 1].kind == TokenKind::Name;
  if (!followed && !is_starred) {
    diagnostics_.report(diag::bad_keyword_marker, loc(marker), "has no parameter after it");
  }
  check_parameters(found);
  return list(found);
}

/// Positional parameters without a default come before those with one.
void AstBuilder::check_parameters(const std::vector<Parameter>& parameters) {
  bool has_default = false;
  for (const Parameter& parameter : parameters) {
    if (parameter.keyword_only) return;
    if (has_default && parameter.default_value == nullptr) {
      diagnostics_.report(diag::missing_default, parameter.loc, parameter.name.text);
      return;
    }
    has_default = parameter.default_value != nullptr;
  }
}

std::span<const Parameter> AstBuilder::parameters(Grammar::ParametersContext* context) {
  // After an error inside the list, what was read before it still stands.
  if (context == nullptr) return {};
  return parameter_list(context->parameter());
}

std::span<const Parameter> AstBuilder::parameters(Grammar::LambdaParametersContext* context) {
  if (!is_sound(context)) return {};
  return parameter_list(context->lambdaParameter());
}

ExprList AstBuilder::where(Grammar::WhereClauseContext* context) {
  if (!is_sound(context)) return {};
  return expressions(context->expression());
}

void AstBuilder::result(Grammar::ResultContext* context, Def& def) {
  if (context == nullptr) return;
  if (!is_sound(context)) {
    def.return_type = error_expr(loc(context));
    return;
  }
  if (context->annotation() != nullptr) def.return_type = annotation(context->annotation());
  if (context->effects() == nullptr) return;
  def.has_effects = true;
  def.effects = expressions(context->effects()->expression());
}

const Stmt* AstBuilder::def_statement(Grammar::DecoratorsContext* decorators_context,
                                      Grammar::DefStatementContext* context) {
  const antlr4::ParserRuleContext* first = context;
  if (decorators_context != nullptr) first = decorators_context;
  Def* node = make<Def>(loc(first->start, context->stop));
  node->decorators = decorators(decorators_context);
  node->name = identifier(context->NAME());
  node->parameters = parameters(context->parameters());
  result(context->result(), *node);
  node->where = where(context->whereClause());
  node->body = block(context->block());
  return node;
}

const Stmt* AstBuilder::module_statement(Grammar::DecoratorsContext* decorators_context,
                                         Grammar::ModuleStatementContext* context) {
  const antlr4::ParserRuleContext* first = context;
  if (decorators_context != nullptr) first = decorators_context;
  Module* node = make<Module>(loc(first->start, context->stop));
  node->decorators = decorators(decorators_context);
  node->name = identifier(context->NAME());
  node->parameters = parameters(context->parameters());
  node->where = where(context->whereClause());
  node->body = block(context->block());
  return node;
}

const Stmt* AstBuilder::const_statement(Grammar::ConstStatementContext* context) {
  Const* node = make<Const>(loc(context));
  node->name = identifier(context->NAME());
  if (context->annotation() != nullptr) node->annotation = annotation(context->annotation());
  node->value = expression_list(context->expressionList());
  return node;
}

const Stmt* AstBuilder::param_statement(Grammar::ParamStatementContext* context) {
  Param* node = make<Param>(loc(context));
  node->names = names(context->nameList());
  if (context->annotation() != nullptr) node->annotation = annotation(context->annotation());
  if (context->expression() != nullptr) node->initialiser = expression(context->expression());
  return node;
}

const Stmt* AstBuilder::import_statement(Grammar::ImportStatementContext* context) {
  std::vector<ImportItem> items;
  for (Grammar::ImportItemContext* item : context->importItem()) {
    items.push_back({path(item->dottedName()), identifier(item->NAME())});
  }
  Import* node = make<Import>(loc(context));
  node->items = list(items);
  return node;
}

const Stmt* AstBuilder::from_import_statement(Grammar::FromImportStatementContext* context) {
  FromImport* node = make<FromImport>(loc(context));
  node->path = path(context->dottedName());
  std::vector<ImportedName> names;
  for (Grammar::ImportedNameContext* item : context->importedNames()->importedName()) {
    names.push_back({identifier(item->NAME(0)), identifier(item->NAME(1))});
  }
  node->names = list(names);
  return node;
}

}  // namespace tessera
