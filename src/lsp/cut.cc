#include "lsp/cut.h"

#include <algorithm>
#include <iterator>

namespace tessera::lsp {

namespace {

constexpr std::string_view declaration_words[] = {"def", "module", "const", "param", "dim", "import", "from", "@"};
constexpr std::string_view continuing_words[] = {"else", "elif"};

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool begins_with_word(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return false;
  if (!is_name_char(word.back())) return true;
  return line.size() == word.size() || !is_name_char(line[word.size()]);
}

template <size_t N>
bool begins_with_any(std::string_view line, const std::string_view (&words)[N]) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return begins_with_word(line, word); });
}

/// What a line inside brackets does not begin with at the first column.
bool must_begin(std::string_view line) { return begins_with_any(line, declaration_words); }

/// Follows brackets and strings from line to line.
class LineState {
 public:
  bool inside() const { return depth_ > 0 || !quote_.empty() || continued_; }
  bool in_string() const { return !quote_.empty(); }
  void forget() {
    depth_ = 0;
    continued_ = false;
  }
  void read(std::string_view line);

 private:
  /// Skips a string that begins at `at`; a short one ends with its line.
  size_t skip_string(std::string_view line, size_t at);
  size_t skip_long(std::string_view line, size_t at);

  size_t depth_ = 0;
  bool continued_ = false;
  std::string_view quote_;  ///< of the long string that goes on
};

size_t LineState::skip_long(std::string_view line, size_t at) {
  while (at < line.size()) {
    if (line[at] == '\\') {
      at += 2;
    } else if (line.substr(at).starts_with(quote_)) {
      at += 3;
      quote_ = {};
      return at;
    } else {
      ++at;
    }
  }
  return line.size();
}

size_t LineState::skip_string(std::string_view line, size_t at) {
  for (std::string_view quote : {std::string_view("\"\"\""), std::string_view("'''")}) {
    if (!line.substr(at).starts_with(quote)) continue;
    quote_ = quote;
    return skip_long(line, at + 3);
  }
  char quote = line[at++];
  while (at < line.size() && line[at] != quote) at += line[at] == '\\' ? 2 : 1;
  return std::min(at + 1, line.size());
}

void LineState::read(std::string_view line) {
  continued_ = false;
  size_t at = quote_.empty() ? 0 : skip_long(line, 0);
  while (at < line.size()) {
    char c = line[at];
    if (c == '#') return;
    if (c == '"' || c == '\'') {
      at = skip_string(line, at);
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    continued_ = c == '\\' && at + 1 == line.size();
    ++at;
  }
}

/// The line at `begin` without its end.
std::string_view line_at(std::string_view text, size_t begin) {
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

size_t after_line(std::string_view text, size_t begin) {
  size_t end = text.find('\n', begin);
  return end == std::string_view::npos ? text.size() : end + 1;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\f") == std::string_view::npos;
}

}  // namespace

std::vector<Range> cut_declarations(std::string_view text) {
  std::vector<Range> pieces;
  if (text.empty()) return pieces;
  LineState state;
  size_t begin = 0;                            // of the piece
  size_t comments = std::string_view::npos;    // where the comments right above this line begin
  bool has_statement = false;                  // the piece has one already
  bool decorated = false;                      // the statement before is a decorator without its definition
  for (size_t at = 0; at < text.size(); at = after_line(text, at)) {
    std::string_view line = line_at(text, at);
    bool at_column_0 = !line.empty() && line[0] != ' ' && line[0] != '\t';
    if (at_column_0 && !state.in_string() && must_begin(line)) state.forget();
    if (!state.inside() && (is_blank(line) || line[0] == '#')) {
      if (is_blank(line)) comments = std::string_view::npos;
      else if (comments == std::string_view::npos) comments = at;
      continue;
    }
    bool starts = at_column_0 && !state.inside() && !begins_with_any(line, continuing_words) && !decorated;
    if (starts && has_statement) {
      size_t boundary = std::min(comments, at);
      pieces.push_back({uint32_t(begin), uint32_t(boundary)});
      begin = boundary;
    }
    has_statement = true;
    if (at_column_0 && !state.inside()) decorated = line[0] == '@' && line.find(" def ") == std::string_view::npos;
    state.read(line);
    comments = std::string_view::npos;
  }
  pieces.push_back({uint32_t(begin), uint32_t(text.size())});
  return pieces;
}

bool has_directives(std::string_view text) {
  for (size_t at = 0; at < text.size(); at = after_line(text, at)) {
    std::string_view line = line_at(text, at);
    size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line[first] == '%') return true;
  }
  return false;
}

}  // namespace tessera::lsp
