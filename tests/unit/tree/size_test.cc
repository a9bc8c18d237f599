// Files and functions stay small enough to be read.

#include <catch2/catch.hpp>

#include "unit/tree/files.h"

namespace {

bool starts_with_any(const std::string& line, const std::vector<std::string>& heads) {
  return std::any_of(heads.begin(), heads.end(),
                     [&](const std::string& head) { return line.rfind(head, 0) == 0; });
}

/// Whether a declaration that a line is part of goes on in the next one.
bool goes_on(const std::string& line) {
  size_t margin = line.find_first_not_of(' ');
  if (margin == std::string::npos || starts_with_any(line.substr(margin), {"//", "#"})) return false;
  return std::string(";{}:").find(line.back()) == std::string::npos;
}

/// Line counts of functions and of methods: what is not inside of one, has brackets and ends with an opening brace, up
/// to the brace below its first column.
std::vector<std::pair<std::string, size_t>> function_lengths(const tree::File& file) {
  const std::vector<std::string> others = {"namespace", "struct", "class", "union", "enum", "extern", "#", "//", "}"};
  std::vector<std::pair<std::string, size_t>> functions;
  size_t begin = 0;
  std::string end;  // of the one that the line is inside of
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    if (!end.empty()) {
      if (line != end && line != end + ";") continue;
      functions.emplace_back(file.lines[begin], i - begin + 1);
      end.clear();
    } else if (!line.empty() && line.back() == '{' && line.find('(') != std::string::npos) {
      for (begin = i; begin > 0 && goes_on(file.lines[begin - 1]);) --begin;
      size_t margin = file.lines[begin].find_first_not_of(' ');
      bool is_function = !starts_with_any(file.lines[begin].substr(margin), others);
      if (is_function) end = std::string(margin, ' ') + "}";
    }
  }
  return functions;
}

}  // namespace

TEST_CASE("no source file is longer than 800 lines") {
  for (const auto& file : tree::files_below({"src", "runtime", "stdlib", "grammar", "fuzz", "bench"},
                                            {".cc", ".h", ".def", ".inc", ".g4", ".tsr"})) {
    INFO(file.path);
    CHECK(file.lines.size() <= 800);
  }
}

TEST_CASE("functions are found, and methods") {
  tree::File file{"f.cc",
                  {"namespace a {", "class B {", "  B(int x)", "      : x_(x) {", "    y();", "  }", "  int c() {",
                   "    if (x_) {", "      d();", "    }", "    return 1;", "  }", "};", "int e() {", "}", "}"}};
  CHECK(function_lengths(file) == std::vector<std::pair<std::string, size_t>>{
                                      {"  B(int x)", 4}, {"  int c() {", 6}, {"int e() {", 2}});
}

TEST_CASE("no function is longer than 100 lines") {
  size_t count = 0;
  for (const auto& file : tree::files_below({"src", "runtime"}, {".cc", ".h"})) {
    for (const auto& [name, length] : function_lengths(file)) {
      INFO(file.path << ": " << name);
      CHECK(length <= 100);
      ++count;
    }
  }
  CHECK(count > 5000);
}

TEST_CASE("lines of code are at most 120 bytes, and none ends in a space") {
  for (const auto& file : tree::files_below({"src", "runtime", "tests/unit"}, {".cc", ".h"})) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      INFO(file.path << ":" << i + 1);
      bool in_text = file.path.rfind("tests/", 0) == 0;
      CHECK((in_text || file.lines[i].size() <= 120));
      CHECK((file.lines[i].empty() || file.lines[i].back() != ' '));
    }
  }
}
