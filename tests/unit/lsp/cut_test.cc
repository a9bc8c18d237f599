// Pieces of a file mean what the file means.

#include "lsp/cut.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lsp/file_model.h"

using namespace tessera;
using namespace tessera::lsp;

namespace {

std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> out;
  for (Range range : cut_declarations(text)) out.push_back(text.substr(range.begin, range.end - range.begin));
  return out;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a piece is a declaration with the comments right above it") {
  CHECK(pieces_of("import a\n\n# about f\n@jit\ndef f(x):\n    return x\n\n\nB = 1\n") ==
        std::vector<std::string>{"import a\n\n", "# about f\n@jit\ndef f(x):\n    return x\n\n\n", "B = 1\n"});
  CHECK(pieces_of("# title\n\nA = 1\n# end\n") == std::vector<std::string>{"# title\n\nA = 1\n# end\n"});
  CHECK(pieces_of("").empty());
  CHECK(pieces_of("\n\n") == std::vector<std::string>{"\n\n"});
}

TEST_CASE("brackets, texts and continued lines are not cut") {
  CHECK(pieces_of("A = (\n1,\n)\nB = 2").size() == 2);
  CHECK(pieces_of("A = \"\"\"\ndef f():\n\"\"\"\nB = 2").size() == 2);
  CHECK(pieces_of("A = 1 + \\\n2\nB = 2").size() == 2);
  CHECK(pieces_of("@a(\nb,\n)\n@c\ndef f():\n    pass\nB = 2").size() == 2);
  CHECK(pieces_of("@jit def f(x):\n    return x\n@jit def g(x):\n    return x\n").size() == 2);
  CHECK(pieces_of("if A:\n    pass\nelif B:\n    pass\nelse:\n    pass\n").size() == 1);
}

TEST_CASE("a forgotten bracket spoils one piece") {
  CHECK(pieces_of("A = (1,\ndef f(x):\n    return x\nB = 2\n").size() == 3);
  CHECK(pieces_of("def f(x:\n    return (x\n\ndef g(x):\n    return x\n").size() == 2);
}

TEST_CASE("pieces cover a text without gaps") {
  for (std::string text : {"a\nb\nc", "(\n\n", "\"\"\"\n\ndef", "@\n@\n", "\n#\n\n#\nx\n#", "\\\n\\\n"}) {
    uint32_t at = 0;
    for (Range range : cut_declarations(text)) {
      CHECK(range.begin == at);
      CHECK(range.end > range.begin);
      at = range.end;
    }
    CHECK(at == text.size());
  }
}

TEST_CASE("what pieces parse to is what the file parses to") {
  namespace fs = std::filesystem;
  size_t files = 0;
  for (const char* folder : {"stdlib", "examples", "tests", "bench", "editors"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TESSERA_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".tsr") continue;
      std::string text = read(entry.path());
      if (has_directives(text)) continue;
      SourceManager sources;
      DiagnosticEngine diagnostics(sources);
      diagnostics.set_error_limit(0);
      ast::SourceUnit whole = parse_source(sources.add("whole", text), sources, {}, diagnostics);
      if (diagnostics.has_errors()) continue;
      INFO(entry.path().string());
      PieceStore store;
      FileModel model(entry.path().string(), false);
      model.set_text(text, store, {});
      std::string found;
      for (const auto& piece : model.pieces()) {
        CHECK(piece->diagnostics.empty());
        for (const ast::Declaration& declaration : piece->declarations) {
          found += ast::print_ast(*declaration.stmt) + "\n";
        }
      }
      std::string by_statement;
      for (const ast::Declaration& declaration : whole.declarations) by_statement += ast::print_ast(*declaration.stmt) + "\n";
      CHECK(found == by_statement);
      ++files;
    }
  }
  CHECK(files > 50);
}

TEST_CASE("an edit parses one piece") {
  PieceStore store;
  FileModel model("f.tsr", false);
  std::string text = "A = 1\n\ndef f(x):\n    return x\n\ndef g(x):\n    return f(x)\n";
  model.set_text(text, store, {});
  REQUIRE(model.pieces().size() == 3);
  auto before = model.pieces();
  model.set_text("\n\n" + text.substr(0, text.size() - 2) + " + 1)\n", store, {});
  REQUIRE(model.pieces().size() == 3);
  CHECK(model.pieces()[1] == before[1]);
  CHECK(model.pieces()[1]->begin == 9);
  CHECK(model.pieces()[2] != before[2]);
}
