#include "frontend/format/format.h"

#include "frontend/format/pieces.h"
#include "frontend/format/readings.h"

namespace tessera::formatter {

namespace {

class Formatter {
 public:
  Formatter(std::string_view text, const FormatOptions& options) : text_(text), options_(options) {}

  FormatResult run();

 private:
  FormatResult fail(Outcome outcome, std::unique_ptr<Messages> messages) const;
  FormatResult refuse(std::string problem, bool is_bug) const;
  std::vector<bool> choose(bool whole_declarations) const;
  bool is_regular(const std::vector<bool>& chosen) const;
  FormatResult format_lines() const;

  std::string_view text_;
  const FormatOptions& options_;
  CutText cut_;
  std::vector<std::string> trees_;
  std::vector<Piece> pieces_;
  std::vector<bool> gaps_;
};

FormatResult Formatter::fail(Outcome outcome, std::unique_ptr<Messages> messages) const {
  FormatResult result;
  result.outcome = outcome;
  result.messages = std::move(messages);
  return result;
}

FormatResult Formatter::refuse(std::string problem, bool is_bug) const {
  FormatResult result;
  result.outcome = Outcome::Refused;
  result.problem = std::move(problem);
  result.is_bug = is_bug;
  return result;
}

/// The logical lines that touch the lines asked for, or the declarations at depth 0 that do.
std::vector<bool> Formatter::choose(bool whole_declarations) const {
  const std::vector<SourceLine>& lines = cut_.lines;
  std::vector<bool> chosen(lines.size(), !options_.lines);
  if (!options_.lines) return chosen;
  size_t begin = 0;  // of the declaration
  bool touched = false;
  auto end_declaration = [&](size_t end) {
    for (size_t i = begin; i < end && touched; ++i) chosen[i] = true;
    begin = end;
    touched = false;
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    bool begins = lines[i].kind == LineKind::Code && lines[i].depth == 0;
    if (begins || !whole_declarations) end_declaration(i);
    uint32_t first = lines[i].first + 1, last = lines[i].first + lines[i].count;
    touched |= first <= options_.lines->last && last >= options_.lines->first;
  }
  end_declaration(lines.size());
  return chosen;
}

/// The lines that stay are indented as those are that are formatted.
bool Formatter::is_regular(const std::vector<bool>& chosen) const {
  std::vector<bool> whole = choose(true);
  for (size_t i = 0; i < whole.size(); ++i) {
    const SourceLine& line = cut_.lines[i];
    bool stays = whole[i] && !chosen[i] && !line.raw && line.kind == LineKind::Code;
    if (stays && line.column != line.depth * indent_width) return false;
  }
  return true;
}

FormatResult Formatter::format_lines() const {
  FormatResult result;
  std::string difference;
  for (bool whole_declarations : {false, true}) {
    std::vector<bool> chosen = choose(whole_declarations);
    if (whole_declarations ? !options_.lines : !is_regular(chosen)) continue;
    Assembled made = assemble(cut_.lines, chosen, pieces_, gaps_, cut_.text());
    difference = find_difference(cut_, trees_, made.text, options_.name);
    if (!difference.empty()) continue;
    result.text = std::move(made.text);
    result.edits = std::move(made.edits);
    return result;
  }
  return refuse(std::move(difference), true);
}

FormatResult Formatter::run() {
  if (!cut(text_, options_.name, cut_)) {
    return fail(Outcome::SyntaxErrors, std::move(cut_.messages));
  }
  if (auto messages = read_trees(cut_, options_.name, trees_)) {
    return fail(Outcome::SyntaxErrors, std::move(messages));
  }
  if (!find_depths(cut_.lines, cut_.lexed)) {
    return refuse("branches of a condition leave different blocks open for the line behind them",
                  false);
  }
  pieces_ = make_pieces(cut_.lines, cut_.lexed, cut_.text());
  gaps_ = find_gaps(cut_.lines, cut_.lexed, cut_.text());
  return format_lines();
}

}  // namespace

FormatResult format(std::string_view text, const FormatOptions& options) {
  return Formatter(text, options).run();
}

}  // namespace tessera::formatter
