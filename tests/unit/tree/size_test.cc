// Files and functions stay small enough to be read.

#include <catch2/catch.hpp>
#include <cctype>
#include <iterator>

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

/// Which lines are part of a raw string of C++: of IR, where an op is a line, or of a program.
std::vector<bool> lines_of_texts(const tree::File& file) {
  std::vector<bool> inside(file.lines.size());
  std::string end;  // of the one that the line is inside of
  for (size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    inside[i] = !end.empty();
    for (size_t at = 0; at != std::string::npos;) {
      if (end.empty()) {
        at = line.find("R\"", at);
        if (at == std::string::npos) break;
        size_t begin = at + 2, open = begin;
        while (open < line.size() && std::isalnum(static_cast<unsigned char>(line[open]))) ++open;
        at = open;
        if (open == line.size() || line[open] != '(') continue;
        end = ")" + line.substr(begin, open - begin) + "\"";
        inside[i] = true;
      } else {
        at = line.find(end, at);
        if (at == std::string::npos) break;
        at += end.size();
        end.clear();
      }
    }
  }
  return inside;
}

/// Characters, as far as each has a column: bytes that go on with one are not counted.
size_t columns(const std::string& line) {
  return size_t(std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
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

TEST_CASE("texts of IR and of programs are found") {
  tree::File file{"f.cc", {"a(R\"(", "x", ")\");", "y", "b(R\"x(1)\", 2)x\");", "z", "c(\"R\", d());"}};
  CHECK(lines_of_texts(file) == std::vector<bool>{true, true, true, false, true, false, false});
}

TEST_CASE("lines of code have at most 120 columns, and none ends in a space") {
  size_t count = 0;
  std::vector<tree::File> files =
      tree::files_below({"src", "runtime", "tests", "bench", "tools", "fuzz", "editors", "examples", "cmake"},
                        {".cc", ".h", ".def", ".inc", ".py", ".sh", ".cmake", ".txt"});
  std::erase_if(files, [](const tree::File& file) {
    return file.path.ends_with(".txt") && !file.path.ends_with("CMakeLists.txt");
  });
  std::ranges::move(tree::files_below({"stdlib", "examples", "bench"}, {".tsr"}), std::back_inserter(files));
  for (const tree::File& file : files) {
    std::vector<bool> of_text = lines_of_texts(file);
    for (size_t i = 0; i < file.lines.size(); ++i) {
      INFO(file.path << ":" << i + 1);
      CHECK((of_text[i] || columns(file.lines[i]) <= 120));
      CHECK((file.lines[i].empty() || file.lines[i].back() != ' '));
    }
    ++count;
  }
  CHECK(count > 1400);
}
