#include "frontend/syntax/preprocessor.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "frontend/syntax/brackets.h"
#include "frontend/syntax/condition.h"
#include "frontend/syntax/directive.h"
#include "frontend/syntax/include_roots.h"
#include "frontend/syntax/lexer.h"
#include "frontend/syntax/literal.h"
#include "frontend/syntax/macro.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

class Preprocessor {
 public:
  Preprocessor(SourceManager& sources, const ParseOptions& options, DiagnosticEngine& diagnostics)
      : sources_(sources),
        options_(options),
        diagnostics_(diagnostics),
        result_{TokenBuffer(sources), {}},
        macros_(result_.buffer, diagnostics) {}

  void run_file(FileId file);
  void read_macros(FileId file);
  Preprocessed take() {
    if (too_many_) result_.buffer.tokens.clear();
    note_skipped();
    result_.names.unused_macros = macros_.unused(result_.files.front().file);
    return std::move(result_);
  }

 private:
  struct Branch {
    Loc loc;            ///< of the %if
    bool outer_active;  ///< the %if itself stands in active text
    bool active;
    bool taken;  ///< some branch was active
    bool has_else;
  };
  /// A file being read.
  struct Reading {
    FileId file;
    Loc included_at;
    size_t index;  ///< in result_.files
  };

  std::vector<RawToken>& raw(const Reading& reading) { return result_.files[reading.index].tokens; }
  /// Width of the white space at the start of a physical line, before the token `at`.
  uint32_t indentation_before(const Reading& reading, size_t at) {
    if (at == 0) return 0;
    const RawToken& token = raw(reading)[at - 1];
    return token.kind == TokenKind::Space ? token.length : 0;
  }
  bool is_decorator(const Reading& reading, size_t at);
  void run_tokens(const Reading& reading);
  size_t foreign_comment(const Reading& reading, size_t at);
  void code(const Reading& reading, size_t at);
  void emit(const Token& token);
  bool goes_on(const Reading& reading, size_t newline);
  bool begins_directive(const Reading& reading, size_t at);
  bool closes_bracket(const Reading& reading, size_t at);
  size_t end_of_condition(const Reading& reading, size_t at);
  void skip_directive(const Reading& reading, size_t& at);
  void end_line(const Token& newline);
  Directive read_directive(const Reading& reading, size_t& at);
  void directive(const Reading& reading, const Directive& directive);
  void unknown(const Reading& reading, const Directive& found, const std::vector<std::string>& names);
  void open_condition(const Directive& directive);
  void else_if(const Directive& directive);
  void else_branch(const Directive& directive);
  void close_condition(const Directive& directive);
  bool evaluate(const Directive& directive);
  void include(const Reading& reading, const Directive& directive);
  FileId find_include(const Reading& reading, const std::string& path, const Directive& directive);
  bool is_cycle(FileId file, Loc loc);
  void error(const Directive& directive);
  void note_condition(const Directive& directive);
  void note_skipped();
  bool expect_no_more(const Directive& directive, size_t used);
  bool active() const { return branches_.empty() || branches_.back().active; }
  /// Whether the text here becomes code.
  bool emits() const { return active() && !macros_only_; }

  SourceManager& sources_;
  const ParseOptions& options_;
  DiagnosticEngine& diagnostics_;
  Preprocessed result_;
  MacroTable macros_;
  std::vector<Reading> stack_;
  std::vector<Branch> branches_;
  BracketTracker* brackets_ = nullptr;
  bool line_open_ = false;
  bool after_comment_ = false;  ///< the line before is a comment of another language
  uint32_t line_indentation_ = 0;
  size_t includes_ = 0;
  bool too_many_ = false;  ///< tokens or includes; the compilation gives up
  bool macros_only_ = false;
};

void Preprocessor::read_macros(FileId file) {
  macros_only_ = true;
  run_file(file);
  macros_only_ = false;
}

void Preprocessor::run_file(FileId file) {
  Loc at = stack_.empty() ? Loc{} : stack_.back().included_at;
  auto known = std::find_if(result_.files.begin(), result_.files.end(),
                            [&](const LexedFile& lexed) { return lexed.file == file; });
  size_t index = size_t(known - result_.files.begin());
  if (known == result_.files.end()) {
    result_.files.push_back(lex_file(file, sources_, diagnostics_));
  }
  std::vector<Branch> outer_branches = std::move(branches_);
  branches_.clear();
  BracketTracker brackets(result_.buffer, diagnostics_);
  BracketTracker* outer_brackets = std::exchange(brackets_, &brackets);
  stack_.push_back({file, at, index});
  run_tokens(stack_.back());
  for (const Branch& branch : branches_) {
    if (too_many_) break;
    diagnostics_.report(diag::unterminated_condition, branch.loc).help("end it with '%endif'");
  }
  stack_.pop_back();
  brackets_ = outer_brackets;
  branches_ = std::move(outer_branches);
}

/// Whether a line begins with '@' and a definition, or another such line, follows it: where it is not
/// indented more than its statement, no operand of a matmul does.
bool Preprocessor::is_decorator(const Reading& reading, size_t at) {
  const std::vector<RawToken>& tokens = raw(reading);
  if (tokens[at].kind != TokenKind::At) return false;
  while (at < tokens.size() && tokens[at].kind != TokenKind::Newline) ++at;
  while (at < tokens.size() && is_trivia(tokens[at].kind)) ++at;
  return at < tokens.size() && (tokens[at].kind == TokenKind::Def || tokens[at].kind == TokenKind::At);
}

/// Whether lines that are indented more follow a line that ends in a comma, and close a bracket which that was to open.
bool Preprocessor::goes_on(const Reading& reading, size_t newline) {
  const std::vector<RawToken>& tokens = raw(reading);
  BracketDepth brackets;
  bool is_first = true;
  for (size_t at = newline; at < tokens.size(); ++at) {
    TokenKind kind = tokens[at].kind;
    if (kind == TokenKind::Newline) is_first = true;
    if (is_trivia(kind)) continue;
    if (is_first && indentation_before(reading, at) <= line_indentation_) return false;
    is_first = false;
    if (brackets.take(kind) == BracketStep::Unopened) return true;
  }
  return false;
}

/// Whether the '%' at the start of a line begins a directive, and is no operator between two operands.
bool Preprocessor::begins_directive(const Reading& reading, size_t at) {
  const std::vector<RawToken>& tokens = raw(reading);
  if (tokens[at].kind != TokenKind::Percent || at + 1 == tokens.size()) return false;
  const RawToken& word = tokens[at + 1];
  if (word.offset != tokens[at].offset + 1) return false;
  if (word.kind == TokenKind::If || word.kind == TokenKind::Elif || word.kind == TokenKind::Else) return true;
  std::string_view name = sources_.file(reading.file).text().substr(word.offset, word.length);
  size_t next = at + 2;
  while (next < tokens.size() && tokens[next].kind == TokenKind::Space) ++next;
  TokenKind kind = next < tokens.size() ? tokens[next].kind : TokenKind::Newline;
  if (name == "include" || name == "error") return kind == TokenKind::String;
  if (name == "define") return kind == TokenKind::Name;
  return name == "endif" && kind == TokenKind::Newline && !branches_.empty();
}

/// Tokens that are looked at for the end of a bracket or a condition. What ends further below counts as forgotten.
constexpr size_t far_below = 10'000;

/// Whether the innermost bracket is closed behind the token, before a statement begins.
bool Preprocessor::closes_bracket(const Reading& reading, size_t at) {
  const std::vector<RawToken>& tokens = raw(reading);
  size_t end = std::min(tokens.size(), at + far_below);
  BracketDepth brackets;
  for (bool is_first = true; at < end; ++at) {
    TokenKind kind = tokens[at].kind;
    if (is_first && brackets_->gives_up_at(kind, TokenKind::Newline, true)) return false;
    if (brackets.take(kind) == BracketStep::Unopened) return true;
    if (kind != TokenKind::Space) is_first = kind == TokenKind::Newline;
  }
  return false;
}

/// The '%' of the '%endif' of the '%if' at `at`; `at` for other directives, and where there is none.
size_t Preprocessor::end_of_condition(const Reading& reading, size_t at) {
  const std::vector<RawToken>& tokens = raw(reading);
  size_t depth = 0, end = std::min(tokens.size(), at + far_below);
  bool is_first = true;
  for (size_t i = at; i + 1 < end; ++i) {
    if (is_first && tokens[i].kind == TokenKind::Percent) {
      const RawToken& word = tokens[i + 1];
      bool is_end = sources_.file(reading.file).text().substr(word.offset, word.length) == "endif";
      depth += word.kind == TokenKind::If;
      depth -= is_end && depth > 0;
      if (depth == 0) return i;
    }
    if (tokens[i].kind != TokenKind::Space) is_first = tokens[i].kind == TokenKind::Newline;
  }
  return at;
}

/// A directive inside of brackets is an error of the whole statement. Branches that begin there may
/// close the bracket each: nobody reads them.
void Preprocessor::skip_directive(const Reading& reading, size_t& at) {
  size_t end = end_of_condition(reading, at);
  Directive found = read_directive(reading, at);
  if (active() && !brackets_->spoilt()) {
    diagnostics_.report(diag::directive_in_brackets, found.loc, found.name)
        .label(brackets_->innermost(), "the bracket is opened here")
        .help("directives stand between statements: choose what differs before, as a 'const' or by '%define', or write "
              "the whole statement in each branch");
    brackets_->spoil();
    if (emits()) {
      const RawToken& last = raw(reading)[at];
      result_.buffer.tokens.push_back({TokenKind::Error, reading.file, last.offset, last.length, 0});
    }
  }
  if (end > at) {
    at = end;
    read_directive(reading, at);
    return;
  }
  bool is_branch = found.name == "if" || found.name == "elif" || found.name == "else" || found.name == "endif";
  if (is_branch) directive(reading, found);
}

void Preprocessor::run_tokens(const Reading& reading_now) {
  const Reading reading = reading_now;
  bool physical_start = true;
  TokenKind before = TokenKind::Newline;
  for (size_t at = 0; at < raw(reading).size() && !too_many_; ++at) {
    RawToken& token = raw(reading)[at];
    Token newline{TokenKind::Newline, reading.file, token.offset, token.length, 0};
    uint32_t indentation = physical_start ? indentation_before(reading, at) : 0;
    bool decorates = physical_start && indentation <= line_indentation_ && is_decorator(reading, at);
    TokenKind begins = decorates ? TokenKind::Def : token.kind;
    bool is_inside = physical_start && brackets_->depth() > 0 && begins_directive(reading, at);
    if (is_inside && (brackets_->spoilt() || closes_bracket(reading, at))) {
      skip_directive(reading, at);
      continue;
    }
    bool may_end = physical_start && !is_trivia(token.kind) && brackets_->may_end_head();
    bool ends_head = may_end && !closes_bracket(reading, at);
    if (is_inside || ends_head ||
        (physical_start && brackets_->gives_up_at(begins, before, indentation > line_indentation_))) {
      end_line({TokenKind::Newline, reading.file, token.offset, 0, 0});
    }
    if (is_trivia(token.kind)) {
      if (!active()) token.role = TokenRole::Inactive;
      if (token.kind != TokenKind::Newline) continue;
      physical_start = true;
      bool ends = brackets_->depth() == 0 && line_open_ && !(before == TokenKind::Comma && goes_on(reading, at));
      if (ends) end_line(newline);
      continue;
    }
    if (!line_open_ && token.kind == TokenKind::Floor) {
      at = foreign_comment(reading, at);
      continue;
    }
    after_comment_ = false;
    if (!line_open_) line_indentation_ = indentation;
    before = token.kind;
    physical_start = false;
    if (token.kind == TokenKind::Percent && !line_open_) {
      directive(reading, read_directive(reading, at));
      physical_start = true;
      continue;
    }
    code(reading, at);
  }
  uint32_t end = uint32_t(sources_.file(reading.file).text().size());
  if (line_open_ && !too_many_) end_line({TokenKind::Newline, reading.file, end, 0, 0});
}

/// `// text`: the first of several such lines is reported, and none is read. Gives the last token of the line.
size_t Preprocessor::foreign_comment(const Reading& reading, size_t at) {
  std::vector<RawToken>& tokens = raw(reading);
  Token slashes{tokens[at].kind, reading.file, tokens[at].offset, tokens[at].length, 0};
  if (active() && !after_comment_) {
    Loc loc = result_.buffer.loc(slashes);
    diagnostics_.report(diag::unexpected_at_start, loc, result_.buffer.describe(slashes))
        .fix("a comment begins with '#'", loc, "#");
  }
  after_comment_ = true;
  size_t end = at;
  while (end < tokens.size() && tokens[end].kind != TokenKind::Newline) ++end;
  for (size_t i = at; i < end; ++i) tokens[i].role = active() ? TokenRole::Trivia : TokenRole::Inactive;
  return end - 1;
}

void Preprocessor::code(const Reading& reading, size_t at) {
  RawToken& token = raw(reading)[at];
  line_open_ = true;
  Token made{token.kind, reading.file, token.offset, token.length, 0};
  if (!emits()) {
    if (!active()) token.role = TokenRole::Inactive;
    brackets_->accept(made);
    return;
  }
  bool after_dot =
      !result_.buffer.tokens.empty() && result_.buffer.tokens.back().kind == TokenKind::Dot;
  if (token.kind == TokenKind::Name && !after_dot && macros_.defines(made)) {
    std::vector<Token> expanded;
    macros_.expand(made, expanded);
    for (const Token& piece : expanded) emit(piece);
    return;
  }
  emit(made);
}

void Preprocessor::emit(const Token& token) {
  std::vector<Token>& out = result_.buffer.tokens;
  if (out.size() >= max_tokens) {
    if (!too_many_) {
      diagnostics_.report(diag::unsupported_token_count, result_.buffer.loc(token), max_tokens);
    }
    too_many_ = true;
    return;
  }
  if (!brackets_->accept(token)) {
    out.push_back(token);
    out.back().kind = TokenKind::Error;
    return;
  }
  if (brackets_->spoilt()) return;
  out.push_back(token);
  if (token.kind == TokenKind::UnterminatedString || token.kind == TokenKind::BadNumber ||
      token.kind == TokenKind::NonAscii || token.kind == TokenKind::Unknown) {
    out.back().kind = TokenKind::Error;
  }
}

void Preprocessor::end_line(const Token& newline) {
  std::vector<Token>& out = result_.buffer.tokens;
  if (!brackets_->end_line() && emits()) {
    out.push_back(newline);
    out.back().kind = TokenKind::Error;
  }
  line_open_ = false;
  bool has_tokens = !out.empty() && out.back().kind != TokenKind::Newline;
  if (emits() && has_tokens) out.push_back(newline);
}

/// Reads from the '%' at `at` to the end of its logical line; leaves `at` on the last token read.
Directive Preprocessor::read_directive(const Reading& reading, size_t& at) {
  std::vector<RawToken>& tokens = raw(reading);
  const SourceFile& source = sources_.file(reading.file);
  auto locate = [&](const RawToken& token) {
    return source.locate(reading.file, token.offset, token.length);
  };
  Directive directive;
  directive.file = reading.file;
  directive.loc = locate(tokens[at]);
  BracketTracker brackets(result_.buffer, diagnostics_);
  size_t end = at;
  bool physical_start = false, is_condition = false;
  TokenKind before = TokenKind::Newline;
  for (; end < tokens.size(); ++end) {
    RawToken& token = tokens[end];
    if (token.kind == TokenKind::Newline && brackets.depth() == 0) break;
    // A bracket left open shall not swallow the directives and definitions that follow.
    bool begins = token.kind == TokenKind::Const || token.kind == TokenKind::Dim || token.kind == TokenKind::Param ||
                  token.kind == TokenKind::Module || token.kind == TokenKind::Import;
    bool is_next = is_condition && brackets.gives_up_at(token.kind, before, false);
    if (physical_start && (token.kind == TokenKind::Percent || begins || is_next ||
                           brackets.gives_up_at(token.kind, TokenKind::Newline, true))) {
      break;
    }
    if (token.kind != TokenKind::Space) physical_start = token.kind == TokenKind::Newline;
    token.role = TokenRole::Directive;
    if (is_trivia(token.kind) || end == at) continue;
    is_condition |= directive.tokens.empty() && (token.kind == TokenKind::If || token.kind == TokenKind::Elif);
    before = token.kind;
    directive.tokens.push_back(token);
    Token made{token.kind, reading.file, token.offset, token.length, 0};
    bool is_broken_number = is_condition && token.kind == TokenKind::BadNumber;
    if (!brackets.accept(made) || token.kind == TokenKind::UnterminatedString || is_broken_number) {
      directive.broken = true;
    }
  }
  uint32_t end_offset = end < tokens.size() ? tokens[end].offset : uint32_t(source.text().size());
  directive.end = source.locate(reading.file, end_offset, 0);
  if (!brackets.end_line()) directive.broken = true;
  if (!directive.tokens.empty()) {
    const RawToken& name = directive.tokens.front();
    bool adjacent = name.offset == tokens[at].offset + 1;
    bool is_word = name.kind == TokenKind::Name || is_keyword(name.kind);
    if (adjacent && is_word) directive.name = source.text().substr(name.offset, name.length);
    if (adjacent && is_word) directive.loc.length += name.length;
  }
  // A line given up at its next token leaves that token to the next line.
  bool at_newline = end < tokens.size() && tokens[end].kind == TokenKind::Newline;
  at = at_newline ? end : end - 1;
  return directive;
}

void Preprocessor::note_condition(const Directive& directive) {
  std::string_view text = sources_.file(directive.file).text();
  for (const RawToken& token : directive.tokens) {
    std::string_view name = text.substr(token.offset, token.length);
    if (token.kind == TokenKind::Name && name != "defined") result_.names.conditions.emplace(name);
  }
}

void Preprocessor::note_skipped() {
  for (const LexedFile& file : result_.files) {
    std::string_view text = sources_.file(file.file).text();
    for (const RawToken& token : file.tokens) {
      bool is_skipped = token.kind == TokenKind::Name && token.role == TokenRole::Inactive;
      if (is_skipped) result_.names.skipped.emplace(text.substr(token.offset, token.length));
    }
  }
}

void Preprocessor::directive(const Reading& reading, const Directive& directive) {
  if (directive.name == "if" || directive.name == "elif") note_condition(directive);
  if (directive.name == "if") return open_condition(directive);
  if (directive.name == "elif") return else_if(directive);
  if (directive.name == "else") return else_branch(directive);
  if (directive.name == "endif") return close_condition(directive);
  static const std::vector<std::string> names = {
#define DIRECTIVE(text, meaning) text,
#include "frontend/syntax/directives.def"
#undef DIRECTIVE
  };
  if (std::find(names.begin(), names.end(), directive.name) == names.end()) return unknown(reading, directive, names);
  if (!active()) return;
  if (directive.name == "include") return include(reading, directive);
  if (directive.name == "define") return macros_.define(directive);
  error(directive);
}

/// Skipped text need not be a program, but its end must be found: a misspelt '%else' counts as one.
void Preprocessor::unknown(const Reading& reading, const Directive& found, const std::vector<std::string>& names) {
  auto report = diagnostics_.report(diag::unknown_directive, found.loc, found.name);
  if (found.name == "ifdef" || found.name == "ifndef") {
    std::string_view sign = found.name == "ifdef" ? "" : "not ";
    report.help(fmt::format("a condition names what -D defines: %if {}defined(NAME)", sign));
    Directive mended = found;
    mended.name = "if";
    mended.broken = true;  // its condition is no expression
    return directive(reading, mended);
  }
  report.suggest(sources_, found.loc, found.name, names);
  std::string meant = nearest_name(found.name, names);
  if (meant != "if" && meant != "elif" && meant != "else" && meant != "endif") return;
  Directive mended = found;
  mended.name = meant;
  directive(reading, mended);
}

bool Preprocessor::expect_no_more(const Directive& directive, size_t used) {
  if (directive.tokens.size() <= used) return true;
  const RawToken& token = directive.tokens[used];
  Token made{token.kind, directive.file, token.offset, token.length, 0};
  diagnostics_.report(diag::unexpected_after_directive, result_.buffer.loc(made),
                      result_.buffer.describe(made), directive.name);
  return false;
}

bool Preprocessor::evaluate(const Directive& directive) {
  if (directive.broken) return false;
  return evaluate_condition(std::span(directive.tokens).subspan(1), directive.file, directive.end,
                            sources_, options_, diagnostics_);
}

void Preprocessor::open_condition(const Directive& directive) {
  bool outer = active();
  bool value = outer && evaluate(directive);
  branches_.push_back({directive.loc, outer, value, value, false});
}

void Preprocessor::else_if(const Directive& directive) {
  if (branches_.empty()) {
    diagnostics_.report(diag::directive_without_if, directive.loc, directive.name);
    return;
  }
  Branch& branch = branches_.back();
  if (branch.has_else) {
    diagnostics_.report(diag::directive_after_else, directive.loc, directive.name)
        .label(branch.loc, "the '%if' is here");
    branch.active = false;
    return;
  }
  bool is_else = directive.tokens.size() == 1 && !directive.broken;
  if (is_else) {
    diagnostics_.report(diag::bad_condition, directive.end, "a value")
        .fix("only '%else' has no condition", directive.loc, "%else");
  }
  branch.active = branch.outer_active && !branch.taken && (is_else || evaluate(directive));
  branch.taken = branch.taken || branch.active;
}

void Preprocessor::else_branch(const Directive& directive) {
  if (branches_.empty()) {
    diagnostics_.report(diag::directive_without_if, directive.loc, directive.name);
    return;
  }
  Branch& branch = branches_.back();
  if (branch.has_else) {
    diagnostics_.report(diag::directive_after_else, directive.loc, directive.name)
        .label(branch.loc, "the '%if' is here");
  } else {
    expect_no_more(directive, 1);
  }
  branch.active = branch.outer_active && !branch.taken && !branch.has_else;
  branch.taken = true;
  branch.has_else = true;
}

void Preprocessor::close_condition(const Directive& directive) {
  if (branches_.empty()) {
    diagnostics_.report(diag::directive_without_if, directive.loc, directive.name);
    return;
  }
  expect_no_more(directive, 1);
  branches_.pop_back();
}

void Preprocessor::error(const Directive& directive) {
  if (directive.broken) return;
  std::string message;
  if (directive.tokens.size() < 2 || directive.tokens[1].kind != TokenKind::String) {
    diagnostics_.report(diag::expected_in_directive, directive.loc, "a string", directive.name);
    return;
  }
  if (!expect_no_more(directive, 2)) return;
  const RawToken& token = directive.tokens[1];
  std::string_view text = sources_.file(directive.file).text().substr(token.offset, token.length);
  Loc loc = sources_.file(directive.file).locate(directive.file, token.offset, token.length);
  decode_string(text, loc, message, &diagnostics_);
  diagnostics_.report(diag::error_directive, directive.loc, message);
}

bool Preprocessor::is_cycle(FileId file, Loc loc) {
  auto first = std::find_if(stack_.begin(), stack_.end(),
                            [&](const Reading& reading) { return reading.file == file; });
  if (first == stack_.end()) return false;
  diagnostics_.report(diag::include_cycle, loc, sources_.file(file).name());
  return true;
}

FileId Preprocessor::find_include(const Reading& reading, const std::string& path,
                                  const Directive& directive) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders = {fs::path(sources_.file(reading.file).name()).parent_path()};
  if (fs::path(path).is_absolute()) {
    folders = {fs::path()};
  } else {
    folders.insert(folders.end(), options_.include_paths.begin(), options_.include_paths.end());
  }
  std::vector<std::string> tried;
  for (const fs::path& folder : folders) {
    std::string name = (folder / path).lexically_normal().string();
    FileId known = sources_.find(name);
    if (known != 0 && sources_.file(known).has_text()) return known;
    std::string text;
    std::string reason;
    bool good = path.find('\0') == std::string::npos &&
                read_included(options_, name, text, reason);
    if (good) return sources_.add(name, std::move(text));
    tried.push_back(fmt::format("'{}': {}", name, reason));
  }
  auto report = diagnostics_.report(diag::include_not_found, directive.loc, path);
  for (const std::string& attempt : tried) report.note(Loc{}, "tried " + attempt);
  return 0;
}

void Preprocessor::include(const Reading& reading, const Directive& directive) {
  if (directive.broken) return;
  if (directive.tokens.size() < 2 || directive.tokens[1].kind != TokenKind::String) {
    diagnostics_.report(diag::expected_in_directive, directive.loc, "the name of a file in quotes",
                        directive.name);
    return;
  }
  if (!expect_no_more(directive, 2)) return;
  if (++includes_ > max_includes) {
    diagnostics_.report(diag::unsupported_include_count, directive.loc, max_includes);
    too_many_ = true;
    return;
  }
  if (stack_.size() > max_include_depth) {
    diagnostics_.report(diag::unsupported_include_depth, directive.loc, max_include_depth);
    return;
  }
  const RawToken& token = directive.tokens[1];
  std::string path;
  Loc loc = sources_.file(directive.file).locate(directive.file, token.offset, token.length);
  std::string_view text = sources_.file(directive.file).text().substr(token.offset, token.length);
  if (!decode_string(text, loc, path, &diagnostics_)) return;
  stack_.back().included_at = loc;
  FileId file = find_include(reading, path, directive);
  if (file == 0 || is_cycle(file, loc)) return;
  sources_.set_included(file, loc);
  run_file(file);
}

}  // namespace

bool is_macro_name(std::string_view text) {
  auto is_digit = [](unsigned char c) { return c >= '0' && c <= '9'; };
  auto is_part = [&](unsigned char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
  };
  return !text.empty() && !is_digit(static_cast<unsigned char>(text[0])) && std::ranges::all_of(text, is_part);
}

Preprocessed preprocess(FileId file, SourceManager& sources, const ParseOptions& options,
                        DiagnosticEngine& diagnostics) {
  return preprocess(file, {}, sources, options, diagnostics);
}

Preprocessed preprocess(FileId file, std::span<const FileId> before, SourceManager& sources,
                        const ParseOptions& options, DiagnosticEngine& diagnostics) {
  Preprocessor preprocessor(sources, options, diagnostics);
  for (FileId other : before) preprocessor.read_macros(other);
  preprocessor.run_file(file);
  return preprocessor.take();
}

}  // namespace tessera
