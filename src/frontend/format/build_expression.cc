// Expressions: operators of one precedence are one chain, those that bind tighter chains inside it.

#include <algorithm>
#include <utility>

#include "frontend/binding/words.h"
#include "frontend/format/builder.h"
#include "frontend/syntax/precedence.h"

namespace tessera::formatter {

/// An operand with the operator before it.
struct Builder::Operand {
  const Node* op = nullptr;  ///< null for the first
  const Node* value = nullptr;
  Part* part = nullptr;
  int precedence = 0;
  bool tight = false;  ///< no space behind the operator

  const Node* node(Document& document) const {
    if (op == nullptr) return value;
    if (tight) return document.concat({op, value});
    return document.concat({op, document.text(" "), value});
  }
};

namespace {

/// That of the operator that begins with the token: `not` begins `not in`.
int precedence(TokenKind kind) {
  return binding(kind == TokenKind::Not ? TokenKind::In : kind);
}

/// Moves the comment behind the end of a part behind the whole.
void move_comment(Part& from, Part& to) {
  if (from.behind.empty()) return;
  if (to.behind.empty()) {
    std::swap(from.behind, to.behind);
  } else {
    to.above.push_back(std::exchange(from.behind, {}));
  }
}

}  // namespace

TokenKind Builder::kind(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)].kind;
}

const Node* Builder::fail() {
  failed_ = true;
  return literal("");
}

const Node* Builder::take() {
  if (is(TokenKind::EndOfFile)) return fail();
  const LineToken& token = tokens_[at_++];
  for (const LineComment& comment : token.comments) {
    if (part_ == nullptr || last_part_ == nullptr) return fail();
    if (!comment.is_alone && last_part_->behind.empty()) {
      last_part_->behind = comment.text;
    } else {
      part_->above.push_back(comment.text);
    }
  }
  last_part_ = part_;
  return document_.text(token.text);
}

const Node* Builder::take(TokenKind wanted) {
  return is(wanted) ? take() : fail();
}

/// Reads the operator before an operand; false if there is none.
bool Builder::operators(Operand& into) {
  into.precedence = precedence(kind());
  bool is_not_in = is(TokenKind::Not) && is(TokenKind::In, 1);
  if (into.precedence == 0 || (is(TokenKind::Not) && !is_not_in)) return false;
  into.part = document_.part();
  part_ = into.part;
  bool two = is_not_in || (is(TokenKind::Is) && is(TokenKind::Not, 1));
  into.tight = is(TokenKind::At) && is(TokenKind::Name, 1) && names::is_policy(tokens_[at_ + 1].text);
  into.op = take();
  if (two) into.op = document_.concat({into.op, literal(" "), take()});
  return true;
}

const Node* Builder::operation() {
  Part* outer = part_;
  std::vector<Operand> operands(1);
  operands[0].value = operand();
  operands[0].part = document_.part();
  bool has_operator = precedence(kind()) != 0;
  if (has_operator && last_part_ == outer) last_part_ = operands[0].part;
  Operand next;
  while (!failed_ && operators(next)) {
    next.value = operand();
    operands.push_back(next);
    next = {};
  }
  part_ = last_part_ = outer;
  if (operands.size() == 1) return operands[0].value;
  if (outer != nullptr) move_comment(*operands.back().part, *outer);
  return chain(operands, 0, operands.size());
}

/// Splits operands at the operators that bind least.
const Node* Builder::chain(std::vector<Operand>& operands, size_t begin, size_t end) {
  int least = 100;
  for (size_t i = begin + 1; i < end; ++i) least = std::min(least, operands[i].precedence);
  Node made;
  made.kind = NodeKind::Chain;
  made.rigid = depth_ == 0 && !wrapping_;
  for (size_t at = begin; at < end;) {
    size_t next = at + 1;
    while (next < end && operands[next].precedence != least) ++next;
    Operand part = operands[at];
    if (at == begin) part.op = nullptr;
    if (next - at > 1) {
      part.part = document_.part();
      std::swap(part.part->above, operands[at].part->above);
      move_comment(*operands[next - 1].part, *part.part);
      part.value = chain(operands, at, next);
    }
    part.part->node = part.node(document_);
    made.parts.push_back(part.part);
    at = next;
  }
  return document_.add(std::move(made));
}

const Node* Builder::expression() {
  if (is(TokenKind::Lambda)) return lambda();
  const Node* value = operation();
  if (!is(TokenKind::If)) return value;
  Node made;
  made.kind = NodeKind::Chain;
  made.rigid = depth_ == 0 && !wrapping_;
  const Node* otherwise = nullptr;
  while (!failed_ && is(TokenKind::If)) {
    const Node* condition = document_.concat({take(), literal(" "), operation()});
    Node arm;
    arm.kind = NodeKind::Chain;
    arm.rigid = made.rigid;
    arm.parts = {document_.part(value), document_.part(condition)};
    const Node* node = document_.add(std::move(arm));
    if (otherwise != nullptr) node = document_.concat({otherwise, literal(" "), node});
    made.parts.push_back(document_.part(node));
    otherwise = take(TokenKind::Else);
    value = is(TokenKind::Lambda) ? lambda() : operation();
  }
  made.parts.push_back(document_.part(document_.concat({otherwise, literal(" "), value})));
  return document_.add(std::move(made));
}

const Node* Builder::operand() {
  std::vector<const Node*> nodes;
  while (is(TokenKind::Plus) || is(TokenKind::Minus) || is(TokenKind::Tilde) ||
         is(TokenKind::Not)) {
    bool is_word = is(TokenKind::Not);
    nodes.push_back(take());
    if (is_word) nodes.push_back(literal(" "));
  }
  nodes.push_back(postfix());
  return nodes.size() == 1 ? nodes[0] : document_.concat(std::move(nodes));
}

/// Of several brackets behind an operand the widest ones break first.
const Node* Builder::postfix() {
  std::vector<const Node*> nodes{atom()};
  size_t main = nodes[0]->kind == NodeKind::Bracket ? 0 : SIZE_MAX;
  while (!failed_) {
    if (is(TokenKind::Dot)) {
      nodes.push_back(take());
      nodes.push_back(take(TokenKind::Name));
    } else if (is(TokenKind::Lparen) || is(TokenKind::Lbracket)) {
      nodes.push_back(brackets(is(TokenKind::Lparen) ? Content::Arguments : Content::Subscripts));
      if (main == SIZE_MAX || nodes.back()->flat > nodes[main]->flat) main = nodes.size() - 1;
    } else {
      break;
    }
  }
  return nodes.size() == 1 ? nodes[0] : document_.concat(std::move(nodes), main);
}

const Node* Builder::atom() {
  switch (kind()) {
    case TokenKind::Name:
    case TokenKind::Integer:
    case TokenKind::Float:
    case TokenKind::True:
    case TokenKind::False:
    case TokenKind::None:
    case TokenKind::Ellipsis:
      return take();
    case TokenKind::String:
      return strings();
    case TokenKind::Lparen:
    case TokenKind::Lbracket:
      return brackets(Content::Elements);
    case TokenKind::Lbrace:
      return brackets(Content::Entries);
    default:
      return fail();
  }
}

/// Strings that stand side by side are one.
const Node* Builder::strings() {
  if (!is(TokenKind::String, 1)) return take();
  Node made;
  made.kind = NodeKind::Chain;
  made.rigid = depth_ == 0 && !wrapping_;
  while (is(TokenKind::String)) made.parts.push_back(document_.part(take()));
  return document_.add(std::move(made));
}

const Node* Builder::lambda() {
  std::vector<const Node*> nodes{take()};
  const char* before = " ";
  while (!failed_ && !is(TokenKind::Colon)) {
    nodes.push_back(literal(before));
    nodes.push_back(take());
    if (is(TokenKind::Assign)) {
      nodes.push_back(take());
      nodes.push_back(expression());
    }
    before = ", ";
    if (!is(TokenKind::Comma)) break;
    take();
  }
  nodes.push_back(take(TokenKind::Colon));
  nodes.push_back(literal(" "));
  nodes.push_back(expression());
  return document_.concat(std::move(nodes));
}

const Node* Builder::annotation() {
  if (!is_word("Region") || !is(TokenKind::Lbracket, 1)) return expression();
  const Node* privileges = postfix();
  if (!is(TokenKind::Name)) return privileges;
  return document_.concat({privileges, literal(" "), expression()});
}

/// The clauses after an element: each `for` and each `if` may begin a line.
const Node* Builder::comprehension(const Node* element) {
  Node made;
  made.kind = NodeKind::Chain;
  made.rigid = depth_ == 0;
  made.parts.push_back(document_.part(element));
  while (!failed_ && (is(TokenKind::For) || is(TokenKind::If))) {
    std::vector<const Node*> nodes{nullptr, literal(" ")};
    if (is(TokenKind::For)) {
      nodes[0] = take();
      nodes.push_back(separated(&Builder::postfix));
      nodes.push_back(literal(" "));
      nodes.push_back(take(TokenKind::In));
      nodes.push_back(literal(" "));
    } else {
      nodes[0] = take();
    }
    nodes.push_back(operation());
    made.parts.push_back(document_.part(document_.concat(std::move(nodes))));
  }
  is_comprehension_ = true;
  return document_.add(std::move(made));
}

}  // namespace tessera::formatter
