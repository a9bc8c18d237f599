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
  FormatResult refuse(Difference why) const;
  std::vector<bool> choose() const;
  FormatResult format_lines() const;

  std::string_view text_;
  const FormatOptions& options_;
  CutText cut_;
  std::vector<std::string> trees_;
};

FormatResult Formatter::fail(Outcome outcome, std::unique_ptr<Messages> messages) const {
  FormatResult result;
  result.outcome = outcome;
  result.messages = std::move(messages);
  return result;
}

FormatResult Formatter::refuse(Difference why) const {
  FormatResult result;
  result.outcome = Outcome::Refused;
  result.problem = std::move(why.problem);
  result.is_bug = why.is_bug;
  return result;
}

/// The logical lines that touch the lines asked for.
std::vector<bool> Formatter::choose() const {
  std::vector<bool> chosen(cut_.lines.size(), !options_.lines);
  for (size_t i = 0; i < chosen.size() && options_.lines; ++i) {
    uint32_t first = cut_.lines[i].first + 1, last = cut_.lines[i].first + cut_.lines[i].count;
    chosen[i] = first <= options_.lines->last && last >= options_.lines->first;
  }
  return chosen;
}

/// Where branches share a block, some of which is formatted, all of that stays in its columns.
FormatResult Formatter::format_lines() const {
  FormatResult result;
  std::optional<Difference> difference;
  std::vector<bool> chosen = choose();
  std::vector<bool> gaps = find_gaps(cut_.lines, cut_.lexed, cut_.text());
  for (bool in_place : {false, true}) {
    if (in_place && !options_.lines) break;
    std::vector<std::string> indentations = find_indentations(cut_.lines, chosen, cut_.text(), in_place);
    std::vector<Piece> pieces = make_pieces(cut_.lines, indentations, cut_.lexed, cut_.text());
    Assembled made = assemble(cut_.lines, chosen, std::move(pieces), gaps, cut_.text());
    difference = find_difference(cut_, trees_, made.text, options_.name);
    if (difference) continue;
    result.text = std::move(made.text);
    result.edits = std::move(made.edits);
    return result;
  }
  return refuse(std::move(*difference));
}

FormatResult Formatter::run() {
  if (!cut(text_, options_.name, cut_)) {
    return fail(Outcome::SyntaxErrors, std::move(cut_.messages));
  }
  if (auto messages = read_trees(cut_, options_.name, trees_)) {
    return fail(Outcome::SyntaxErrors, std::move(messages));
  }
  if (!find_depths(cut_.lines, cut_.lexed)) {
    return refuse({"branches of a condition leave different blocks open for the line behind them", false});
  }
  return format_lines();
}

}  // namespace

FormatResult format(std::string_view text, const FormatOptions& options) {
  return Formatter(text, options).run();
}

}  // namespace tessera::formatter
