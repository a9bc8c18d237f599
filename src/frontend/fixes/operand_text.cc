#include "frontend/fixes/operand_text.h"

#include <algorithm>
#include <cctype>

#include "frontend/syntax/text_brackets.h"

namespace tessera::frontend {

namespace {

/// The text of a place that lies on one line.
std::string_view text_of(const SourceManager& sources, Loc loc) {
  if (!is_operand(sources, loc)) return {};
  return sources.file(loc.file).line(loc.line).substr(loc.column - 1, loc.length);
}

/// Whether a text is a name, a call or the like, behind which '.T' belongs to all of it.
bool is_primary(std::string_view text) {
  bool is_one = !text.empty() && std::string_view("\"'0123456789").find(text[0]) == std::string_view::npos;
  TextBrackets().read(text, [&](size_t at, size_t depth) {
    unsigned char c = static_cast<unsigned char>(text[at]);
    bool is_part = depth > 0 || std::isalnum(c) || c == '_' || c == '.' || c == ')' || c == ']' || c >= 0x80;
    return is_one = is_one && is_part;
  });
  return is_one;
}

/// The place with the brackets that stand directly around it, if any do.
Loc with_brackets(const SourceManager& sources, Loc loc) {
  std::string_view line = sources.file(loc.file).line(loc.line);
  size_t begin = loc.column - 1, end = begin + loc.length;
  bool is_bracketed = begin > 0 && line[begin - 1] == '(' && end < line.size() && line[end] == ')';
  // The bracket of a call is none of its argument's.
  auto is_part = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == ']' || c == ')' || c >= 0x80; };
  if (!is_bracketed || (begin > 1 && is_part(static_cast<unsigned char>(line[begin - 2])))) return loc;
  return {loc.file, loc.line, loc.column - 1, loc.length + 2};
}

}  // namespace

std::string source_text(const SourceManager& sources, Loc loc) {
  std::string_view line = sources.file(loc.file).line(loc.line);
  if (loc.column == 0 || loc.column > line.size()) return "…";
  return std::string(line.substr(loc.column - 1, loc.length));
}

std::string bracketed_text(const SourceManager& sources, Loc loc) {
  std::string text = source_text(sources, loc);
  auto is_of_number = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
  return is_primary(text) || std::ranges::all_of(text, is_of_number) ? text : "(" + text + ")";
}

bool is_operand(const SourceManager& sources, Loc loc) {
  std::string_view line = sources.file(loc.file).line(loc.line);
  if (!loc.known() || loc.length == 0 || loc.column - 1 + loc.length > line.size()) return false;
  std::string_view text = line.substr(loc.column - 1, loc.length);
  bool has_comma = false;
  TextBrackets().read(text, [&](size_t at, size_t depth) { return !(has_comma = depth == 0 && text[at] == ','); });
  return !has_comma;
}

bool is_compared(const SourceManager& sources, Loc first, Loc last) {
  if (text_of(sources, first).empty() || text_of(sources, last).empty()) return false;
  first = with_brackets(sources, first);
  last = with_brackets(sources, last);
  std::string_view before = sources.file(first.file).line(first.line).substr(0, first.column - 1);
  std::string_view behind = sources.file(last.file).line(last.line).substr(last.column - 1 + last.length);
  before = before.substr(0, before.find_last_not_of(' ') + 1);
  behind = behind.substr(std::min(behind.size(), behind.find_first_not_of(' ')));
  auto stands = [&](std::string_view sign) { return before.ends_with(sign) || behind.starts_with(sign); };
  constexpr std::string_view shifts[] = {"<<", ">>"}, signs[] = {"==", "!=", "<=", ">=", "<", ">"};
  return std::ranges::none_of(shifts, stands) && std::ranges::any_of(signs, stands);
}

std::vector<Edit> postfixed(const SourceManager& sources, Loc loc, std::string_view suffix) {
  std::string_view text = text_of(sources, loc);
  if (text.empty()) return {};
  Loc whole = with_brackets(sources, loc);
  if (is_primary(text) || whole != loc) return {{whole.behind(), std::string(suffix)}};
  return {{loc.before(), "("}, {loc.behind(), ")" + std::string(suffix)}};
}

std::optional<std::string> called_with(const SourceManager& sources, Loc name) {
  std::string_view line = sources.file(name.file).line(name.line);
  size_t open = name.column - 1 + name.length;
  if (!name.known() || open >= line.size() || line[open] != '(') return std::nullopt;
  size_t end = line.find_first_of("(),", open + 1);
  if (end == std::string_view::npos || line[end] != ')') return std::nullopt;
  return std::string(line.substr(open + 1, end - open - 1));
}

std::vector<Edit> as_function(const SourceManager& sources, Loc object, Loc name, std::string_view callee,
                              std::string_view argument) {
  std::optional<std::string> given = called_with(sources, name);
  bool is_written = given && is_operand(sources, object) && object.line == name.line;
  if (!is_written) return {};
  Loc member = name;
  member.column -= 1;
  member.length += 3 + uint32_t(given->size());  // with '.' and brackets
  return {{object.before(), std::string(callee) + "("}, {member, ", " + std::string(argument) + ")"}};
}

std::vector<Edit> exchanged(const SourceManager& sources, Loc first, Loc second, bool is_operator) {
  if (text_of(sources, first).empty() || text_of(sources, second).empty()) return {};
  auto moved = [&](Loc loc) {
    Loc whole = with_brackets(sources, loc);
    return is_operator && whole == loc ? bracketed_text(sources, loc) : source_text(sources, whole);
  };
  return {{with_brackets(sources, first), moved(second)}, {with_brackets(sources, second), moved(first)}};
}

}  // namespace tessera::frontend
