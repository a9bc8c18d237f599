// Any bytes through lexer, preprocessor, layout and parser. Beyond not crashing: the tokens of
// every file give the file back, broken source is reported and sound source gives a sound tree, and
// the same text gives the same result again.

#include <cstdint>
#include <string>

#include "frontend/syntax/parse.h"
#include "frontend/syntax/preprocessor.h"
#include "support/check.h"

using namespace tessera;

namespace {

ParseOptions make_options(const std::string& text) {
  ParseOptions options;
  options.defines = {{"NUMBER", "3"}, {"TEXT", "sm_90a"}, {"PLAIN", "1"}};
  options.include_paths = {"library"};
  options.read = [text](const std::string& path, std::string& out, std::string& error) {
    if (path == "self.tsr") {
      out = text;
    } else if (path == "library/a.tsr") {
      out = "%define A (1 + 2)\nx = A\n";
    } else {
      error = "no such file";
      return false;
    }
    return true;
  };
  return options;
}

void check_lossless(const std::string& text) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add("main.tsr", text);
  Preprocessed result = preprocess(file, sources, make_options(text), diagnostics);
  for (const LexedFile& lexed : result.files) {
    std::string_view whole = sources.file(lexed.file).text();
    size_t at = 0;
    for (const RawToken& token : lexed.tokens) {
      TSR_CHECK(token.offset == at && token.length != 0, "tokens leave a gap");
      at += token.length;
    }
    TSR_CHECK(at == whole.size(), "tokens do not cover the file");
  }
}

struct Outcome {
  std::string tree;
  std::string messages;
  bool errors = false;
};

Outcome parse(const std::string& text) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add("main.tsr", text);
  ast::SourceUnit unit = parse_source(file, sources, make_options(text), diagnostics);
  bool broken = false;
  for (const ast::Declaration& declaration : unit.declarations) {
    TSR_CHECK(declaration.stmt != nullptr, "a declaration has no tree");
    broken |= declaration.has_error;
  }
  TSR_CHECK(!broken || diagnostics.has_errors(), "an error was not reported");
  return {print_ast(unit), render_all(diagnostics, {}), diagnostics.has_errors()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  check_lossless(text);
  Outcome first = parse(text);
  bool may_quote = text.find("error") != std::string::npos;
  bool has_error_node = first.tree.find("(error") != std::string::npos;
  TSR_CHECK(first.errors || may_quote || !has_error_node, "an error node without a message");
  Outcome second = parse(text);
  TSR_CHECK(first.tree == second.tree && first.messages == second.messages,
            "the same text gave another result");
  return 0;
}
