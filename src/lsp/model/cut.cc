#include "lsp/model/cut.h"

#include <algorithm>
#include <iterator>

#include "frontend/syntax/text_brackets.h"

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

/// The line begins with '%', after white space.
bool is_directive(std::string_view line) {
  size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '%';
}

bool is_directive(std::string_view line, std::string_view name) {
  size_t first = line.find_first_not_of(" \t");
  return is_directive(line) && begins_with_word(line.substr(first + 1), name);
}

/// What the next line of code after directives says of them.
class CodeAhead {
 public:
  explicit CodeAhead(std::string_view text) : text_(text) {}

  /// Whether the next line from `at` that is code begins at the first column, or there is none.
  bool is_at_column_0(size_t at) {
    if (asked_ && at <= known_) return answer_;
    asked_ = true;
    for (known_ = at; known_ < text_.size(); known_ = after_line(text_, known_)) {
      std::string_view line = line_at(text_, known_);
      size_t first = line.find_first_not_of(" \t\r\f");
      if (first != std::string_view::npos && line[first] != '#' && line[first] != '%') break;
    }
    answer_ = known_ >= text_.size() || (text_[known_] != ' ' && text_[known_] != '\t');
    return answer_;
  }

 private:
  std::string_view text_;
  size_t known_ = 0;  ///< a line of code: from where it was looked for up to it the answer is the same
  bool answer_ = false;
  bool asked_ = false;
};

/// Goes through the lines of a text and decides where a piece begins.
class Cutter {
 public:
  explicit Cutter(std::string_view text) : text_(text), ahead_(text) {}

  std::vector<Range> run() {
    for (size_t at = 0; at < text_.size(); at = after_line(text_, at)) read(line_at(text_, at), at);
    pieces_.push_back({uint32_t(begin_), uint32_t(text_.size())});
    if (is_divided_ || definitions_ > most_definitions) pieces_ = {{0, uint32_t(text_.size())}};
    return std::move(pieces_);
  }

 private:
  static constexpr size_t none = std::string_view::npos;

  void read(std::string_view line, size_t at);
  void read_directive(std::string_view line, size_t at);
  void begin(size_t at) {
    size_t boundary = std::min(comments_, at);
    if (has_statement_) pieces_.push_back({uint32_t(begin_), uint32_t(boundary)});
    if (has_statement_) begin_ = boundary;
  }

  std::string_view text_;
  CodeAhead ahead_;
  TextBrackets state_;
  std::vector<Range> pieces_;
  size_t begin_ = 0;            ///< of the piece
  size_t comments_ = none;      ///< where the comments right above this line begin
  bool has_statement_ = false;  ///< the piece has one already
  bool decorated_ = false;      ///< the statement before is a decorator without its definition
  size_t depth_ = 0;            ///< conditions that are open
  bool after_directive_ = false;  ///< the piece has directives alone so far
  bool is_divided_ = false;     ///< a declaration goes on after directives that are a piece
  size_t definitions_ = 0;
};

void Cutter::read_directive(std::string_view line, size_t at) {
  is_divided_ = is_divided_ || decorated_;
  if (depth_ == 0 && ahead_.is_at_column_0(at)) {
    begin(at);
    after_directive_ = true;
  }
  if (is_directive(line, "if")) ++depth_;
  if (is_directive(line, "endif") && depth_ > 0) --depth_;
  if (is_directive(line, "define")) ++definitions_;
}

void Cutter::read(std::string_view line, size_t at) {
  bool at_column_0 = !line.empty() && line[0] != ' ' && line[0] != '\t';
  if (at_column_0 && !state_.in_string() && must_begin(line)) state_.forget();
  if (!state_.inside() && (is_blank(line) || line[0] == '#')) {
    if (is_blank(line)) comments_ = none;
    else if (comments_ == none) comments_ = at;
    return;
  }
  if (!state_.inside() && is_directive(line)) {
    read_directive(line, at);
  } else {
    bool begins = at_column_0 && !state_.inside() && !begins_with_any(line, continuing_words) && !decorated_;
    if (begins && depth_ == 0) begin(at);
    bool goes_on = !begins && !state_.inside() && depth_ == 0 && line.find_first_not_of(" \t") != none &&
                   line[line.find_first_not_of(" \t")] != '#';
    if (after_directive_ && goes_on) is_divided_ = true;
    if (begins && depth_ == 0) after_directive_ = false;
    if (at_column_0 && !state_.inside()) decorated_ = line[0] == '@' && line.find(" def ") == none;
  }
  has_statement_ = true;
  state_.read(line);
  comments_ = none;
}

}  // namespace

std::vector<Range> cut_declarations(std::string_view text) {
  return text.empty() ? std::vector<Range>() : Cutter(text).run();
}

bool has_directives(std::string_view text) {
  for (size_t at = 0; at < text.size(); at = after_line(text, at)) {
    if (is_directive(line_at(text, at))) return true;
  }
  return false;
}

bool has_includes(std::string_view text) {
  for (size_t at = 0; at < text.size(); at = after_line(text, at)) {
    if (is_directive(line_at(text, at), "include")) return true;
  }
  return false;
}

}  // namespace tessera::lsp
