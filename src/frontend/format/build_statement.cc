// Statements. Outside brackets a line ends with its statement, so that a value which does not fit
// gets parentheses (the tree has none), and everything else there stays on its line.

#include <algorithm>

#include "frontend/format/builder.h"
#include "frontend/syntax/brackets.h"

namespace tessera::formatter {

namespace {

constexpr std::string_view spaces =
    "                                                                                            ";

/// A line may end in the node outside of its brackets.
bool breaks_outside(const Node& node) {
  if (node.kind == NodeKind::Chain) return !node.rigid;
  return node.kind == NodeKind::Concat &&
         std::any_of(node.parts.begin(), node.parts.end(),
                     [](const Part* part) { return breaks_outside(*part->node); });
}

bool is_augmented(TokenKind kind) {
  return kind >= TokenKind::PowerAssign && kind <= TokenKind::BarAssign;
}

}  // namespace

std::vector<Statement> Builder::statements() {
  std::vector<Statement> out;
  line(out);
  if (failed_ || !is(TokenKind::EndOfFile)) out.clear();
  return out;
}

/// A word that acts as a keyword where it begins a statement (see promote_keywords).
bool Builder::begins_soft(std::string_view word) const {
  return is_word(word) && (is(TokenKind::Name, 1) || (word == "on" && is(TokenKind::String, 1)));
}

void Builder::line(std::vector<Statement>& out) {
  if (is(TokenKind::At)) {
    out.push_back({decorators(), false});
    return;
  }
  bool is_on = begins_soft("on");
  bool is_inline_block = false;
  if (begins_compound(kind()) || begins_soft("module") || is_on) {
    const Node* head = compound();
    if (is(TokenKind::Colon)) {
      bool is_declaration = is(TokenKind::Ellipsis, 1) && is(TokenKind::EndOfFile, 2);
      std::vector<const Node*> nodes{head, take()};
      if (is_declaration) nodes.insert(nodes.end(), {literal(" "), take()});
      head = document_.concat(std::move(nodes), 0);
      is_inline_block = true;
    } else if (!is_on) {
      fail();
    }
    out.push_back({head, false});
    if (is(TokenKind::Semicolon)) take();
  }
  while (!failed_ && !is(TokenKind::EndOfFile)) {
    out.push_back({simple(), is_inline_block});
    if (!is(TokenKind::Semicolon)) break;
    take();
  }
}

const Node* Builder::decorators() {
  std::vector<const Node*> nodes;
  while (!failed_ && is(TokenKind::At)) {
    if (!nodes.empty()) nodes.push_back(literal(" "));
    nodes.push_back(take());
    nodes.push_back(dotted_name());
    if (is(TokenKind::Lparen)) nodes.push_back(brackets(Content::Arguments));
  }
  size_t last = nodes.size() - 1;
  return document_.concat(std::move(nodes), last);
}

const Node* Builder::dotted_name() {
  std::vector<const Node*> nodes{take(TokenKind::Name)};
  while (!failed_ && is(TokenKind::Dot)) {
    nodes.push_back(take());
    nodes.push_back(take(TokenKind::Name));
  }
  return document_.concat(std::move(nodes));
}

/// Items with commas between them, and one behind the last if it is written there.
const Node* Builder::separated(const Node* (Builder::*item)()) {
  std::vector<const Node*> nodes{(this->*item)()};
  while (!failed_ && is(TokenKind::Comma)) {
    nodes.push_back(take());
    if (is(TokenKind::In) || is(TokenKind::Assign) || is(TokenKind::EndOfFile)) break;
    nodes.push_back(literal(" "));
    nodes.push_back((this->*item)());
  }
  return nodes.size() == 1 ? nodes[0] : document_.concat(std::move(nodes));
}

/// Up to the colon of a compound statement.
const Node* Builder::compound() {
  if (is(TokenKind::Def) || is(TokenKind::Name)) {
    if (!is_word("on")) return definition();
    const Node* on = take();
    return document_.concat({on, literal(" "), expression()});
  }
  TokenKind word = kind();
  const Node* first = take();
  if (word == TokenKind::Else) return first;
  std::vector<const Node*> nodes{first, literal(" ")};
  if (word == TokenKind::With) {
    nodes.push_back(separated(&Builder::with_item));
  } else if (word == TokenKind::For) {
    nodes.push_back(separated(&Builder::postfix));
    nodes.insert(nodes.end(), {literal(" "), take(TokenKind::In), literal(" ")});
    nodes.push_back(value(true));
  } else {
    nodes.push_back(value(false));
  }
  return document_.concat(std::move(nodes));
}

const Node* Builder::with_item() {
  const Node* context = expression();
  if (!is(TokenKind::As)) return context;
  const Node* as = take();
  return document_.concat({context, literal(" "), as, literal(" "), postfix()});
}

/// A function or a module, whose parameters break before anything else of the line.
const Node* Builder::definition() {
  std::vector<const Node*> nodes{take(), literal(" "), take(TokenKind::Name)};
  size_t main = SIZE_MAX;
  if (is(TokenKind::Lparen)) {
    nodes.push_back(brackets(Content::Parameters));
    if (!nodes.back()->parts.empty()) main = nodes.size() - 1;
  }
  if (is(TokenKind::Arrow)) {
    nodes.insert(nodes.end(), {literal(" "), take()});
    if (!is(TokenKind::Bang)) nodes.insert(nodes.end(), {literal(" "), annotation()});
    if (is(TokenKind::Bang)) {
      nodes.insert(nodes.end(), {literal(" "), take()});
      if (!is(TokenKind::Lbrace)) return fail();
      nodes.push_back(brackets(Content::Elements));
    }
  }
  if (is_word("where")) {
    nodes.insert(nodes.end(), {literal(" "), take(), literal(" ")});
    nodes.push_back(separated(&Builder::expression));
  }
  return document_.concat(std::move(nodes), main);
}

const Node* Builder::simple() {
  switch (kind()) {
    case TokenKind::Import: {
      const Node* word = take();
      return document_.concat({word, literal(" "), separated(&Builder::import_item)});
    }
    case TokenKind::From:
      return from_import();
    case TokenKind::Pass:
      return take();
    case TokenKind::Return: {
      const Node* word = take();
      if (is(TokenKind::EndOfFile) || is(TokenKind::Semicolon)) return word;
      return document_.concat({word, literal(" "), value(true)});
    }
    default:
      break;
  }
  bool declares = begins_soft("const") || begins_soft("param") || begins_soft("dim");
  return declares ? declaration() : expression_statement();
}

const Node* Builder::import_item() {
  const Node* name = dotted_name();
  if (!is(TokenKind::As)) return name;
  const Node* as = take();
  return document_.concat({name, literal(" "), as, literal(" "), take(TokenKind::Name)});
}

/// The names get brackets where they do not fit on the line, and only there.
const Node* Builder::from_import() {
  std::vector<const Node*> nodes{take(), literal(" "), dotted_name(), literal(" ")};
  nodes.insert(nodes.end(), {take(TokenKind::Import), literal(" ")});
  Node names;
  names.kind = NodeKind::Bracket;
  names.commas = true;
  if (is(TokenKind::Lparen)) {
    names = *brackets(Content::Imports);
    names.open = names.close = {};
    names.flat = names.lead = 0;
  } else {
    while (!failed_) {
      names.parts.push_back(document_.part(imported_name()));
      if (!is(TokenKind::Comma)) break;
      take();
    }
  }
  nodes.push_back(document_.add(std::move(names)));
  return document_.concat(std::move(nodes));
}

/// const, param and dim.
const Node* Builder::declaration() {
  std::vector<const Node*> nodes{take(), literal(" "), separated(&Builder::postfix)};
  if (is(TokenKind::Colon)) {
    nodes.push_back(take());
    nodes.insert(nodes.end(), {literal(" "), annotation()});
  }
  if (is(TokenKind::Assign)) {
    nodes.insert(nodes.end(), {literal(" "), take(), literal(" ")});
    nodes.push_back(value(true));
  }
  return document_.concat(std::move(nodes));
}

/// A value which gets parentheses where it does not fit, unless its lines only end in brackets of its
/// own.
const Node* Builder::value(bool is_list) {
  wrapping_ = true;
  Node made;
  made.kind = NodeKind::Bracket;
  const Node* first = expression();
  made.parts.push_back(document_.part(first));
  while (!failed_ && is_list && is(TokenKind::Comma)) {
    made.commas = true;
    take();
    if (is(TokenKind::EndOfFile) || is(TokenKind::Semicolon) || is(TokenKind::Colon)) break;
    made.parts.push_back(document_.part(expression()));
  }
  wrapping_ = false;
  if (made.commas && made.parts.size() == 1) return document_.concat({first, literal(",")});
  return made.commas || breaks_outside(*first) ? document_.add(std::move(made)) : first;
}

/// True if an assignment is still to come: what is read next is a target.
bool Builder::is_target() const {
  BracketDepth brackets;
  for (size_t i = at_; i < tokens_.size(); ++i) {
    TokenKind found = tokens_[i].kind;
    brackets.take(found);
    if (brackets.is_inside()) continue;
    if (found == TokenKind::Lambda || found == TokenKind::Semicolon) return false;
    if (found == TokenKind::Assign || found == TokenKind::Colon || is_augmented(found)) return true;
  }
  return false;
}

const Node* Builder::expression_statement() {
  if (!is_target()) return value(true);
  std::vector<const Node*> nodes{separated(&Builder::expression)};
  uint32_t width = nodes[0]->flat;
  if (width < target_width_ && target_width_ - width < spaces.size()) {
    nodes.push_back(literal(spaces.substr(0, target_width_ - width)));
  }
  if (is(TokenKind::Colon)) {
    nodes.push_back(take());
    nodes.insert(nodes.end(), {literal(" "), annotation()});
    if (!is(TokenKind::Assign)) return document_.concat(std::move(nodes));
  }
  while (!failed_ && (is(TokenKind::Assign) || is_augmented(kind()))) {
    nodes.insert(nodes.end(), {literal(" "), take(), literal(" ")});
    nodes.push_back(is_target() ? separated(&Builder::expression) : value(true));
  }
  return document_.concat(std::move(nodes));
}

}  // namespace tessera::formatter
