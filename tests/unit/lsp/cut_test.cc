// Pieces of a file mean what the file means.

#include "lsp/model/cut.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lsp/model/file_model.h"

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

TEST_CASE("directives are pieces where they stand between declarations") {
  using Pieces = std::vector<std::string>;
  CHECK(pieces_of("%define A 1\n\n# b\nB = A\n%define C 2\nD = C\n") ==
        Pieces{"%define A 1\n\n", "# b\nB = A\n", "%define C 2\n", "D = C\n"});
  CHECK(pieces_of("A = 1\n%if X\nB = 2\n\nC = 3\n%else\nB = 3\n%endif\nD = 4\n") ==
        Pieces{"A = 1\n", "%if X\nB = 2\n\nC = 3\n%else\nB = 3\n%endif\n", "D = 4\n"});
  CHECK(pieces_of("def f(x):\n    y = x\n%if X\n    y = y + 1\n%endif\n    return y\n\nB = 2\n").size() == 2);
  CHECK(pieces_of("A = (1\n% 2)\nB = 3\n").size() == 2);
  CHECK(pieces_of("%if X\n%if Y\nA = 1\n%endif\nB = 2\n%endif\nC = 3\n").size() == 2);
  CHECK(pieces_of("%endif\nA = 1\n").size() == 2);
  CHECK(pieces_of("%if X\nA = 1\nB = 2\n").size() == 1);
  // A declaration that directives divide.
  CHECK(pieces_of("A = 1\n%if X\ndef f(x):\n%else\ndef f(x, y):\n%endif\n    return x\nB = 2\n").size() == 1);
  CHECK(pieces_of("A = 1\n%if X\nB = 2\n%endif\n    return x\n").size() == 1);
}

TEST_CASE("pieces cover a text without gaps") {
  for (std::string text : {"a\nb\nc", "%", "%if\n%if\n", "a\n%endif\n%define\n b\n", "(\n\n", "\"\"\"\n\ndef", "@\n@\n",
                           "\n#\n\n#\nx\n#", "\\\n\\\n"}) {
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
      if (has_includes(text)) continue;
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
        CHECK(std::ranges::none_of(piece->diagnostics,
                                   [](const auto& each) { return each.severity == Severity::Error; }));
        for (const ast::Declaration& declaration : piece->declarations) {
          found += ast::print_ast(*declaration.stmt) + "\n";
        }
      }
      std::string by_statement;
      for (const ast::Declaration& declaration : whole.declarations)
        by_statement += ast::print_ast(*declaration.stmt) + "\n";
      CHECK(found == by_statement);
      ++files;
    }
  }
  CHECK(files > 50);
}

namespace {

/// Statements and messages of a text, by its pieces or as a whole.
std::string parsed(const std::string& text, bool by_pieces, const ParseOptions& options) {
  std::string out;
  std::vector<std::string> messages;
  if (by_pieces) {
    PieceStore store;
    FileModel model("f.tsr", false);
    model.set_text(text, store, options);
    for (const auto& piece : model.pieces()) {
      for (const ast::Declaration& declaration : piece->declarations) out += ast::print_ast(*declaration.stmt) + "\n";
      for (const Diagnostic& diagnostic : piece->diagnostics) {
        messages.push_back(std::to_string(piece->in_document(piece->range(diagnostic.loc)).begin) + diagnostic.message);
      }
    }
  } else {
    auto sources = std::make_shared<SourceManager>();
    std::shared_ptr<Piece> piece = parse_piece(sources, "f.tsr", text, options);
    for (const ast::Declaration& declaration : piece->declarations) out += ast::print_ast(*declaration.stmt) + "\n";
    for (const Diagnostic& diagnostic : piece->diagnostics) {
      messages.push_back(std::to_string(piece->range(diagnostic.loc).begin) + diagnostic.message);
    }
  }
  std::sort(messages.begin(), messages.end());
  for (const std::string& message : messages) out += message + "\n";
  return out;
}

}  // namespace

TEST_CASE("pieces with directives parse to what the file parses to") {
  ParseOptions options;
  options.defines["SIZE"] = "small";
  for (std::string text : {
           "%define A 1\nB = A + 1\n%define C A * 2\nD = C\n",
           "B = A\n%define A 1\nC = A\n",
           "%define A B\n%define B 2\nC = A\n",
           "%define A 1\n%define A 2\nB = A\n",
           "%define A (1\nB = A\n",
           "%if SIZE == \"small\"\n%define N 1\n%else\n%define N 2\n%endif\nA = N\n",
           "%if defined(X)\nA = 1\n%else\nA = 2\n\ndef f(x):\n    return x\n%endif\nB = A\n",
           "%if defined(SIZE)\nA = 1\n%if defined(X)\n%error \"no\"\n%endif\n%error \"yes\"\n%endif\n",
           "def f(x):\n%if defined(SIZE)\n    y = x\n%else\n    y = 0\n%endif\n    return y\nB = 1\n",
           "def f(x):\n    y = x\n%define M y + 1\n    return M\nB = M\n",
           "%if defined(SIZE)\ndef f(x):\n%else\ndef f(y):\n%endif\n    return 1\nA = 1\n",
           "%endif\nA = 1\n%else\nB = 2\n",
           "%if defined(X)\nA = 1\n",
           "%nothing\nA = 1\n%if\nB = 2\n%endif\n",
           "%define LOOP LOOP + 1\nA = LOOP\n",
           "%define DEF def g(x):\nDEF\n    return x\nA = 1\n",
           "@jit\n%if defined(SIZE)\ndef f(x):\n    return x\n%endif\nA = 1\n",
       }) {
    INFO(text);
    CHECK(parsed(text, true, options) == parsed(text, false, options));
    CHECK(parsed(text, true, {}) == parsed(text, false, {}));
  }
}

TEST_CASE("a macro that changes parses again what uses it") {
  PieceStore store;
  FileModel model("f.tsr", false);
  std::string text = "%define ROWS 16\nA = ROWS\n\nB = 2\n\nC = B\n";
  model.set_text(text, store, {});
  REQUIRE(model.pieces().size() == 4);
  auto before = model.pieces();
  model.set_text(text.substr(0, text.size() - 2) + "B + 1\n", store, {});
  CHECK(model.pieces()[1] == before[1]);
  CHECK(model.pieces()[3] != before[3]);
  before = model.pieces();
  text = model.text();
  model.set_text(text.replace(text.find("16"), 2, "32"), store, {});
  CHECK(model.pieces()[1] != before[1]);
  CHECK(ast::print_ast(*model.pieces()[1]->declarations[0].stmt).find("32") != std::string::npos);
  CHECK(model.pieces()[2] == before[2]);
  CHECK(model.pieces()[3] == before[3]);
}

TEST_CASE("what conditions see parses again what has some") {
  PieceStore store;
  FileModel model("f.tsr", false);
  model.set_text("%if defined(X)\nA = 1\n%else\nA = 2\n%endif\n\nB = 2\n", store, {});
  REQUIRE(model.pieces().size() == 2);
  auto before = model.pieces();
  ParseOptions options;
  options.defines["X"] = "1";
  model.set_text(std::string(model.text()), store, options);
  CHECK(model.pieces()[0] != before[0]);
  CHECK(model.pieces()[1] == before[1]);
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
