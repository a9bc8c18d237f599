// Folding ranges: blocks by their indentation, brackets and texts over several lines, imports and
// comments in a row, branches of the preprocessor. They use tokens alone, so that folding works in
// any state of a file.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "frontend/syntax/ast_walk.h"
#include "frontend/syntax/brackets.h"
#include "lsp/features/features.h"

namespace tessera::lsp {

namespace {

constexpr size_t most_folds = 5000;

struct Line {
  uint32_t indentation = 0;
  bool blank = true;
  bool comment = false;
  bool import = false;
  bool inside = false;  ///< of a text or brackets that began above
};

class Folder {
 public:
  explicit Folder(const FileModel& file)
      : file_(file), lines_(file.lines().line_count()), inside_(file.lines().line_count() + 1) {}

  Json run() {
    read_lines();
    for (const std::shared_ptr<Piece>& piece : file_.pieces()) tokens(*piece);
    mark_insides();
    blocks();
    runs(&Line::comment, "comment");
    runs(&Line::import, "imports");
    return std::move(out_);
  }

 private:
  void add(uint32_t from, uint32_t to, const char* kind = nullptr) {
    if (to <= from || out_.size() >= most_folds || !added_.emplace(from, to).second) return;
    Json fold = {{"startLine", from}, {"endLine", to}};
    if (kind) fold["kind"] = kind;
    out_.push_back(std::move(fold));
  }
  uint32_t line_of(const Piece& piece, uint32_t offset) const { return file_.lines().line_of(piece.begin + offset); }
  /// These lines, the last one included, are of a text or brackets that began above.
  void add_inside(uint32_t from, uint32_t to) {
    if (to < from || to >= lines_.size()) return;
    ++inside_[from];
    --inside_[to + 1];
  }
  void mark_insides();
  void read_lines();
  void tokens(const Piece& piece);
  void blocks();
  void runs(bool Line::*property, const char* kind);

  const FileModel& file_;
  std::vector<Line> lines_;
  std::vector<int> inside_;  ///< by how much the insides that a line is in differ from those of the line before
  std::set<std::pair<uint32_t, uint32_t>> added_;
  Json out_ = Json::array();
};

void Folder::read_lines() {
  std::string_view text = file_.text();
  for (uint32_t i = 0; i < lines_.size(); ++i) {
    size_t begin = file_.lines().line_start(i);
    size_t at = text.find_first_not_of(" \t", begin);
    if (at == std::string_view::npos || text[at] == '\n' || text[at] == '\r') continue;
    lines_[i].blank = false;
    lines_[i].indentation = uint32_t(at - begin);
    lines_[i].comment = text[at] == '#';
    lines_[i].import = text.substr(at).starts_with("import ") || text.substr(at).starts_with("from ");
  }
}

void Folder::tokens(const Piece& piece) {
  OpenBrackets<uint32_t> brackets;  // with their lines
  std::vector<uint32_t> conditions;
  for (size_t i = 0; i < piece.tokens.size(); ++i) {
    const RawToken& token = piece.tokens[i];
    uint32_t first = line_of(piece, token.offset);
    uint32_t last = line_of(piece, token.offset + std::max(token.length, 1u) - 1);
    if (token.kind == TokenKind::String && last > first) add(first, last);
    BracketStep step = brackets.take(token.kind);
    if (step == BracketStep::Opens) brackets.innermost() = first;
    if (step == BracketStep::Closes) {
      // The line of the closing bracket stays in sight.
      uint32_t begin = brackets.closed();
      if (first > begin + 1) add(begin, first - 1);
      add_inside(begin + 1, first);
    }
    if (token.kind == TokenKind::String) add_inside(first + 1, last);
    if (token.role != TokenRole::Directive || i + 1 >= piece.tokens.size()) continue;
    if (token.kind != TokenKind::Percent) continue;
    std::string_view name = piece.text(piece.tokens[i + 1]);
    bool ends = name == "elif" || name == "else" || name == "endif";
    if (ends && !conditions.empty()) {
      add(conditions.back(), first - 1, "region");
      conditions.pop_back();
    }
    if (name != "endif" && (name == "if" || ends)) conditions.push_back(first);
  }
}

void Folder::mark_insides() {
  int depth = 0;
  for (size_t i = 0; i < lines_.size(); ++i) lines_[i].inside = (depth += inside_[i]) > 0;
}

void Folder::blocks() {
  struct Open {
    uint32_t line;
    uint32_t indentation;
  };
  std::vector<Open> open;
  uint32_t last = 0;  // the last line with text
  auto close = [&](uint32_t indentation) {
    while (!open.empty() && open.back().indentation >= indentation) {
      add(open.back().line, last);
      open.pop_back();
    }
  };
  for (uint32_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].blank) continue;
    if (!lines_[i].inside && !lines_[i].comment) {
      close(lines_[i].indentation);
      open.push_back({i, lines_[i].indentation});
    }
    if (!lines_[i].comment || lines_[i].indentation > 0) last = i;
  }
  close(0);
}

void Folder::runs(bool Line::*property, const char* kind) {
  for (uint32_t i = 0; i < lines_.size();) {
    uint32_t end = i;
    while (end < lines_.size() && lines_[end].*property && !lines_[end].blank) ++end;
    if (end > i + 1) add(i, end - 1, kind);
    i = std::max(end, i + 1);
  }
}

void add_enclosing(const Piece& piece, uint32_t offset, std::vector<Range>& ranges) {
  for (const ast::Declaration& declaration : piece.declarations) {
    ast::walk(*declaration.stmt, [&](const ast::Node& node) {
      if (node.loc.file != piece.file) return;
      Range range = piece.range(node.loc);
      if (range.touches(offset)) ranges.push_back(piece.in_document(range));
    });
  }
}

}  // namespace

Json folding_ranges(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  return file ? Folder(*file).run() : Json::array();
}

Json selection_ranges(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  const Json& positions = member(params, "positions");
  Json out = Json::array();
  if (!file || !positions.is_array()) return out;
  for (const Json& position : positions) {
    uint32_t offset = file->lines().offset(file->text(), read_position(position), context.encoding());
    std::vector<Range> ranges = {{0, uint32_t(file->text().size())}};
    const Piece* piece = file->piece_at(offset);
    if (piece) add_enclosing(*piece, offset - piece->begin, ranges);
    std::sort(ranges.begin(), ranges.end(), [](Range a, Range b) { return a.end - a.begin > b.end - b.begin; });
    Json made;
    Range outer;
    for (Range range : ranges) {
      bool nested = made.is_null() || (range.begin >= outer.begin && range.end <= outer.end && range != outer);
      if (!nested) continue;
      Json inner = {{"range", range_json(context, *file, range)}};
      if (!made.is_null()) inner["parent"] = std::move(made);
      made = std::move(inner);
      outer = range;
    }
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace tessera::lsp
