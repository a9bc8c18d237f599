// Brackets and what stands in them.

#include "frontend/format/builder.h"

namespace tessera::formatter {

const Node* Builder::brackets(Content content) {
  TokenKind closing = closing_of(kind());
  Part* outer = part_;
  Node made;
  made.kind = NodeKind::Bracket;
  made.open = text();
  take();
  Part* opening = document_.part();
  last_part_ = opening;
  ++depth_;
  bool had_comma = false;
  is_comprehension_ = false;
  while (!failed_ && !is(closing)) {
    Part* part = document_.part();
    part->begins_row = tokens_[at_].begins_row;
    part_ = part;
    part->node = element(content);
    made.parts.push_back(part);
    had_comma = is(TokenKind::Comma);
    if (!had_comma) break;
    take();
  }
  bool is_group = content == Content::Elements && made.open == "(" && made.parts.size() == 1;
  made.commas = !(made.parts.size() == 1 && is_comprehension_) && (!is_group || had_comma);
  made.last_comma = is_group && had_comma;
  if (!is(closing)) return fail();
  close(made, had_comma);
  made.behind_open = opening->behind;
  if (!opening->behind.empty()) made.keeps_rows = true;
  --depth_;
  part_ = last_part_ = outer;
  is_comprehension_ = false;
  return document_.add(std::move(made));
}

/// Takes the closing bracket. Rows stay as they are written behind a comma that ends the last of
/// them, and where they have comments.
void Builder::close(Node& node, bool had_comma) {
  const LineToken& token = tokens_[at_++];
  for (const LineComment& comment : token.comments) {
    if (!comment.is_alone && last_part_->behind.empty()) {
      last_part_->behind = comment.text;
    } else {
      node.below.push_back(comment.text);
    }
  }
  node.close = token.text;
  bool has_rows = had_comma && token.begins_row && node.parts.size() > 1;
  for (const Part* part : node.parts) has_rows |= part->has_comment();
  node.keeps_rows = has_rows || !node.below.empty();
}

const Node* Builder::element(Content content) {
  switch (content) {
    case Content::Elements:
      break;
    case Content::Arguments:
      return argument();
    case Content::Subscripts:
      return subscript();
    case Content::Entries:
      return entry();
    case Content::Parameters:
      return parameter();
    case Content::Imports:
      return imported_name();
  }
  const Node* value = expression();
  return is(TokenKind::For) ? comprehension(value) : value;
}

const Node* Builder::argument() {
  const Node* value = expression();
  if (is(TokenKind::For)) return comprehension(value);
  if (!is(TokenKind::Assign)) return value;
  return document_.concat({value, take(), expression()}, 2);
}

const Node* Builder::subscript() {
  std::vector<const Node*> nodes;
  auto ends = [&] {
    return is(TokenKind::Comma) || is(TokenKind::Rbracket) || is(TokenKind::Colon);
  };
  if (!ends()) nodes.push_back(expression());
  while (!failed_ && is(TokenKind::Colon)) {
    nodes.push_back(take());
    if (!ends()) nodes.push_back(expression());
  }
  if (nodes.empty()) return fail();
  return nodes.size() == 1 ? nodes[0] : document_.concat(std::move(nodes));
}

const Node* Builder::entry() {
  const Node* value = expression();
  if (is(TokenKind::Colon)) {
    const Node* colon = take();
    value = document_.concat({value, colon, literal(" "), expression()}, 3);
  }
  return is(TokenKind::For) ? comprehension(value) : value;
}

/// `*` begins a line, with the parameter behind it.
const Node* Builder::parameter() {
  std::vector<const Node*> nodes;
  if (is(TokenKind::Star)) {
    part_->breaks_before = true;
    nodes.push_back(take());
    if (!is(TokenKind::Comma) || !is(TokenKind::Name, 1)) return nodes[0];
    nodes.push_back(take());
    nodes.push_back(literal(" "));
  }
  nodes.push_back(take(TokenKind::Name));
  bool is_typed = is(TokenKind::Colon);
  if (is_typed) {
    nodes.push_back(take());
    nodes.push_back(literal(" "));
    nodes.push_back(annotation());
  }
  if (is(TokenKind::Assign)) {
    if (is_typed) nodes.push_back(literal(" "));
    nodes.push_back(take());
    if (is_typed) nodes.push_back(literal(" "));
    nodes.push_back(expression());
  }
  return document_.concat(std::move(nodes));
}

const Node* Builder::imported_name() {
  const Node* name = take(TokenKind::Name);
  if (!is(TokenKind::As)) return name;
  const Node* as = take();
  return document_.concat({name, literal(" "), as, literal(" "), take(TokenKind::Name)});
}

}  // namespace tessera::formatter
