// The layers of the tree: each folder's README says what may be included there.

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "unit/tree/files.h"

namespace {

namespace fs = std::filesystem;

constexpr size_t most_files = 40;

const std::vector<std::string> sources = {".cc", ".h", ".def", ".inc"};

/// How #include lines name a folder: below src/ without it.
std::string room_name(std::string path) {
  return path.rfind("src/", 0) == 0 ? path.substr(4) : path;
}

std::string parent(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.rfind(folder + "/", 0) == 0;
}

/// The folders of a README's line "May include: `a`, `b/…`."; with an ellipsis those below it too.
std::optional<std::set<std::string>> allowed_by(const fs::path& readme) {
  static const std::regex name("`([^`]+)`");
  std::ifstream in(readme);
  std::set<std::string> names;
  bool is_rule = false;
  for (std::string line; std::getline(in, line);) {
    if (is_rule && line.empty()) return names;
    is_rule |= line.rfind("May include: ", 0) == 0;
    if (!is_rule) continue;
    for (std::sregex_iterator it(line.begin(), line.end(), name), end; it != end; ++it) names.insert((*it)[1]);
  }
  return std::nullopt;
}

/// A folder with a rule, which folders below it without one share.
struct Room {
  std::string folder;  ///< below the project's root
  std::set<std::string> allowed;

  bool may_include(const std::string& included) const {
    return is_below(included, room_name(folder)) ||
           std::ranges::any_of(allowed, [&](const std::string& name) { return allows(name, included); });
  }

  static bool allows(const std::string& name, const std::string& included) {
    size_t ellipsis = name.find("/…");
    return ellipsis == std::string::npos ? included == name : is_below(included, name.substr(0, ellipsis));
  }
};

std::optional<Room> room_of(std::string folder) {
  for (; !folder.empty(); folder = parent(folder)) {
    if (auto allowed = allowed_by(fs::path(TESSERA_SOURCE_DIR) / folder / "README.md")) return Room{folder, *allowed};
  }
  return std::nullopt;
}

/// The folder that an #include line of the project names; empty for other lines and for generated files.
std::string included_folder(const std::string& line) {
  if (line.rfind("#include \"", 0) != 0) return {};
  std::string path = line.substr(10, line.find('"', 10) - 10);
  fs::path root = TESSERA_SOURCE_DIR;
  return fs::exists(root / "src" / path) || fs::exists(root / path) ? parent(path) : std::string();
}

using Edges = std::map<std::string, std::set<std::string>>;

/// Whether includes lead from `at` to `goal`.
bool reaches(const Edges& edges, const std::string& at, const std::string& goal, std::set<std::string>& seen) {
  auto next = edges.find(at);
  if (next == edges.end()) return false;
  for (const std::string& to : next->second) {
    if (to == goal || (seen.insert(to).second && reaches(edges, to, goal, seen))) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("each room includes only what its README names") {
  for (const auto& file : tree::files_below({"src", "runtime"}, sources)) {
    INFO(file.path);
    std::optional<Room> room = room_of(parent(file.path));
    REQUIRE(room);
    for (const std::string& line : file.lines) {
      std::string folder = included_folder(line);
      INFO(line);
      CHECK((folder.empty() || room->may_include(folder)));
    }
  }
}

TEST_CASE("each room includes all that its README names") {
  std::map<std::string, std::set<std::string>> unused;
  Edges included;
  for (const auto& file : tree::files_below({"src", "runtime"}, sources)) {
    std::optional<Room> room = room_of(parent(file.path));
    REQUIRE(room);
    unused.emplace(room->folder, room->allowed);
    for (const std::string& line : file.lines) included[room->folder].insert(included_folder(line));
  }
  for (auto& [room, names] : unused) {
    for (const std::string& folder : included[room]) {
      std::erase_if(names, [&](const std::string& name) { return Room::allows(name, folder); });
    }
    INFO(room << (names.empty() ? "" : " does not include " + *names.begin()));
    CHECK(names.empty());
  }
}

TEST_CASE("no room includes itself by way of others") {
  Edges edges;
  for (const auto& file : tree::files_below({"src", "runtime"}, sources)) {
    std::string from = room_name(parent(file.path));
    for (const std::string& line : file.lines) {
      std::string to = included_folder(line);
      if (!to.empty() && !is_below(to, from) && !is_below(from, to)) edges[from].insert(to);
    }
  }
  for (const auto& [room, ignored] : edges) {
    INFO(room);
    std::set<std::string> seen;
    CHECK(!reaches(edges, room, room, seen));
  }
}

TEST_CASE("the folders that READMEs name are there") {
  fs::path root = TESSERA_SOURCE_DIR;
  for (const auto& file : tree::files_below({"src", "runtime"}, {".md"})) {
    INFO(file.path);
    for (std::string name : allowed_by(root / file.path).value_or(std::set<std::string>())) {
      name = name.substr(0, name.find("/…"));
      INFO(name);
      CHECK((fs::is_directory(root / "src" / name) || fs::is_directory(root / name)));
    }
  }
}

TEST_CASE("the ground of runtime and compiler includes the standard library only") {
  for (const auto& file : tree::files_below({"runtime/base"}, {".cc", ".h"})) {
    for (const std::string& line : file.lines) {
      INFO(file.path << ": " << line);
      CHECK(line.rfind("#include \"", 0) != 0);
    }
  }
}

TEST_CASE("a room has at most 40 files") {
  std::map<std::string, size_t> files;
  for (const auto& file : tree::files_below({"src", "runtime"}, {"", ".cc", ".h", ".def", ".inc", ".md", ".txt"})) {
    ++files[parent(file.path)];
  }
  for (const auto& [folder, count] : files) {
    INFO(folder);
    CHECK(count <= most_files);
  }
}

TEST_CASE("attributes and their entries are named by keys, and as strings only where IR is text") {
  static const std::regex by_name(R"(ir/text/attribute_text\.h|AttrKey<[^>]*>\{"|->get\(")"
                                  R"(|\b(attributes?|attrs?|each|a|x)\.(name|first) [!=]= ")");
  size_t found = 0;
  for (const auto& file : tree::files_below({"src", "runtime", "tests"}, sources)) {
    if (file.path.find("tests/unit/tree/") != std::string::npos) continue;
    INFO(file.path);
    for (const std::string& line : file.lines) {
      if (!std::regex_search(line, by_name)) continue;
      INFO(line);
      bool is_fact = file.path == "src/ir/core/dim_facts.cc";  // the core is below the rows of entries
      CHECK((is_fact || parent(file.path) == "src/ir/text"));
      ++found;
    }
  }
  CHECK(found > 0);
}

TEST_CASE("the keys of a schedule are named by keys") {
  static const std::regex by_name(R"re((\bschedule|\bkeys)(\.(find|contains|count|at)\(|\[)")re"
                                  R"re(|[^.>_]\bname [!=]= "block")re");
  for (const auto& file : tree::files_below({"src"}, sources)) {
    INFO(file.path);
    for (const std::string& line : file.lines) {
      INFO(line);
      CHECK((!std::regex_search(line, by_name) || parent(file.path) == "src/ir/schedule"));
    }
  }
}
