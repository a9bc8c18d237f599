#include "frontend/format/pieces.h"

#include <algorithm>
#include <utility>

#include "frontend/format/builder.h"

namespace tessera::formatter {

namespace {

/// An assignment whose `=` may stand in one column with those of its neighbours.
struct Target {
  uint32_t width = 0;   ///< of the targets as they are set; 0: no such assignment
  uint32_t column = 0;  ///< of the `=` in the source
};

class PieceMaker {
 public:
  PieceMaker(const std::vector<SourceLine>& lines, const std::vector<std::string>& indentations,
             const LexedFile& lexed, std::string_view text)
      : lines_(lines), indentations_(indentations), lexed_(lexed), text_(text), targets_(lines.size()) {}

  std::vector<Piece> run();

 private:
  Target find_target(const SourceLine& line) const;
  void align_targets();
  Piece code(size_t index) const;

  const std::vector<SourceLine>& lines_;
  const std::vector<std::string>& indentations_;
  const LexedFile& lexed_;
  std::string_view text_;
  std::vector<Target> targets_;
};

/// Names with commas and dots before an `=`, and no statement behind it: that gets a line of its own.
Target PieceMaker::find_target(const SourceLine& line) const {
  Target target;
  if (line.kind != LineKind::Code || line.raw) return target;
  for (size_t i = line.begin; i < line.end; ++i) {
    if (lexed_.tokens[i].kind == TokenKind::Semicolon) return target;
  }
  TokenKind last = TokenKind::EndOfFile;
  for (size_t i = line.begin; i < line.end; ++i) {
    const RawToken& token = lexed_.tokens[i];
    TokenKind before = token.kind == TokenKind::Space ? last : std::exchange(last, token.kind);
    switch (token.kind) {
      case TokenKind::Space:
        break;
      case TokenKind::Name:
        if (before == TokenKind::Name) return {};  // `const N = 1`
        [[fallthrough]];
      case TokenKind::Dot:
        target.width += token.length;
        break;
      case TokenKind::Comma:
        target.width += 2;
        break;
      case TokenKind::Assign:
        target.column = line.column + token.offset - line.offset;
        return target;
      default:
        return {};
    }
  }
  return {};
}

/// A run of lines with their `=` in one column keeps one, the first that all of them reach.
void PieceMaker::align_targets() {
  for (size_t i = 0; i < lines_.size(); ++i) targets_[i] = find_target(lines_[i]);
  for (size_t begin = 0; begin < lines_.size();) {
    size_t end = begin + 1;
    uint32_t widest = targets_[begin].width;
    while (end < lines_.size() && widest != 0 && targets_[end].width != 0 &&
           targets_[end].column == targets_[begin].column &&
           lines_[end].depth == lines_[begin].depth) {
      widest = std::max(widest, targets_[end++].width);
    }
    for (size_t i = begin; i < end; ++i) targets_[i].width = end - begin > 1 ? widest : 0;
    begin = end;
  }
}

Piece PieceMaker::code(size_t index) const {
  const SourceLine& line = lines_[index];
  const std::string& indent = indentations_[index];
  Document document;
  std::vector<LineToken> tokens = line_tokens(line, lexed_, text_);
  Builder builder(document, tokens, targets_[index].width);
  Piece piece;
  for (const Statement& statement : builder.statements()) {
    std::string begin = statement.is_inline_block ? indent + block_indentation(indent) : indent;
    std::vector<OutLine> set = set_lines(*statement.node, uint32_t(begin.size()));
    for (OutLine& out : set) out.text.replace(0, begin.size(), begin);
    std::move(set.begin(), set.end(), std::back_inserter(piece.lines));
  }
  if (piece.lines.empty()) {  // what its macros stand for is not known
    std::string_view whole = text_.substr(line.offset, line.end_offset - line.offset);
    piece.lines.push_back({indent + std::string(without_end(whole)), {}});
    return piece;
  }
  if (std::string_view comment = builder.comment(); !comment.empty()) {
    if (!piece.lines.back().comment.empty()) piece.lines.push_back({indent, {}});
    piece.lines.back().comment = comment;
  }
  return piece;
}

std::vector<Piece> PieceMaker::run() {
  align_targets();
  std::vector<Piece> pieces(lines_.size());
  for (size_t i = 0; i < lines_.size(); ++i) {
    const SourceLine& line = lines_[i];
    std::string_view text = text_.substr(line.offset, line.end_offset - line.offset);
    if (line.raw) continue;
    if (line.kind == LineKind::Code) {
      pieces[i] = code(i);
    } else if (line.kind == LineKind::Directive) {
      pieces[i].lines.push_back({std::string(without_end(text)), {}});
    } else if (line.kind == LineKind::Comment) {
      pieces[i].lines.push_back({indentations_[i] + std::string(without_end(text)), {}});
    }
  }
  return pieces;
}

}  // namespace

std::vector<Piece> make_pieces(const std::vector<SourceLine>& lines, const std::vector<std::string>& indentations,
                               const LexedFile& lexed, std::string_view text) {
  return PieceMaker(lines, indentations, lexed, text).run();
}

}  // namespace tessera::formatter
