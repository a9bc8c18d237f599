#include "frontend/index/source_text.h"

#include <algorithm>
#include <vector>

namespace tessera::frontend {

namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// The bytes of a place, which may run over several lines.
std::string_view text_of(const SourceFile& file, Loc loc) {
  std::string_view line = file.line(loc.line);
  if (line.data() == nullptr || loc.column == 0 || loc.column > line.size()) return {};
  size_t start = size_t(line.data() - file.text().data()) + loc.column - 1;
  return file.text().substr(start, loc.length);
}

/// What a string literal opens with at this place: a quote or three; empty for none.
std::string_view quote_at(std::string_view text, size_t at) {
  char c = text[at];
  if (c != '"' && c != '\'') return {};
  bool triple = text.size() - at >= 3 && text[at + 1] == c && text[at + 2] == c;
  return text.substr(at, triple ? 3 : 1);
}

/// Behind the literal that opens at `at`.
size_t end_of_string(std::string_view text, size_t at, std::string_view quote) {
  for (size_t i = at + quote.size(); i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text.substr(i, quote.size()) == quote) {
      return i + quote.size();
    }
  }
  return text.size();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == text.npos) return lines;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string one_line(const SourceManager& sources, Loc loc, size_t limit) {
  if (!loc.known()) return {};
  std::string_view text = text_of(sources.file(loc.file), loc);
  std::string line;
  bool blank = false;
  for (size_t i = 0; i < text.size() && line.size() <= limit;) {
    char c = text[i];
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      blank = !line.empty();
      ++i;
    } else {
      // A bracket that a line break stands beside is written as on one line.
      bool tight = line.ends_with('(') || line.ends_with('[') || c == ')' || c == ']';
      if (blank && !tight) line += ' ';
      blank = false;
      std::string_view quote = quote_at(text, i);
      size_t end = quote.empty() ? i + 1 : end_of_string(text, i, quote);
      line += text.substr(i, end - i);
      i = end;
    }
  }
  if (line.size() <= limit) return line;
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  line.resize(end);
  return line + "…";
}

std::string comment_above(const SourceManager& sources, Loc loc) {
  if (!loc.known()) return {};
  const SourceFile& file = sources.file(loc.file);
  std::vector<std::string_view> lines;
  for (uint32_t line = loc.line; line-- > 1;) {
    std::string_view text = trimmed(file.line(line));
    if (!text.starts_with('#')) break;
    text.remove_prefix(1);
    if (text.starts_with(' ')) text.remove_prefix(1);
    lines.push_back(text);
  }
  std::string comment;
  for (size_t i = lines.size(); i-- > 0;) {
    comment += lines[i];
    if (i > 0) comment += '\n';
  }
  return comment;
}

std::string dedented(std::string_view docstring) {
  std::vector<std::string_view> lines = lines_of(docstring);
  size_t indent = docstring.npos;
  for (size_t i = 1; i < lines.size(); ++i) {
    indent = std::min(indent, lines[i].find_first_not_of(blanks));
  }
  std::string text;
  size_t empty = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    if (i > 0 && indent != line.npos) line.remove_prefix(std::min(indent, line.size()));
    if (i == 0) line = trimmed(line);
    line = line.substr(0, line.find_last_not_of(blanks) + 1);
    if (line.empty()) {
      ++empty;
      continue;
    }
    if (!text.empty()) text.append(empty + 1, '\n');
    empty = 0;
    text += line;
  }
  return text;
}

}  // namespace tessera::frontend
