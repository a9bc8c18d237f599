// Setting a document: which places end a line.

#include <algorithm>
#include <vector>

#include "frontend/format/document.h"
#include "support/check.h"
#include "support/render/columns.h"

namespace tessera::formatter {

namespace {

/// Deeper than this, the lines of a bracket are no longer put below its first element.
constexpr uint32_t deepest_column = 50;

/// The text that must follow a node on its line.
struct Rest {
  uint32_t width = 0;
};

class Setter {
 public:
  explicit Setter(uint32_t indent) { new_line(indent); }

  /// `indent` is where the lines of a broken node begin.
  void node(const Node& node, uint32_t indent, Rest rest);
  std::vector<OutLine> take() { return std::move(lines_); }

 private:
  void text(std::string_view text);
  void flat(const Node& node);
  void concat(const Node& node, uint32_t indent, Rest rest);
  void chain(const Node& node, uint32_t indent, uint32_t inner, Rest rest);
  void bracket(const Node& node, uint32_t indent, Rest rest);
  void aligned(const Node& node, Rest rest);
  void hanging(const Node& node, uint32_t indent);
  void comments_above(const Part& part, uint32_t indent);
  void comment(std::string_view text, uint32_t indent);
  bool can_align(const Node& node, uint32_t column, Rest rest) const;
  bool can_hug(const Node& node, uint32_t column, Rest rest) const;
  void new_line(uint32_t indent) {
    lines_.push_back({std::string(indent, ' '), {}});
    column_ = indent;
  }

  std::vector<OutLine> lines_;
  uint32_t column_ = 0;
};

void Setter::text(std::string_view text) {
  lines_.back().text += text;
  size_t end = text.rfind('\n');
  if (end != text.npos) column_ = 0;
  column_ += uint32_t(columns_of(text.substr(end + 1)));
}

/// A comment at the end of the line; where one is already, on the next.
void Setter::comment(std::string_view text, uint32_t indent) {
  if (text.empty()) return;
  if (!lines_.back().comment.empty()) new_line(indent);
  lines_.back().comment = text;
}

void Setter::flat(const Node& node) {
  text(node.text);
  text(node.open);
  for (const Part* part : node.parts) {
    bool first = part == node.parts.front();
    if (!first && node.kind == NodeKind::Bracket) text(node.commas ? ", " : " ");
    if (!first && node.kind == NodeKind::Chain) text(" ");
    flat(*part->node);
  }
  if (node.last_comma) text(",");
  text(node.close);
}

void Setter::node(const Node& node, uint32_t indent, Rest rest) {
  if (node.flat < unfit && column_ + node.flat + rest.width <= line_width) return flat(node);
  switch (node.kind) {
    case NodeKind::Text:
      return text(node.text);
    case NodeKind::Concat:
      return concat(node, indent, rest);
    case NodeKind::Chain:
      return chain(node, indent, indent + indent_width, rest);
    case NodeKind::Bracket:
      return bracket(node, indent, rest);
  }
}

/// The text after a part of a Concat: all of it behind the main part, else up to where a line may
/// end. Widths are summed from the back, as each part's is that of the next one and a little more.
void Setter::concat(const Node& node, uint32_t indent, Rest rest) {
  size_t count = node.parts.size();
  std::vector<Rest> behind(count, rest), behind_main(count, rest);
  for (size_t i = count; i-- > 1;) {
    const Node& part = *node.parts[i]->node;
    bool whole = part.flat < unfit;
    uint32_t more = part.lead_ends ? 0 : behind[i].width;
    behind[i - 1].width = std::min(part.lead + more, unfit);
    uint32_t more_of_main = whole || !part.lead_ends ? behind_main[i].width : 0;
    behind_main[i - 1].width = std::min((whole ? part.flat : part.lead) + more_of_main, unfit);
  }
  for (size_t i = 0; i < count; ++i) {
    this->node(*node.parts[i]->node, indent, i == node.main ? behind_main[i] : behind[i]);
  }
}

/// Lines after the first begin at `inner`.
void Setter::chain(const Node& node, uint32_t indent, uint32_t inner, Rest rest) {
  for (size_t i = 0; i < node.parts.size(); ++i) {
    const Part& part = *node.parts[i];
    bool last = i + 1 == node.parts.size();
    if (node.rigid) {
      if (i != 0) text(" ");
      uint32_t width = last ? rest.width : node.parts[i + 1]->node->lead + 1;
      this->node(*part.node, indent, {width});
    } else {
      uint32_t start = i == 0 ? indent : inner;
      if (i != 0) new_line(start);
      comments_above(part, start);
      this->node(*part.node, start, last ? rest : Rest{});
    }
    comment(part.behind, inner);
  }
}

/// At the start of a line.
void Setter::comments_above(const Part& part, uint32_t indent) {
  for (std::string_view above : part.above) {
    text(above);
    new_line(indent);
  }
}

/// Each part fits on a line that begins below the first one.
bool Setter::can_align(const Node& node, uint32_t column, Rest rest) const {
  if (node.open.empty() || node.keeps_rows || !node.behind_open.empty() || !node.below.empty() ||
      !node.commas || column > deepest_column) {
    return false;
  }
  for (const Part* part : node.parts) {
    uint32_t behind = part == node.parts.back() ? rest.width + 1 : 1;
    if (part->has_comment() || part->node->flat == unfit ||
        column + part->node->flat + behind > line_width) {
      return false;
    }
  }
  return node.parts.size() > 1;
}

/// The only part ends with brackets that can be aligned, so that these need no lines of their own.
bool Setter::can_hug(const Node& node, uint32_t column, Rest rest) const {
  if (node.open.empty() || node.parts.size() != 1 || node.parts[0]->has_comment() ||
      !node.behind_open.empty() || !node.below.empty() || node.last_comma) {
    return false;
  }
  const Node* inner = node.parts[0]->node;
  if (inner->kind == NodeKind::Concat && inner->main + 1 == inner->parts.size()) {
    for (size_t i = 0; i < inner->main; ++i) column += inner->parts[i]->node->flat;
    inner = inner->parts[inner->main]->node;
  }
  if (inner->kind != NodeKind::Bracket || column > deepest_column) return false;
  column += uint32_t(inner->open.size());
  rest.width += 1;
  return can_align(*inner, column, rest) || can_hug(*inner, column, rest);
}

void Setter::bracket(const Node& node, uint32_t indent, Rest rest) {
  uint32_t inside = column_ + uint32_t(node.open.size());
  if (node.parts.empty() && node.below.empty() && node.behind_open.empty()) return flat(node);
  if (can_align(node, inside, rest)) return aligned(node, rest);
  if (can_hug(node, inside, rest)) {
    text(node.open);
    this->node(*node.parts[0]->node, indent, {rest.width + 1});
    return text(node.close);
  }
  hanging(node, indent);
}

void Setter::aligned(const Node& node, Rest rest) {
  text(node.open);
  uint32_t start = column_;
  for (const Part* part : node.parts) {
    bool first = part == node.parts.front(), last = part == node.parts.back();
    uint32_t behind = last ? rest.width + 1 : 1;
    if (!first && (part->breaks_before || column_ + 1 + part->node->flat + behind > line_width)) {
      new_line(start);
    } else if (!first) {
      text(" ");
    }
    flat(*part->node);
    if (!last) text(",");
  }
  text(node.close);
}

void Setter::hanging(const Node& node, uint32_t indent) {
  uint32_t inner = indent + indent_width;
  text(node.open.empty() ? "(" : node.open);
  comment(node.behind_open, inner);
  bool ended = true;  // nothing more belongs on this line
  for (const Part* part : node.parts) {
    uint32_t behind = node.commas ? 1 : 0;
    bool fits = part->node->flat < unfit && column_ + 1 + part->node->flat + behind <= line_width;
    bool kept = node.keeps_rows && part->begins_row;
    bool starts = ended || !fits || kept || part->has_comment() || part->breaks_before;
    if (starts) {
      new_line(inner);
    } else {
      text(" ");
    }
    comments_above(*part, inner);
    size_t line = lines_.size();
    bool breaks = column_ + part->node->flat + behind > line_width;
    if (node.parts.size() == 1 && part->node->kind == NodeKind::Chain && breaks) {
      chain(*part->node, inner, inner, {behind});
    } else {
      this->node(*part->node, inner, {behind});
    }
    if (node.commas) text(",");
    comment(part->behind, inner);
    ended = lines_.size() != line || !part->behind.empty();
  }
  for (std::string_view below : node.below) {
    new_line(inner);
    text(below);
  }
  new_line(indent);
  text(node.close.empty() ? ")" : node.close);
}

}  // namespace

std::vector<OutLine> set_lines(const Node& node, uint32_t indent) {
  Setter setter(indent);
  setter.node(node, indent, {});
  return setter.take();
}

}  // namespace tessera::formatter
