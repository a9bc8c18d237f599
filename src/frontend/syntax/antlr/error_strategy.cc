#include "frontend/syntax/antlr/error_strategy.h"

#include <algorithm>

#include "frontend/syntax/brackets.h"
#include "frontend/syntax/lines.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using grammar::TesseraParser;

namespace {

size_t rule_of(antlr4::tree::ParseTree* node) {
  auto* context = dynamic_cast<antlr4::ParserRuleContext*>(node);
  return context == nullptr ? SIZE_MAX : context->getRuleIndex();
}

bool is_compound(size_t rule) {
  return rule == TesseraParser::RuleDefStatement || rule == TesseraParser::RuleModuleStatement ||
         rule == TesseraParser::RuleIfStatement || rule == TesseraParser::RuleForStatement ||
         rule == TesseraParser::RuleWhileStatement || rule == TesseraParser::RuleWithStatement ||
         rule == TesseraParser::RuleOnStatement;
}

std::vector<TokenKind> expected_kinds(antlr4::Parser* parser) {
  std::vector<TokenKind> kinds;
  for (ssize_t type : parser->getExpectedTokens().toList()) {
    kinds.push_back(type <= 0 ? TokenKind::EndOfFile : TokenKind(type));
  }
  return kinds;
}

bool contains(const std::vector<TokenKind>& kinds, TokenKind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

/// "')'", "'in' or ','".
std::string join(const std::vector<TokenKind>& kinds) {
  std::string text;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (i != 0) text += i + 1 == kinds.size() ? " or " : ", ";
    text += display_name(kinds[i]);
  }
  return text;
}

bool is_foreign_sign(TokenKind before, TokenKind kind) {
  return (before == TokenKind::Amp && kind == TokenKind::Amp) || (before == TokenKind::Bar && kind == TokenKind::Bar) ||
         kind == TokenKind::Bang;
}

bool ends_line(TokenKind kind) {
  return kind == TokenKind::Newline || kind == TokenKind::Indent || kind == TokenKind::Dedent ||
         kind == TokenKind::Semicolon;
}

}  // namespace

void ErrorStrategy::reset(antlr4::Parser*) {
  had_error_ = false;
  line_reported_ = false;
  made_up_.clear();
  taken_for_names_.clear();
}

void ErrorStrategy::reportMatch(antlr4::Parser*) {
  if (now() == TokenKind::Newline) line_reported_ = false;
}

void ErrorStrategy::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& error) {
  if (lacks_block(parser)) return;
  report(parser, error.getOffendingToken());
}

DiagnosticEngine::Builder ErrorStrategy::report_missing_colon(antlr4::Parser* parser,
                                                              const SyntaxError& error) {
  size_t parent = rule_of(parser->getContext()->parent);
  bool tests =
      parent == TesseraParser::RuleIfStatement || parent == TesseraParser::RuleWhileStatement;
  tests = tests || has_before(error, TokenKind::Where);
  if (error.kind == TokenKind::Assign && tests) {
    return diagnostics_.report(diag::assignment_in_condition, error.loc)
        .fix("write '==' to compare", error.loc, "==");
  }
  if (error.kind == TokenKind::Bang && parent == TesseraParser::RuleDefStatement) {
    return diagnostics_.report(diag::expected_token, error.loc, "'->'", error.found)
        .fix("effects belong to the result: write '->' before them", error.loc.before(), "-> ");
  }
  auto message = diagnostics_.report(diag::expected_token, error.loc, "':'", error.found);
  if (error.kind == TokenKind::Arrow && has_before(error, TokenKind::Where)) {
    message.help("the result's type stands before 'where': def f(x: Tensor[S, f32]) -> Tensor[S, f32] where S >= 4:");
  } else if (error.kind == TokenKind::Newline) {
    message.fix("write ':' where a block begins", error.loc.before(), ":");
  }
  return message;
}

/// The place from a token to the end of another on its line.
Loc ErrorStrategy::between(const Token& first, Loc last) const {
  Loc place = buffer_.loc(first);
  if (place.line != last.line || place.file != last.file) return last;
  place.length = last.column + last.length - place.column;
  return place;
}

/// `from .layers`, `from ..layers`, `from . import layers`: the places of modules are none of the importing file.
DiagnosticEngine::Builder ErrorStrategy::report_relative(const SyntaxError& error) {
  auto message = diagnostics_.report(diag::expected_token, error.loc, "a name", error.found);
  if (ahead(2) == TokenKind::Name) return message.fix("a module of the same folder has its name alone", error.loc, "");
  if (ahead(2) != TokenKind::Import) {
    return message.help("a module of another folder has its name alone, and -I gives the folder: from layers import f");
  }
  const Token& from = *error.last;
  const Token& import = error.last[2];
  return message.fix("a module of the same folder has its name alone", between(from, buffer_.loc(import)), "import");
}

/// `i++`, whose signs are two operators here.
bool ErrorStrategy::is_increment(const SyntaxError& error) const {
  if (error.before != TokenKind::Plus || error.last == buffer_.tokens.data()) return false;
  const Token& sign = error.last[-1];
  return sign.kind == TokenKind::Plus && buffer_.loc(sign).behind() == buffer_.loc(*error.last).before();
}

/// The fix for a word or sign of other languages; false when there is none.
bool ErrorStrategy::help_foreign(DiagnosticEngine::Builder& message, const SyntaxError& error) {
  if (error.last == nullptr) return false;
  if (error.kind == TokenKind::Bang) {
    message.fix("write 'not'", error.loc, "not ");
    return true;
  }
  if (is_foreign_sign(error.before, error.kind)) {
    const char* word = error.kind == TokenKind::Amp ? "and" : "or";
    message.fix(fmt::format("write '{}'", word), between(*error.last, error.loc), word);
    return true;
  }
  std::string_view before = buffer_.text(*error.last);
  if (error.before != TokenKind::Name) return false;
  bool is_size = error.kind == TokenKind::Assign && error.last != buffer_.tokens.data() &&
                 error.last[-1].kind == TokenKind::Dim;
  if (is_size) {
    message.help(fmt::format("a size with a value is a constant: const {} = 8", before));
    return true;
  }
  if (std::string_view word = keyword_for(before); !word.empty()) {
    message.fix(fmt::format("write '{}'{}", word, word == "module" ? " for parameters with methods" : ""),
                buffer_.loc(*error.last), std::string(word));
    return true;
  }
  constexpr std::string_view types[] = {"float", "double", "half", "int", "unsigned", "bool", "auto"};
  bool is_declared = std::find(std::begin(types), std::end(types), before) != std::end(types);
  is_declared = is_declared && error.kind == TokenKind::Name && ahead(2) == TokenKind::Assign;
  if (before == "let" || before == "var" || is_declared) {
    Loc word = buffer_.loc(*error.last);
    if (word.line == error.loc.line) word.length = error.loc.column - word.column;
    message.fix("a name is declared by assigning to it", word, "");
    return true;
  }
  std::string_view help = help_for_statement(before);
  if (help.empty()) return false;
  message.help(std::string(help));
  return true;
}

DiagnosticEngine::Builder ErrorStrategy::report_unexpected(const SyntaxError& error) {
  std::string after = error.last != nullptr ? buffer_.describe(*error.last) : "nothing";
  // "unexpected string", "unexpected ')'"
  std::string_view found = error.found;
  for (std::string_view article : {"a ", "an "}) found.remove_prefix(found.starts_with(article) ? article.size() : 0);
  auto message = diagnostics_.report(diag::unexpected_token, error.loc, found, after);
  if (help_foreign(message, error)) return message;
  bool is_prefix = error.kind == TokenKind::String && error.before == TokenKind::Name &&
                   buffer_.loc(*error.last).behind() == error.loc.before();
  if (is_prefix) {
    message.help("a string has no prefix, and holds no expressions; in a kernel values stand beside it: "
                 "print(\"x\", x)");
    return message;
  }
  constexpr std::string_view policies[] = {"accum", "stochastic_round", "saturate", "loss_scale"};
  bool is_policy = error.kind == TokenKind::Name && error.last && error.before == TokenKind::Name &&
                   std::ranges::find(policies, buffer_.text(error.last[1])) != std::end(policies);
  if (is_policy) {
    message.fix("a policy begins with '@'", error.loc.before(), "@");
  } else if (error.kind == TokenKind::Def || error.kind == TokenKind::Module) {
    message.help("a definition begins on a line of its own");
  } else if (error.kind == TokenKind::Lbracket && error.before == TokenKind::Name &&
             error.last != buffer_.tokens.data() && error.last[-1].kind == TokenKind::Def) {
    message.help("a dtype or a size is declared by its use in the type of a parameter: x: Tensor[B, 8, T]");
  } else if (starts_operand(error.kind) && ends_operand(error.before)) {
    message.help("an operator or a ',' may be missing between them");
  }
  return message;
}

/// A keyword that is taken for a name; where it is used as such is no other error.
DiagnosticEngine::Builder ErrorStrategy::report_keyword(const SyntaxError& error) {
  taken_for_names_.insert(error.kind);
  return diagnostics_.report(diag::keyword_as_name, error.loc, error.found);
}

/// What stands elsewhere where an operand lacks here.
void ErrorStrategy::help_operand(DiagnosticEngine::Builder& message, const SyntaxError& error) const {
  if (error.kind == TokenKind::Newline && is_increment(error)) message.help("a number grows by 'i += 1'");
  bool opens_list = error.before == TokenKind::Comma || is_opening(error.before);
  bool is_starred = error.kind == TokenKind::Star || error.kind == TokenKind::Power;
  ssize_t open = 0;
  bool is_lambda = false;
  for (const Token* at = error.last; at != nullptr && !ends_line(at->kind); --at) {
    open += is_opening(at->kind) ? 1 : is_closing(at->kind) ? -1 : 0;
    is_lambda = is_lambda || (at->kind == TokenKind::Lambda && open == 0);
    if (at == buffer_.tokens.data()) break;
  }
  if (error.kind == TokenKind::Newline && error.before == TokenKind::Colon && is_lambda) {
    message.help("a lambda is one expression; several statements are a function: def g(v):");
  } else if (opens_list && is_starred && open <= 0) {
    message.help("each value has a name: a, b, c = values");
  } else if (opens_list && is_starred) {
    message.help("a call gives its arguments one by one; a list or a dict is not unpacked in it");
  }
}

/// The '<' of a type such as `Tensor<4, f32>` on the line of an error; null where there is none.
const Token* ErrorStrategy::angle_bracket(const SyntaxError& error) const {
  constexpr std::string_view types[] = {"Tensor", "Param", "Tile", "KTile", "KVCache"};
  for (const Token* at = error.last; at != nullptr && at != buffer_.tokens.data() && !ends_line(at->kind); --at) {
    if (at->kind != TokenKind::Less || at[-1].kind != TokenKind::Name) continue;
    if (std::ranges::find(types, buffer_.text(at[-1])) != std::end(types)) return at;
  }
  return nullptr;
}

/// Whether a token stands before an error on its line.
bool ErrorStrategy::has_before(const SyntaxError& error, TokenKind kind) const {
  for (const Token* at = error.last; at != nullptr && !ends_line(at->kind); --at) {
    if (at->kind == kind) return true;
    if (at == buffer_.tokens.data()) break;
  }
  return false;
}

/// Chooses the message by what the grammar would take instead.
DiagnosticEngine::Builder ErrorStrategy::report_syntax_error(antlr4::Parser* parser,
                                                        const SyntaxError& error) {
  Kinds expected = expected_kinds(parser);
  TokenKind kind = error.kind;
  TokenKind before = error.before;
  size_t rule = parser->getContext()->getRuleIndex();
  if (const Token* open = angle_bracket(error)) {
    std::string type(buffer_.text(open[-1]));
    return diagnostics_.report(diag::unexpected_token, buffer_.loc(*open), "'<'", fmt::format("'{}'", type))
        .help(fmt::format("the parts of a type stand in square brackets: {}[B, D, f32]", type));
  }
  if (kind == TokenKind::Assign && error.last && ahead(2) == TokenKind::Greater) {
    Loc sign = error.loc;
    sign.length = 2;
    bool is_joined = buffer_.loc(error.last[2]).before() == error.loc.behind();
    size_t parent = rule_of(parser->getContext()->parent);
    bool in_def = rule == TesseraParser::RuleDefStatement || parent == TesseraParser::RuleDefStatement;
    bool is_result = before == TokenKind::Rparen && in_def;
    std::string_view ours = is_result ? "->" : ">=";
    auto message = diagnostics_.report(diag::unexpected_token, error.loc, "'='", buffer_.describe(*error.last));
    if (is_joined) message.fix(fmt::format("write '{}'", ours), sign, std::string(ours));
    return message;
  }
  bool is_not = kind == TokenKind::Bang && !ends_operand(before) && starts_operand(ahead(2));
  if (is_not) return report_unexpected(error);
  bool ends_head = kind == TokenKind::Newline && contains(expected, TokenKind::Colon) &&
                   (rule == TesseraParser::RuleDefStatement || rule == TesseraParser::RuleModuleStatement);
  if (ends_head || (expected.size() == 1 && expected[0] == TokenKind::Colon)) {
    return report_missing_colon(parser, error);
  }
  bool in_head = rule == TesseraParser::RuleDefStatement || rule == TesseraParser::RuleModuleStatement ||
                 rule == TesseraParser::RuleParameters || rule == TesseraParser::RuleParameter;
  bool is_starred = kind == TokenKind::Name && before == TokenKind::Star;
  if (in_head && (is_starred || kind == TokenKind::Power)) {
    Loc star = is_starred ? buffer_.loc(*error.last) : error.loc;
    return diagnostics_.report(diag::bad_keyword_marker, star, "gathers no arguments")
        .help("each argument has a parameter of its own; one of several values is given a tuple or a list");
  }
  bool is_type = kind == TokenKind::Name && before == TokenKind::Name && ahead(2) == TokenKind::Lbracket;
  if (in_head && is_type) {
    return diagnostics_.report(diag::expected_token, error.loc, "':'", error.found)
        .fix("the type of a parameter stands behind ':'", buffer_.loc(*error.last).behind(), ":");
  }
  if (kind == TokenKind::Dot && before == TokenKind::From) return report_relative(error);
  if (kind == TokenKind::Star && before == TokenKind::Import) {
    return diagnostics_.report(diag::expected_token, error.loc, "a name", error.found)
        .help("names are imported one by one: from tessera.nn import gelu, softmax");
  }
  // `:=` is two tokens.
  bool adjoins = error.last && buffer_.loc(*error.last).behind() == error.loc.before();
  if (adjoins && before == TokenKind::Colon && kind == TokenKind::Assign) {
    return diagnostics_.report(diag::expected_expression, error.loc, error.found)
        .fix("write '='", between(*error.last, error.loc), "=");
  }
  if (in_head && is_keyword(kind) && (before == TokenKind::Lparen || before == TokenKind::Comma)) {
    return report_keyword(error);
  }
  if (kind == TokenKind::Assign && error.begins_line && is_keyword(before)) {
    return diagnostics_.report(diag::keyword_as_name, buffer_.loc(*error.last), display_name(before));
  }
  bool opens_list = before == TokenKind::Comma || is_opening(before);
  bool wants_operand = contains(expected, TokenKind::Integer) ||
                       (opens_list && !starts_operand(kind) && !is_keyword(kind));
  bool is_argument_name = wants_operand && is_keyword(kind) && ahead(2) == TokenKind::Assign;
  if (is_argument_name) return report_keyword(error);
  if (wants_operand && !is_foreign_sign(before, kind)) {
    auto message = diagnostics_.report(diag::expected_expression, error.loc, error.found);
    bool is_launch = before == TokenKind::LeftShift && kind == TokenKind::Less &&
                     buffer_.loc(*error.last).behind() == error.loc.before();
    if (is_launch) message.help("a kernel is called as a function; its programs follow from the axes that it declares");
    help_operand(message, error);
    return message;
  }
  if (contains(expected, TokenKind::Name) && is_keyword(kind)) return report_keyword(error);
  bool side_by_side = starts_operand(kind) && ends_operand(before);
  bool lacks_in = rule == TesseraParser::RuleForStatement && contains(expected, TokenKind::In) && side_by_side;
  if (lacks_in) {
    return diagnostics_.report(diag::expected_token, error.loc, "'in'", error.found)
        .fix("write 'in'", error.loc.before(), "in ");
  }
  bool names_them = !expected.empty() && expected.size() <= 3 &&
                    !contains(expected, TokenKind::EndOfFile) &&
                    !contains(expected, TokenKind::Newline);
  if (names_them && !side_by_side) {
    return diagnostics_.report(diag::expected_token, error.loc, join(expected), error.found);
  }
  return report_unexpected(error);
}

/// One message about `token`, which the grammar does not allow where it stands.
void ErrorStrategy::report(antlr4::Parser* parser, const antlr4::Token* token) {
  had_error_ = true;
  if (std::exchange(line_reported_, true) || line_has_error(token)) return;
  size_t at = view(token).buffer_index();
  const Token& offending = buffer_.tokens[at];
  SyntaxError error;
  error.kind = kind_of(token->getType());
  error.loc = buffer_.loc(offending);
  if (token->getTokenIndex() != 0) error.last = &buffer_.tokens[at - 1];
  if (error.last != nullptr) error.before = error.last->kind;
  error.begins_line = at < 2 || ends_line(buffer_.tokens[at - 2].kind);
  bool at_end = error.kind == TokenKind::EndOfFile;
  error.found = at_end ? "the end of the statement" : buffer_.describe(offending);
  bool invisible = at_end || error.kind == TokenKind::Newline ||
                   error.kind == TokenKind::Dedent || error.kind == TokenKind::Indent;
  // Behind decorators the line has ended, and what lacks its definition stands on it.
  const Token* seen = error.before == TokenKind::Newline && at >= 2 ? &buffer_.tokens[at - 2] : error.last;
  if (invisible && seen != nullptr) {
    error.loc = buffer_.loc(*seen);
    error.loc.column += error.loc.length;
    error.loc.length = 1;
  }
  auto message = report_syntax_error(parser, error);
  const Token& guilty = invisible && error.last != nullptr ? *error.last : offending;
  if (guilty.expansion != 0) {
    message.label(buffer_.expansion(guilty.expansion).definition, "the macro is defined here");
  }
}

/// The block of a head that was wrong did not follow; the head has been reported.
bool ErrorStrategy::lacks_block(antlr4::Parser* parser) {
  if (!had_error_ || parser->getContext()->getRuleIndex() != TesseraParser::RuleBlock) return false;
  return kind_of(tokens_.LA(-1)) == TokenKind::Newline;
}

/// An earlier phase has reported the line of `token`, or it uses a keyword that is reported as a name.
bool ErrorStrategy::line_has_error(const antlr4::Token* token) const {
  auto kind = [&](size_t index) { return kind_of(tokens_.get(index)->getType()); };
  size_t at = token->getTokenIndex();
  while (at > 0 && kind(at - 1) != TokenKind::Newline) --at;
  for (;; ++at) {
    if (kind(at) == TokenKind::Error || taken_for_names_.contains(kind(at))) return true;
    if (kind(at) == TokenKind::Newline || kind(at) == TokenKind::EndOfFile) return false;
  }
}

antlr4::Token* ErrorStrategy::made_up(TokenKind kind) {
  made_up_.push_back(std::make_unique<ViewToken>(size_t(kind), INVALID_INDEX, SIZE_MAX));
  return made_up_.back().get();
}

/// A token missing in the head of a def or module is made up, so that the rest is not lost.
antlr4::Token* ErrorStrategy::complete_head(antlr4::Parser* parser, TokenKind missing) {
  report(parser, tokens_.LT(1));
  if (missing == TokenKind::Rparen) {
    skip_to_closing();
    if (now() == missing) tokens_.consume();
  } else if (missing == TokenKind::Name && ahead(2) == TokenKind::Lparen) {
    tokens_.consume();
  } else {
    skip_to_colon();
  }
  return made_up(missing);
}

antlr4::Token* ErrorStrategy::recoverInline(antlr4::Parser* parser) {
  size_t rule = parser->getContext()->getRuleIndex();
  Kinds expected = expected_kinds(parser);
  TokenKind missing = expected.empty() ? TokenKind::EndOfFile : expected[0];
  if (rule == TesseraParser::RuleDeclaration) {
    report(parser, tokens_.LT(1));
    return made_up(TokenKind::EndOfFile);
  }
  if (rule == TesseraParser::RuleForStatement && contains(expected, TokenKind::In)) {
    report(parser, tokens_.LT(1));
    skip_to_colon();
    return made_up(TokenKind::In);
  }
  if (rule == TesseraParser::RuleBlock && missing == TokenKind::Colon) {
    report(parser, tokens_.LT(1));
    skip_to_colon();
    if (now() != TokenKind::Colon) return made_up(TokenKind::Colon);
    antlr4::Token* colon = tokens_.LT(1);
    tokens_.consume();
    return colon;
  }
  bool is_definition = now() == TokenKind::Def || now() == TokenKind::Module;
  if (rule == TesseraParser::RuleDecorators && is_definition) {
    report(parser, tokens_.LT(1));
    return made_up(TokenKind::Newline);
  }
  bool in_head =
      rule == TesseraParser::RuleDefStatement || rule == TesseraParser::RuleModuleStatement;
  if (in_head) return complete_head(parser, missing);
  throw antlr4::InputMismatchException(parser);
}

void ErrorStrategy::recover(antlr4::Parser* parser, std::exception_ptr error) {
  antlr4::ParserRuleContext* context = parser->getContext();
  bool in_head = is_compound(rule_of(context->parent));
  switch (context->getRuleIndex()) {
    case TesseraParser::RuleSimpleStatement:
      while (now() != TokenKind::Semicolon && now() != TokenKind::Newline &&
             now() != TokenKind::EndOfFile) {
        tokens_.consume();
      }
      return;
    case TesseraParser::RuleSimpleLine: return skip_to_line_end();
    case TesseraParser::RuleDecorators: do { skip_to_line_end();
      } while (now() == TokenKind::At);
      line_reported_ = now() != TokenKind::Def && now() != TokenKind::Module;  // that one is missing is no news
      return;
    case TesseraParser::RuleBlock:
      if (lacks_block(parser)) return;
      return skip_line_and_block();
    case TesseraParser::RuleStatement: return skip_line_and_block();
    case TesseraParser::RuleDeclaration: return;
    case TesseraParser::RuleParameters:
      if (!in_head) break;
      tokens_.seek(context->start->getTokenIndex());
      return skip_to_closing();
    case TesseraParser::RuleExpression:
    case TesseraParser::RuleExpressionList:
    case TesseraParser::RuleWithItem:
    case TesseraParser::RuleResult:
    case TesseraParser::RuleWhereClause:
      if (!in_head) break;
      return skip_to_colon();
    default: break;
  }
  std::rethrow_exception(error);
}

/// Past the next Newline.
void ErrorStrategy::skip_to_line_end() {
  while (now() != TokenKind::Newline && now() != TokenKind::EndOfFile) tokens_.consume();
  if (now() == TokenKind::Newline) tokens_.consume();
  line_reported_ = false;
}

/// Past the line, the block that belongs to it, and the other branches of an `if`; a block that ends here ends.
void ErrorStrategy::skip_line_and_block() {
  line_reported_ = false;
  if (now() == TokenKind::Dedent) return;
  do {
    skip_to_line_end();
    if (now() == TokenKind::MissingBlock) tokens_.consume();
    if (now() != TokenKind::Indent) continue;
    size_t depth = 0;
    do {
      if (now() == TokenKind::Indent) ++depth;
      if (now() == TokenKind::Dedent) --depth;
      tokens_.consume();
    } while (depth != 0 && now() != TokenKind::EndOfFile);
  } while (now() == TokenKind::Elif || now() == TokenKind::Else);
}

/// To the colon of the head the parser is in: the one that ends the line, else the first that no
/// bracket opened from here on encloses, else to the Newline.
void ErrorStrategy::skip_to_colon() {
  size_t found = SIZE_MAX;
  BracketDepth brackets;
  for (; now() != TokenKind::Newline && now() != TokenKind::EndOfFile; tokens_.consume()) {
    brackets.take(now());
    if (now() != TokenKind::Colon) continue;
    if (ahead(2) == TokenKind::Newline) return;
    if (!brackets.is_inside()) found = std::min(found, tokens_.index());
  }
  if (found != SIZE_MAX) tokens_.seek(found);
}

/// To the bracket that closes the list the parser is in, or to the end of the line.
void ErrorStrategy::skip_to_closing() {
  BracketDepth brackets;
  while (now() != TokenKind::Newline && now() != TokenKind::EndOfFile) {
    if (brackets.take(now()) == BracketStep::Unopened) return;
    tokens_.consume();
  }
}

}  // namespace tessera
