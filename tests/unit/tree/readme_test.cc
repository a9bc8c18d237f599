// Every folder says what lives in it, and names files that are there.

#include <catch2/catch.hpp>
#include <filesystem>
#include <regex>
#include <set>

#include "unit/tree/files.h"

namespace {

constexpr size_t most_lines = 25;

/// Folders with sources; inputs of tests are described by the test.
std::set<std::string> folders_with_sources() {
  std::set<std::string> folders;
  const std::vector<std::string> sources = {".cc", ".h",   ".def",  ".c",  ".js",
                                            ".py", ".tsr", ".test", ".tir"};
  for (const auto& file : tree::files_below({"src", "runtime", "tests"}, sources)) {
    bool is_input = file.path.find("/Inputs/") != std::string::npos;
    if (!is_input) folders.insert(file.path.substr(0, file.path.rfind('/')));
  }
  return folders;
}

}  // namespace

TEST_CASE("every folder has a short README whose names exist") {
  namespace fs = std::filesystem;
  fs::path root = TESSERA_SOURCE_DIR;
  static const std::regex name("`([^` ]+)`");
  for (const std::string& folder : folders_with_sources()) {
    INFO(folder);
    std::ifstream in(root / folder / "README.md");
    REQUIRE(in);
    size_t lines = 0;
    bool names_files = false;
    for (std::string line; std::getline(in, line); ++lines) {
      names_files |= line.starts_with("Begin with: ") || line.starts_with("Code under test: ");
      if (!names_files) continue;
      for (std::sregex_iterator it(line.begin(), line.end(), name), end; it != end; ++it) {
        INFO((*it)[1].str());
        CHECK((fs::exists(root / folder / (*it)[1].str()) || fs::exists(root / (*it)[1].str())));
      }
    }
    CHECK(lines <= most_lines);
    CHECK(names_files);
  }
}
