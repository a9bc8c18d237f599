// Every folder says what lives in it, names files that are there, and has a rule where layers count.

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

struct Readme {
  size_t lines = 0;
  bool has_rule = false;           ///< of what may be included
  std::vector<std::string> names;  ///< in backticks, from the line that says where to begin
};

Readme read_readme(const std::filesystem::path& path) {
  static const std::regex name("`([^` ]+)`");
  Readme readme;
  std::ifstream in(path);
  bool begins = false;
  for (std::string line; std::getline(in, line); ++readme.lines) {
    readme.has_rule |= line.starts_with("May include: ");
    begins |= line.starts_with("Begin with: ") || line.starts_with("Code under test: ");
    if (!begins) continue;
    for (std::sregex_iterator it(line.begin(), line.end(), name), end; it != end; ++it)
      readme.names.push_back((*it)[1]);
  }
  return readme;
}

}  // namespace

TEST_CASE("every folder has a short README whose names exist") {
  namespace fs = std::filesystem;
  fs::path root = TESSERA_SOURCE_DIR;
  for (const std::string& folder : folders_with_sources()) {
    INFO(folder);
    REQUIRE(fs::exists(root / folder / "README.md"));
    Readme readme = read_readme(root / folder / "README.md");
    CHECK(readme.lines <= most_lines);
    CHECK(!readme.names.empty());
    for (const std::string& name : readme.names) {
      INFO(name);
      CHECK(name != "../");  // every folder has that one
      CHECK((fs::exists(root / folder / name) || fs::exists(root / name)));
    }
    bool is_layered = folder.starts_with("src") || folder.starts_with("runtime");
    CHECK((readme.has_rule || !is_layered));
  }
}
