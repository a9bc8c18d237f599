// Indentation of lines: four spaces for each block around them. Where lines that are formatted
// stand among others that stay, in columns of their own, they keep theirs: moving them would take
// the others along.

#include "frontend/format/document.h"
#include "frontend/format/pieces.h"

namespace tessera::formatter {

namespace {

class Indenter {
 public:
  Indenter(const std::vector<SourceLine>& lines, const std::vector<bool>& chosen, std::string_view text)
      : lines_(lines), chosen_(chosen), text_(text), found_(lines.size()), stays_(lines.size()) {}

  std::vector<std::string> run(bool in_place);

 private:
  bool is_code(size_t line) const { return lines_[line].kind == LineKind::Code && !lines_[line].raw; }
  void enter(size_t line);
  void find_blocks_that_stay();
  std::string in_text(const SourceLine& line) const;
  std::string of_code(size_t line) const;

  const std::vector<SourceLine>& lines_;
  const std::vector<bool>& chosen_;
  std::string_view text_;
  std::vector<std::string> found_;
  std::vector<bool> stays_;   ///< some line of the block below this one does
  std::vector<size_t> open_;  ///< the lines of code above, one for each depth
};

void Indenter::enter(size_t line) {
  open_.resize(lines_[line].depth, line);
  open_.push_back(line);
}

void Indenter::find_blocks_that_stay() {
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (!is_code(i)) continue;
    enter(i);
    for (size_t depth = 0; depth + 1 < open_.size() && !chosen_[i]; ++depth) stays_[open_[depth]] = true;
  }
  open_.clear();
}

std::string Indenter::in_text(const SourceLine& line) const {
  size_t before = text_.substr(0, line.offset).find_last_not_of(" \t");
  size_t begin = before == text_.npos ? 0 : before + 1;
  return std::string(text_.substr(begin, line.offset - begin));
}

std::string Indenter::of_code(size_t line) const {
  if (lines_[line].depth == 0) return {};
  size_t header = open_[lines_[line].depth - 1];
  bool is_placed = chosen_[header] || lines_[header].column == lines_[header].depth * indent_width;
  if (!is_placed || stays_[header]) return in_text(lines_[line]);
  return found_[header] + block_indentation(found_[header]);
}

std::vector<std::string> Indenter::run(bool in_place) {
  if (in_place) {
    stays_.assign(lines_.size(), true);
  } else {
    find_blocks_that_stay();
  }
  std::vector<size_t> comments;  // since the line of code above
  for (size_t i = 0; i < lines_.size(); ++i) {
    uint32_t depth = lines_[i].depth;
    if (lines_[i].kind == LineKind::Comment) {
      found_[i] = depth < open_.size() ? found_[open_[depth]] : std::string(depth * indent_width, ' ');
      comments.push_back(i);
    }
    if (!is_code(i)) continue;
    enter(i);
    found_[i] = of_code(i);
    for (size_t comment : comments) {
      if (lines_[comment].depth == depth) found_[comment] = found_[i];
    }
    comments.clear();
  }
  return std::move(found_);
}

}  // namespace

std::string block_indentation(std::string_view header) {
  return header.find('\t') == header.npos ? std::string(indent_width, ' ') : "\t";
}

std::vector<std::string> find_indentations(const std::vector<SourceLine>& lines, const std::vector<bool>& chosen,
                                           std::string_view text, bool in_place) {
  return Indenter(lines, chosen, text).run(in_place);
}

}  // namespace tessera::formatter
