// The tokens of a file give the file back, whatever the file.

#include <catch2/catch.hpp>
#include <filesystem>
#include <random>

#include "frontend/syntax/preprocessor.h"
#include "support/file.h"
#include "unit/frontend_syntax/helpers.h"

using namespace tessera;

namespace {

/// Tokens of a text, put together; empty when they leave gaps.
std::string reassemble(const std::string& text) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add("main.tsr", text);
  ParseOptions options;
  options.read = [](const std::string&, std::string&, std::string& error) {
    error = "no such file";
    return false;
  };
  Preprocessed result = preprocess(file, sources, options, diagnostics);
  std::string joined;
  for (const RawToken& token : result.files[0].tokens) {
    if (token.offset != joined.size() || token.length == 0) return {};
    joined += sources.file(file).text().substr(token.offset, token.length);
  }
  return joined;
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::string text;
    std::string error;
    if (entry.is_regular_file() && read_file(entry.path().string(), text, error)) {
      texts.push_back(text);
    }
  }
  return texts;
}

/// Fragments that are joined in every combination.
const std::vector<std::string> fragments = {"\"",          "'",    "\"\"\"",
                                            "\\",          "\n",   "\r",
                                            "\r\n",        "\t",   " ",
                                            "#",           "%if ", "%endif",
                                            "%define X ",  "(",    ")",
                                            "[",           "]",    "{",
                                            "}",           "0x",   "1e",
                                            "1.",          ".",    "...",
                                            "if",          "é",    "\xFF",
                                            "\x7F",        ":",    "a",
                                            "_",           "**=",  std::string(1, '\0'),
                                            "\xEF\xBB\xBF"};

}  // namespace

TEST_CASE("the seeds and the corpora come back byte for byte") {
  size_t count = 0;
  for (const char* folder : {"/tests/seeds", "/fuzz/corpus/frontend_syntax", "/grammar"}) {
    for (const std::string& text : files_below(TESSERA_SOURCE_DIR + std::string(folder))) {
      CHECK(reassemble(text) == text);
      ++count;
    }
  }
  CHECK(count > 30);
}

TEST_CASE("any two fragments come back byte for byte") {
  for (const std::string& a : fragments) {
    for (const std::string& b : fragments) {
      CHECK(reassemble(a + b) == a + b);
    }
  }
}

TEST_CASE("generated garbage comes back byte for byte and parses without harm") {
  std::mt19937 random(20240607);
  std::uniform_int_distribution<size_t> pick(0, fragments.size() - 1);
  std::uniform_int_distribution<int> length(1, 60);
  for (int i = 0; i < 1500; ++i) {
    std::string text;
    for (int n = length(random); n > 0; --n) text += fragments[pick(random)];
    REQUIRE(reassemble(text) == text);
    test::parse(text);
  }
}

TEST_CASE("tokens know what became of them") {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add("main.tsr", "%if False # c\na b\n%endif\nx #d\n");
  Preprocessed result = preprocess(file, sources, {}, diagnostics);
  std::string roles;
  for (const RawToken& token : result.files[0].tokens) roles += "CTDI"[size_t(token.role)];
  CHECK(roles == "DDDDDDTIIIIDDTCTTT");
}

TEST_CASE("files that are too large are refused") {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add("main.tsr", std::string((size_t(16) << 20) + 1, '\n'));
  ast::SourceUnit unit = parse_source(file, sources, {}, diagnostics);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diag_tag(diagnostics.all()[0].id) == "unsupported-file-size");
}
