// docs/language.md: each of its blocks compiles, or is refused for the reason it states. Together
// with those of docs/kernels.md they show each construct of the grammar.

#include <catch2/catch.hpp>
#include <set>

#include "frontend/syntax/ast_walk.h"
#include "frontend/syntax/lexer.h"
#include "frontend/syntax/parse.h"
#include "unit/frontend/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

std::vector<std::string> blocks(const std::string& text) {
  std::vector<std::string> found;
  const std::string open = "```python\n", close = "```\n";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    size_t end = text.find(close, at);
    found.push_back(text.substr(at, end - at));
    at = end + close.size();
  }
  return found;
}

std::string page(const std::string& name) {
  std::string text, error;
  REQUIRE(read_file(TESSERA_SOURCE_DIR "/docs/" + name, text, error));
  return text;
}

/// What the blocks of pages are made of.
struct Constructs {
  std::set<TokenKind> tokens;
  std::set<ast::NodeKind> nodes;

  void add(const std::string& block) {
    SourceManager sources;
    DiagnosticEngine diagnostics(sources);
    FileId file = sources.add("block.tsr", block);
    for (const RawToken& token : lex_file(file, sources, diagnostics).tokens) tokens.insert(token.kind);
    ast::SourceUnit unit = parse_source(file, sources, {}, diagnostics);
    for (const ast::Declaration& declaration : unit.declarations) {
      ast::walk(*declaration.stmt, [&](const ast::Node& node) { nodes.insert(node.kind); });
    }
  }
};

}  // namespace

TEST_CASE("each block of docs/language.md is what it says") {
  std::vector<std::string> all = blocks(page("language.md"));
  CHECK(all.size() >= 11);
  for (const std::string& block : all) {
    std::string tag;
    bool fails = block.starts_with("# error: ");
    for (std::string_view marker : {"# error: ", "# warning: "}) {
      if (block.starts_with(marker)) tag = block.substr(marker.size(), block.find('\n') - marker.size());
    }
    Fixture fixture;
    INFO(block << fixture.compile(block));
    CHECK(fixture.diagnostics.all().empty() == tag.empty());
    CHECK(fixture.diagnostics.error_count() == (fails ? 1 : 0));
    CHECK((fixture.result.graph != nullptr) == !fails);
    for (const Diagnostic& each : fixture.diagnostics.all()) CHECK(diag_tag(each.id) == tag);
  }
}

TEST_CASE("docs/language.md names every function") {
  std::string text = page("language.md");
  for (const Builtin& builtin : common_builtins()) {
    INFO(builtin.name);
    CHECK(text.find(builtin.name) != std::string::npos);
  }
}

TEST_CASE("the pages of the language show each construct of the grammar") {
  Constructs shown;
  for (const char* name : {"language.md", "kernels.md"}) {
    for (const std::string& block : blocks(page(name))) shown.add(block);
  }
  const std::set<TokenKind> not_shown = {
      // made after the lexer, of names and of layout
      TokenKind::Indent, TokenKind::Dedent, TokenKind::Const, TokenKind::Dim, TokenKind::Module, TokenKind::On,
      TokenKind::Param, TokenKind::Region, TokenKind::Where,
      // errors
      TokenKind::MissingBlock, TokenKind::Error, TokenKind::BadNumber, TokenKind::UnterminatedString,
      TokenKind::NonAscii, TokenKind::Unknown};
  for (int kind = 1; kind <= int(TokenKind::Unknown); ++kind) {
    INFO(display_name(TokenKind(kind)));
    CHECK(shown.tokens.count(TokenKind(kind)) + not_shown.count(TokenKind(kind)) == 1);
  }
  for (int kind = 0; kind <= int(ast::NodeKind::FromImport); ++kind) {
    auto node = ast::NodeKind(kind);
    // A set is not a value; braces hold effects.
    bool none = node == ast::NodeKind::ErrorExpr || node == ast::NodeKind::ErrorStmt || node == ast::NodeKind::Set;
    INFO(ast::kind_name(node));
    CHECK(shown.nodes.count(node) == size_t(!none));
  }
}
