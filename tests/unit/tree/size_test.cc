// Files and functions stay small enough to be read.

#include <catch2/catch.hpp>

#include "unit/tree/files.h"

namespace {

bool starts_with_any(const std::string& line, const std::vector<std::string>& heads) {
  return std::any_of(heads.begin(), heads.end(),
                     [&](const std::string& head) { return line.rfind(head, 0) == 0; });
}

/// Line counts of the definitions that stand at column 0 and are functions.
std::vector<std::pair<std::string, size_t>> function_lengths(const tree::File& file) {
  std::vector<std::pair<std::string, size_t>> functions;
  size_t begin = 0;
  bool inside = false;
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    bool opens = !line.empty() && !std::isspace(static_cast<unsigned char>(line[0])) && line.back() == '{' &&
                 line.find('(') != std::string::npos &&
                 !starts_with_any(line, {"namespace", "struct", "class", "enum", "extern", "#", "//", "}"});
    if (!inside && opens) {
      begin = i;
      inside = true;
    } else if (inside && line == "}") {
      functions.emplace_back(file.path + ": " + file.lines[begin], i - begin + 1);
      inside = false;
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

TEST_CASE("no function is longer than 100 lines") {
  for (const auto& file : tree::files_below({"src", "runtime"}, {".cc", ".h"})) {
    for (const auto& [name, length] : function_lengths(file)) {
      INFO(name);
      CHECK(length <= 100);
    }
  }
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
