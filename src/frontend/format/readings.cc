#include "frontend/format/readings.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend/format/line_tokens.h"
#include "frontend/syntax/lexer.h"
#include "frontend/syntax/parse.h"
#include "support/diagnostic_rows.h"

namespace tessera::formatter {

namespace {

/// Leaves the branches with errors as they are, and says whether there are any new ones; nothing if an error is outside
/// of all.
std::optional<bool> set_aside(Branches& branches, const Messages& messages) {
  bool any = false;
  for (const Diagnostic& diagnostic : messages.diagnostics.all()) {
    if (diagnostic.severity != Severity::Error) continue;
    bool is_text = diagnostic.id != DiagId::invalid_utf8 && diagnostic.id != DiagId::nul_byte;
    if (!is_text || !diagnostic.loc.known() || !branches.is_inside(diagnostic.loc.line - 1)) return std::nullopt;
    any |= branches.make_raw(diagnostic.loc.line - 1);
  }
  return any;
}

}  // namespace

bool cut(std::string_view text, const std::string& name, CutText& out) {
  SourceManager& sources = out.messages->sources;
  DiagnosticEngine& diagnostics = out.messages->diagnostics;
  FileId file = sources.add(name, std::string(text));
  out.lexed = lex_file(file, sources, diagnostics);
  bool is_sound = !diagnostics.has_errors();
  out.lines = cut_lines(out.lexed, out.text());
  DiagnosticEngine unsaid(sources);  // what broken tokens leave of directives is no other error
  Result<Branches> branches = Branches::find(out.lines, out.lexed, is_sound ? diagnostics : unsaid);
  if (!branches) return false;
  if (!is_sound && !set_aside(*branches, *out.messages).has_value()) return false;
  for (const SourceLine& line : out.lines) {
    if (line.is_open) branches->make_raw(line.first);
  }
  out.branches = std::move(*branches);
  return true;
}

std::string read_tree(std::string text, const std::string& name, Messages& messages) {
  messages.diagnostics.set_error_limit(0);
  FileId file = messages.sources.add(name, std::move(text));
  ParseOptions options;
  options.read = [](const std::string&, std::string& text, std::string&) {
    text.clear();
    return true;
  };
  return print_ast(parse_source(file, messages.sources, options, messages.diagnostics));
}

std::unique_ptr<Messages> read_trees(CutText& cut, const std::string& name,
                                     std::vector<std::string>& trees) {
  // Each time round a branch has become raw, and then its reading is gone.
  for (size_t number = 0; number < cut.branches->reading_count();) {
    auto messages = std::make_unique<Messages>();
    std::string tree = read_tree(cut.branches->reading(cut.text(), number), name, *messages);
    if (!messages->diagnostics.has_errors()) {
      trees.push_back(std::move(tree));
      ++number;
      continue;
    }
    if (!set_aside(*cut.branches, *messages).value_or(false)) return messages;
    trees.clear();
    number = 0;
  }
  return nullptr;
}

namespace {

/// The tokens that formatting keeps, with their texts; what it may add or drop is left out.
std::vector<std::pair<TokenKind, std::string_view>> kept_tokens(const CutText& cut) {
  std::vector<std::pair<TokenKind, std::string_view>> found;
  for (const RawToken& token : cut.lexed.tokens) {
    bool may_change = token.kind == TokenKind::Comma || token.kind == TokenKind::Semicolon ||
                      token.kind == TokenKind::Lparen || token.kind == TokenKind::Rparen;
    if (is_trivia(token.kind) || may_change) continue;
    found.emplace_back(token.kind, cut.text().substr(token.offset, token.length));
  }
  return found;
}

/// In alphabetical order: one may move to the end of its line.
std::vector<std::string_view> comments(const CutText& cut) {
  std::vector<std::string_view> found;
  for (const RawToken& token : cut.lexed.tokens) {
    if (token.kind != TokenKind::Comment) continue;
    std::string_view text = cut.text().substr(token.offset, token.length);
    found.push_back(without_end(text));
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The first line (of the file, from 0) that no reading of the first text has and some reading of the second has; such
/// lines keep their texts.
std::optional<uint32_t> newly_read(const CutText& before, const CutText& after) {
  auto is_raw = [](const SourceLine& line) { return line.raw && line.kind != LineKind::Blank; };
  auto text_of = [](const CutText& cut, const SourceLine& line) {
    return cut.text().substr(line.offset, line.end_offset - line.offset);
  };
  auto other = after.lines.begin();
  for (const SourceLine& line : before.lines) {
    if (!is_raw(line)) continue;
    other = std::find_if(other, after.lines.end(), is_raw);
    if (other == after.lines.end() || text_of(before, line) != text_of(after, *other)) return line.first;
    ++other;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Difference> find_difference(const CutText& before, const std::vector<std::string>& trees,
                                          std::string_view after, const std::string& name) {
  CutText other;
  if (!cut(after, name, other)) return Difference{"the formatted text has broken tokens"};
  if (kept_tokens(before) != kept_tokens(other)) return Difference{"the formatted text has other tokens"};
  if (comments(before) != comments(other)) return Difference{"the formatted text has other comments"};
  // A branch keeps its place among the branches, so that its line in the one text says it for both.
  std::vector<std::string> others;
  if (read_trees(other, name, others) != nullptr) return Difference{"the formatted text does not parse"};
  if (std::optional<uint32_t> line = newly_read(before, other)) {
    return Difference{fmt::format("line {} does not parse in its branch of a condition, and would parse once the lines "
                                  "before it are formatted: correct the branch first",
                                  *line + 1),
                      false};
  }
  if (others != trees) return Difference{"the formatted text has another tree"};
  return std::nullopt;
}

}  // namespace tessera::formatter
