#pragma once
// The layout of one statement: a tree of texts and of the places where a line may end, set within a
// width.
//
// After Oppen ("Prettyprinting", TOPLAS 1980) and Wadler ("A prettier printer", 1998): whatever
// fits on the rest of the line stays on it, else its outermost places break, then those inside.
// Brackets have one choice more. Their elements are filled into lines below the first of them when
// each fits there, else into lines of their own between the two brackets:
//
//     y = conv2d(transpose(x, 0, 2, 3, 1), w, bias,      weights = reshape(
//                strides=strides, groups=groups)             transpose(reshape(w, (Y, X, D))), (Y,
//                X),
//                                                        )
//
// The width of each part on one line is known as it is made, so that setting takes time
// proportional to the text and to the depth of its brackets.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::formatter {

inline constexpr uint32_t line_width = 100;
inline constexpr uint32_t indent_width = 4;

struct Node;

/// A part that may stand on a line of its own, with the comments that belong to it.
struct Part {
  const Node* node = nullptr;
  std::vector<std::string_view> above;  ///< comments on lines of their own, before it
  std::string_view behind;              ///< a comment at the end of its line
  bool begins_row = false;              ///< the source has it at the start of a line
  bool breaks_before = false;           ///< begins a line whenever the brackets are broken

  bool has_comment() const { return !above.empty() || !behind.empty(); }
};

enum class NodeKind : uint8_t {
  Text,     ///< `text`; a string of several lines has their ends in it
  Concat,   ///< parts side by side
  Chain,    ///< parts side by side with a space between them, or each on its own line
  Bracket,  ///< parts between brackets
};

struct Node {
  NodeKind kind = NodeKind::Text;
  std::string_view text;
  std::vector<Part*> parts;
  /// Concat: the part that breaks before the others do.
  size_t main = SIZE_MAX;
  // Bracket. Without brackets of its own (`open` empty) a broken one gets parentheses.
  std::string_view open, close;
  std::string_view behind_open;         ///< a comment behind the opening bracket
  std::vector<std::string_view> below;  ///< comments behind the last part, on their own lines
  bool commas = false;                  ///< between parts; broken, also behind the last
  bool last_comma = false;              ///< on one line, too: a tuple of one element
  bool keeps_rows = false;              ///< rows are those of the source
  bool rigid = false;                   ///< Chain: no line may end here, outside brackets

  uint32_t flat = 0;       ///< width on one line; `unfit` if it cannot be on one
  uint32_t lead = 0;       ///< width up to the first place where a line may end, or all
  bool lead_ends = false;  ///< there is such a place
};

/// Wider than any line.
inline constexpr uint32_t unfit = uint32_t(1) << 30;

/// Owns the nodes of a statement.
class Document {
 public:
  const Node* text(std::string_view text);
  /// Parts side by side; `main` is the one that breaks first.
  const Node* concat(std::vector<const Node*> nodes, size_t main = SIZE_MAX);
  /// Takes the fields of a Chain or Bracket and computes the widths.
  const Node* add(Node node);
  Part* part(const Node* node = nullptr);

 private:
  std::deque<Node> nodes_;
  std::deque<Part> parts_;
};

/// A line as it is written, its comment apart.
struct OutLine {
  std::string text;
  std::string comment;
};

/// The lines of a statement that begins at column `indent`; there is at least one.
std::vector<OutLine> set_lines(const Node& node, uint32_t indent);

}  // namespace tessera::formatter
