// Runs the generated lexer over bytes, and reports errors of the tokens.

#include "frontend/syntax/lexer.h"

#include <antlr4-runtime.h>

#include "TesseraLexer.h"
#include "frontend/syntax/utf8.h"
#include "support/diagnostic_rows.h"
#include "support/file_kind.h"
#include "support/other_language.h"
#include "support/render/columns.h"

namespace tessera {

namespace {

#define TOKEN(name, grammar_name, display)                                              \
  static_assert(size_t(TokenKind::name) == size_t(grammar::TesseraLexer::grammar_name), \
                "token_kinds.def and the grammar disagree");
#include "frontend/syntax/token_kinds.def"
#undef TOKEN

/// The bytes of a file as the lexer's characters; see TesseraLexer.g4 for the mapping. Indices are
/// byte offsets, so token places need no conversion.
class ByteStream : public antlr4::CharStream {
 public:
  explicit ByteStream(std::string_view text) : text_(text) {}

  void consume() override { ++index_; }
  size_t LA(ssize_t i) override {
    size_t at = i > 0 ? index_ + size_t(i) - 1 : index_ - size_t(-i);
    if (i == 0 || at >= text_.size()) return antlr4::IntStream::EOF;
    uint8_t byte = uint8_t(text_[at]);
    if (byte >= 0x80) return 0x7F;
    return byte == 0x7F ? 0 : byte;
  }
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  size_t index() override { return index_; }
  void seek(size_t index) override { index_ = index; }
  size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return "source"; }
  std::string getText(const antlr4::misc::Interval& interval) override {
    size_t begin = size_t(interval.a);
    return std::string(text_.substr(begin, size_t(interval.b) - begin + 1));
  }
  std::string toString() const override { return std::string(text_); }

 private:
  std::string_view text_;
  size_t index_ = 0;
};

/// Reports what is broken, at most one message for a run of unknown characters.
class TokenChecker {
 public:
  TokenChecker(FileId file, std::string_view text, const SourceFile& source,
               DiagnosticEngine& diagnostics)
      : file_(file), text_(text), source_(source), diagnostics_(diagnostics) {}

  void check_bytes();
  void check(const RawToken& token);
  bool is_blank(const RawToken& token);
  void report_blanks();

 private:
  Loc loc(size_t offset, size_t length) const {
    return source_.locate(file_, uint32_t(offset), uint32_t(length));
  }
  void unknown(const RawToken& token);
  void find_invisible(const RawToken& token);
  void find_c_directive(const RawToken& token);
  bool quoted(size_t offset, std::string_view character);
  bool in_foreign_comment(size_t offset) const;

  FileId file_;
  std::string_view text_;
  const SourceFile& source_;
  DiagnosticEngine& diagnostics_;
  size_t invalid_at_ = std::string_view::npos;
  size_t unknown_end_ = std::string_view::npos;
  size_t quoted_end_ = 0;      ///< of what stands between curly quotes, which is reported
  bool lone_returns_ = false;  ///< reported
  std::vector<std::pair<size_t, size_t>> blanks_;  ///< what looks like white space and is none
};

void TokenChecker::check_bytes() {
  invalid_at_ = find_invalid_utf8(text_);
  if (invalid_at_ != std::string_view::npos) {
    diagnostics_.report(diag::invalid_utf8, loc(invalid_at_, 1),
                        fmt::format("0x{:02x}", uint8_t(text_[invalid_at_])));
  }
  size_t nul = text_.find('\0');
  if (nul != std::string_view::npos) diagnostics_.report(diag::nul_byte, loc(nul, 1));
}

void TokenChecker::unknown(const RawToken& token) {
  bool continues = token.offset == unknown_end_;
  unknown_end_ = token.offset + token.length;
  if (continues || text_[token.offset] == '\0') return;
  std::string_view text = text_.substr(token.offset, token.length);
  size_t bad = find_invalid_utf8(text);
  if (bad != std::string_view::npos) return;
  size_t length = utf8_sequence_length(text);
  std::string_view character = text.substr(0, length);
  if (token.offset < quoted_end_ || quoted(token.offset, character)) return;
  if (character == "\r") {
    if (std::exchange(lone_returns_, true)) return;
    diagnostics_.report(diag::unknown_character, loc(token.offset, length), character)
        .help("lines end in '\\n' or in '\\r\\n'");
    return;
  }
  auto report = diagnostics_.report(diag::unknown_character, loc(token.offset, length), character);
  constexpr std::pair<std::string_view, std::string_view> signs[] = {
      {"\u2212", "-"}, {"\u2013", "-"}, {"\u00D7", "*"},  {"\u00B7", "*"},  {"\u00F7", "/"},
      {"\u2264", "<="}, {"\u2265", ">="}, {"\u2260", "!="}, {"\u2192", "->"}};
  if (character == "?") {
    size_t before = text_.find_last_not_of(' ', token.offset - 1);
    bool is_extent = token.offset > 0 && before != text_.npos && (text_[before] == '[' || text_[before] == ',');
    report.help(is_extent ? std::string(help_for_open_size)
                          : "a choice is 'a if c else b', and element by element where(c, a, b)");
  }
  for (const auto& [sign, ours] : signs) {
    if (sign == character) report.fix(fmt::format("write '{}'", ours), loc(token.offset, length), std::string(ours));
  }
  if (character == "\\") report.help("a line is continued by a '\\' that ends it");
}

/// A string between curly quotes is one error; one of them alone is, too.
bool TokenChecker::quoted(size_t offset, std::string_view character) {
  bool is_single = character == "\u2018" || character == "\u2019";
  bool is_double = character == "\u201C" || character == "\u201D";
  if (!is_single && !is_double) return false;
  std::string_view rest = text_.substr(offset + character.size());
  rest = rest.substr(0, rest.find('\n'));
  std::string straight = is_single ? "'" : "\"";
  size_t end = rest.find(is_single ? "\u2019" : "\u201D");
  std::vector<Edit> edits = {{loc(offset, character.size()), straight}};
  if (end != rest.npos) {
    quoted_end_ = offset + 2 * character.size() + end;
    edits.push_back({loc(quoted_end_ - character.size(), character.size()), straight});
  }
  diagnostics_.report(diag::unknown_character, loc(offset, character.size()), character)
      .fix("strings stand between straight quotes", std::move(edits));
  return true;
}

/// Those of a file come from one setting of an editor.
void TokenChecker::report_blanks() {
  if (blanks_.empty()) return;
  std::vector<Edit> edits;
  for (auto [offset, length] : blanks_) edits.push_back({loc(offset, length), " "});
  std::string_view first = text_.substr(blanks_[0].first, blanks_[0].second);
  diagnostics_.report(diag::unknown_character, edits[0].loc, blank_name(first))
      .fix(blanks_.size() == 1 ? "write a space" : "write spaces", std::move(edits));
}

/// Whether the line begins with '//', which is reported where lines are read.
bool TokenChecker::in_foreign_comment(size_t offset) const {
  std::string_view before = text_.substr(0, offset);
  before = before.substr(before.rfind('\n') + 1);
  return before.substr(std::min(before.size(), before.find_first_not_of(" \t"))).starts_with("//");
}

/// Whether a token is white space of other scripts and programs; each character of it is remembered.
bool TokenChecker::is_blank(const RawToken& token) {
  std::string_view rest = text_.substr(token.offset, token.length);
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t at = 0; at < rest.size(); at += found.back().second) {
    size_t length = utf8_sequence_length(rest.substr(at));
    if (blank_name(rest.substr(at, length)).empty()) return false;
    found.emplace_back(token.offset + at, length);
  }
  blanks_.insert(blanks_.end(), found.begin(), found.end());
  return true;
}

void TokenChecker::check(const RawToken& token) {
  std::string_view text = text_.substr(token.offset, token.length);
  switch (token.kind) {
    case TokenKind::UnterminatedString: {
      if (in_foreign_comment(token.offset)) return;
      bool is_long = text.starts_with("\"\"\"") || text.starts_with("'''");
      std::string quote(text.substr(0, is_long ? 3 : 1));
      diagnostics_
          .report(diag::unterminated_string, loc(token.offset, is_long ? 3 : token.length), quote)
          .fix(fmt::format("end the string with {}", quote), loc(token.offset + token.length, 0), quote);
      return;
    }
    case TokenKind::BadNumber:
      diagnostics_.report(diag::malformed_number, loc(token.offset, token.length), text);
      return;
    case TokenKind::NonAscii:
    case TokenKind::Unknown: unknown(token); return;
    case TokenKind::Comment: find_c_directive(token); [[fallthrough]];
    case TokenKind::String: find_invisible(token); return;
    default: return;
  }
}

/// A comment that C would read as a directive. Words with other text behind them are left alone, as people write them.
void TokenChecker::find_c_directive(const RawToken& token) {
  std::string_view text = text_.substr(token.offset, token.length);
  bool begins_line = token.offset == 0 || text_[token.offset - 1] == '\n';
  size_t end = std::min(text.find_first_of(" \t\r"), text.size());
  std::string_view word = text.substr(0, end), rest = text.substr(end);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  bool has_name = !rest.empty() && (std::isalpha(static_cast<unsigned char>(rest[0])) || rest[0] == '_');
  bool of_name = word == "#define" || word == "#ifdef" || word == "#ifndef" || word == "#undef";
  bool is_include = word == "#include" && (rest.starts_with('"') || rest.starts_with('<'));
  bool is_condition = word == "#if" && (rest.starts_with("defined") || rest.starts_with("!defined"));
  if (!begins_line || !((of_name && has_name) || is_include || is_condition)) return;
  Loc place = loc(token.offset, word.size());
  auto report = diagnostics_.report(diag::c_directive, place, word);
  if (word == "#define" || is_include || is_condition) {
    report.fix("a directive begins with '%'", place, fmt::format("%{}", word.substr(1)));
  } else if (word == "#undef") {
    report.help("a macro keeps its meaning");
  } else {
    report.help(fmt::format("a condition is '%if {}defined(NAME)', whose NAME is given with -D",
                            word == "#ifdef" ? "" : "not "));
  }
}

/// Comments and strings take any character, also such as make the text look like another one.
void TokenChecker::find_invisible(const RawToken& token) {
  std::string_view text = text_.substr(token.offset, token.length);
  std::vector<Edit> edits;
  std::string first;
  for (size_t at = 0; at < text.size();) {
    Character c = next_character(text.substr(at));
    if (c.is_valid && is_invisible(c.value)) {
      if (edits.empty()) first = fmt::format("U+{:04X}", uint32_t(c.value));
      edits.push_back({loc(token.offset + at, c.length), ""});
    }
    at += c.length;
  }
  if (edits.empty()) return;
  Loc place = edits[0].loc;
  bool is_string = token.kind == TokenKind::String;
  auto report = diagnostics_.report(diag::invisible_character, place, is_string ? "a string" : "a comment", first);
  std::string advice = edits.size() == 1 ? "leave it out" : "leave them out";
  report.fix(std::move(advice), std::move(edits));
  if (is_string) report.help("where the text needs it, an escape such as '\\u200b' shows that it is there");
}

TokenRole first_role(TokenKind kind) {
  return is_trivia(kind) ? TokenRole::Trivia : TokenRole::Code;
}

}  // namespace

LexedFile lex_file(FileId file, const SourceManager& sources, DiagnosticEngine& diagnostics) {
  const SourceFile& source = sources.file(file);
  std::string_view text = source.text();
  LexedFile lexed{file, {}};
  if (text.size() > max_file_bytes) {
    diagnostics.report(diag::unsupported_file_size, Loc{file, 0, 0, 0}, source.name(),
                       max_file_bytes >> 20);
    lexed.tokens.push_back({TokenKind::Unknown, TokenRole::Inactive, 0, uint32_t(text.size())});
    return lexed;
  }
  if (std::string_view kind = foreign_kind(text); !kind.empty()) {
    diagnostics.report(diag::not_source, Loc{file, 0, 0, 0}, source.name(), kind);
    lexed.tokens.push_back({TokenKind::Unknown, TokenRole::Inactive, 0, uint32_t(text.size())});
    return lexed;
  }
  if (std::optional<OtherLanguage> other = find_other_language(text)) {
    diagnostics.report(diag::not_source, source.locate(file, other->offset, other->length), source.name(), other->name)
        .help(fmt::format("{} says how the same is written here", other->page));
    lexed.tokens.push_back({TokenKind::Unknown, TokenRole::Inactive, 0, uint32_t(text.size())});
    return lexed;
  }
  TokenChecker checker(file, text, source, diagnostics);
  checker.check_bytes();
  uint32_t begin = 0;
  if (text.starts_with("\xEF\xBB\xBF")) {
    lexed.tokens.push_back({TokenKind::Space, TokenRole::Trivia, 0, 3});
    begin = 3;
  }
  ByteStream stream(text.substr(begin));
  grammar::TesseraLexer lexer(&stream);
  while (true) {
    std::unique_ptr<antlr4::Token> token = lexer.nextToken();
    if (token->getType() == antlr4::Token::EOF) break;
    uint32_t offset = begin + uint32_t(token->getStartIndex());
    uint32_t length = uint32_t(token->getStopIndex() - token->getStartIndex() + 1);
    TokenKind kind = TokenKind(token->getType());
    RawToken& added = lexed.tokens.emplace_back(RawToken{kind, first_role(kind), offset, length});
    if (kind == TokenKind::NonAscii && checker.is_blank(added)) {
      added.kind = TokenKind::Space;
      added.role = TokenRole::Trivia;
    }
    checker.check(added);
  }
  checker.report_blanks();
  return lexed;
}

}  // namespace tessera
