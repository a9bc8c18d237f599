// Every row of the tables is met by a test.

#include <catch2/catch.hpp>

#include "support/diagnostic.h"
#include "unit/tree/files.h"

using namespace tessera;

namespace {

const std::string& all_tests() {
  static const std::string text = [] {
    std::string all;
    for (const auto& file : tree::files_below(
             {"tests"}, {".cc", ".tsr", ".tir", ".expected", ".py", ".test", ".sh", ".def"})) {
      if (file.path.rfind("tests/unit/tree/", 0) == 0) continue;
      for (const std::string& line : file.lines) all += line + "\n";
    }
    return all;
  }();
  return text;
}

/// True if the text has the word, not as a part of a longer one.
bool names(const std::string& text, const std::string& word) {
  auto extends = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    bool before = at > 0 && extends(text[at - 1]);
    size_t end = at + word.size();
    bool after = end < text.size() && extends(text[end]);
    if (!before && !after) return true;
  }
  return false;
}

/// The longest part of a message that no argument changes.
std::string longest_piece(std::string text) {
  std::string longest;
  while (!text.empty()) {
    size_t brace = std::min(text.find('{'), text.size());
    if (brace > longest.size()) longest = text.substr(0, brace);
    text.erase(0, std::min(brace + 3, text.size()));
  }
  return longest;
}

}  // namespace

TEST_CASE("every diagnostic is expected by some test") {
  for (DiagId id : all_diagnostics()) {
    std::string tag = diag_tag(id);
    INFO(tag);
    bool expected = names(all_tests(), tag) || names(all_tests(), std::string(diag_info(id).name)) ||
                    all_tests().find(longest_piece(std::string(diag_info(id).text))) != std::string::npos;
    CHECK(expected);
  }
}
