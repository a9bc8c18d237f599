// All .tsr files of the repository, as they are and with other white space and comments: what comes
// out is the same program, and is in the style.

#include <filesystem>
#include <random>

#include "frontend/syntax/lexer.h"
#include "frontend/syntax/parse.h"
#include "support/file.h"
#include "unit/frontend_format/formatted.h"

using namespace tessera;
using namespace tessera::formatter;

namespace {

std::vector<std::string> all_sources() {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  for (const char* folder : {"stdlib", "examples", "bench", "tests", "fuzz", "editors"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TESSERA_SOURCE_DIR) / folder)) {
      bool is_source = entry.path().extension() == ".tsr" && entry.is_regular_file();
      bool is_ours = entry.path().string().find("node_modules") == std::string::npos;
      if (is_source && is_ours) found.push_back(entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string read(const std::string& path) {
  std::string text, error;
  REQUIRE(read_file(path, text, error));
  return text;
}

std::string tree(const std::string& text) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add("f.tsr", text);
  ParseOptions options;
  options.read = [](const std::string&, std::string& out, std::string&) { return out.clear(), true; };
  std::string printed = print_ast(parse_source(file, sources, options, diagnostics));
  return diagnostics.has_errors() ? "errors" : printed;
}

/// Writes a file with other white space and more comments.
class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  std::string run(const std::string& text) {
    SourceManager sources;
    DiagnosticEngine diagnostics(sources);
    FileId file = sources.add("f.tsr", text);
    indent_ = std::string(1 + random_() % 6, random_() % 4 == 0 ? '\t' : ' ');
    std::string out;
    bool at_start = true, directive = false;
    size_t depth = 0;
    for (const RawToken& token : lex_file(file, sources, diagnostics).tokens) {
      std::string spelt = text.substr(token.offset, token.length);
      if (is_opening(token.kind)) ++depth;
      if (is_closing(token.kind) && depth > 0) --depth;
      directive |= at_start && token.kind == TokenKind::Percent && depth == 0;
      if (token.kind == TokenKind::Newline) {
        out += directive ? spelt : line_end(depth);
        directive = directive && depth > 0;
        at_start = true;
        continue;
      }
      bool indents = at_start && token.kind == TokenKind::Space;
      out += indents && depth == 0 ? indentation(spelt) : spelt;
      if (!directive && !indents) out += behind(token.kind, depth);
      at_start = false;
    }
    return out;
  }

 private:
  bool one_in(uint32_t count) { return random_() % count == 0; }
  std::string comment() { return "  # " + std::to_string(random_() % 1000) + "\n"; }
  std::string line_end(size_t depth) {
    if (one_in(10)) return comment();
    if (depth == 0 && one_in(15)) return "\n" + std::string(random_() % 12, ' ') + comment();
    if (one_in(10)) return "\n\n\n";
    return one_in(8) ? "  \n" : "\n";
  }
  /// Files of the repository have four spaces a block.
  std::string indentation(const std::string& spaces) {
    std::string made;
    for (size_t i = 0; i < spaces.size() / 4; ++i) made += indent_;
    return spaces.size() % 4 == 0 ? made : spaces;
  }
  std::string behind(TokenKind kind, size_t depth) {
    if (kind == TokenKind::Comment || is_trivia(kind) || kind == TokenKind::Percent) return "";
    if (depth > 0 && one_in(30)) return "\n" + std::string(random_() % 9 + 8, ' ');
    if (depth > 0 && one_in(60)) return comment() + std::string(8, ' ');
    if (depth == 0 && one_in(80)) return " \\\n      ";
    return one_in(12) ? std::string(1 + random_() % 3, ' ') : "";
  }

  std::mt19937 random_;
  std::string indent_;
};

/// The text with other spaces between the tokens of a line, but for those in targets and before `=`,
/// whose columns are the author's.
std::string respaced(const std::string& text, uint32_t seed) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add("f.tsr", text);
  std::vector<RawToken> tokens = lex_file(file, sources, diagnostics).tokens;
  std::mt19937 random(seed);
  std::string out;
  bool at_start = true, directive = false;
  int depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const RawToken& token = tokens[i];
    bool is_space = token.kind == TokenKind::Space;
    if (is_opening(token.kind)) ++depth;
    if (is_closing(token.kind)) --depth;
    bool in_targets = depth == 0 && i > 0 && tokens[i - 1].kind == TokenKind::Comma;
    bool before_assign = i + 1 < tokens.size() && tokens[i + 1].kind == TokenKind::Assign;
    if (at_start && !is_space) directive = token.kind == TokenKind::Percent;
    bool may_change = is_space && !at_start && !directive && !before_assign && !in_targets;
    out += may_change ? std::string(1 + random() % 4, ' ') : text.substr(token.offset, token.length);
    at_start = token.kind == TokenKind::Newline || (at_start && is_space);
  }
  return out;
}

}  // namespace

TEST_CASE("spaces between the tokens of a line decide nothing") {
  size_t done = 0;
  uint32_t seed = 0;
  for (const std::string& path : all_sources()) {
    FormatResult result = format(read(path));
    // What a condition holds and does not parse keeps its spaces.
    bool keeps = path.ends_with("diagnostics/directives_skipped.tsr");
    if (result.outcome != Outcome::Formatted || keeps) continue;
    ++done;
    std::string other = respaced(result.text, ++seed);
    INFO(path << "\n" << other);
    CHECK(format(other).text == result.text);
  }
  CHECK(done > 100);
}

TEST_CASE("every file of the repository is formatted, or has errors") {
  std::vector<std::string> files = all_sources();
  REQUIRE(files.size() > 150);
  size_t done = 0;
  for (const std::string& path : files) {
    std::string text = read(path);
    FormatResult result = format(text);
    INFO(path);
    INFO(result.problem);
    CHECK(!result.is_bug);
    if (result.outcome != Outcome::Formatted) continue;
    ++done;
    CHECK(format(result.text).text == result.text);
    CHECK(edited(text, result.edits) == result.text);
    CHECK(tree(text) == tree(result.text));
  }
  CHECK(done > 100);
}

TEST_CASE("white space and comments change nothing of what a file means") {
  size_t done = 0;
  uint32_t seed = 0;
  for (const std::string& path : all_sources()) {
    bool is_tree = path.find("/stdlib/") != path.npos || path.find("/examples/") != path.npos;
    for (int round = 0; round < (is_tree ? 3 : 1); ++round) {
      std::string text = Mutator(++seed).run(read(path));
      FormatResult once = format(text);
      INFO(path << " with seed " << seed << "\n" << text);
      INFO(once.problem);
      CHECK(!once.is_bug);
      if (once.outcome != Outcome::Formatted) continue;
      ++done;
      CHECK(format(once.text).text == once.text);
      CHECK(tree(text) == tree(once.text));
      FormatResult part = format(text, {.lines = {{seed % 20, seed % 20 + 9}}});
      CHECK(part.outcome == Outcome::Formatted);
    }
  }
  CHECK(done > 150);
}
