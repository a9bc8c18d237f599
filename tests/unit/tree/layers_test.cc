// The layers of docs/architecture.md, read from the #include lines.

#include <catch2/catch.hpp>
#include <map>

#include "unit/tree/files.h"

namespace {

/// Folder of src/ to the folders it may include; every folder may include itself.
const std::map<std::string, std::vector<std::string>> allowed = {
    {"support", {"runtime/base"}},
    {"ir/layout", {"support"}},
    {"ir/core", {"support", "ir/layout"}},
    {"ir/graph", {"support", "ir/core"}},
    {"ir/schedule", {"support", "ir/core"}},
    {"ir/host", {"support", "ir/core"}},
    {"ir/tile", {"support", "ir/layout", "ir/core"}},
    {"ir/target", {"support", "ir/layout", "ir/core"}},
    {"frontend", {"support", "ir/core", "ir/graph", "ir/schedule"}},
    {"api", {"support", "ir/core", "ir/graph", "ir/schedule", "frontend"}},
    {"lsp", {"support", "ir/core", "ir/graph", "ir/schedule", "frontend", "api"}},
    {"passes",
     {"support", "ir/layout", "ir/core", "ir/graph", "ir/schedule", "ir/host", "ir/tile", "ir/target",
      "runtime/base"}},
    {"codegen",
     {"support", "ir/layout", "ir/core", "ir/schedule", "ir/host", "ir/target", "runtime/base", "runtime/format"}},
    {"tools",
     {"support", "ir/layout", "ir/core", "ir/graph", "ir/schedule", "ir/host", "ir/tile", "ir/target",
      "frontend", "api", "lsp", "passes", "codegen", "runtime/format"}},
};

std::string layer_of(const std::string& path) {
  for (const auto& [layer, includes] : allowed) {
    if (path.rfind(layer + "/", 0) == 0) return layer;
  }
  if (path.rfind("runtime/", 0) == 0) {
    for (const char* part : {"runtime/base", "runtime/format"}) {
      if (path.rfind(std::string(part) + "/", 0) == 0) return part;
    }
    return "runtime";
  }
  return {};
}

std::string included_path(const std::string& line) {
  if (line.rfind("#include \"", 0) != 0) return {};
  return line.substr(10, line.find('"', 10) - 10);
}

}  // namespace

TEST_CASE("each layer of src includes only the layers below it") {
  for (const auto& file : tree::files_below({"src"}, {".cc", ".h", ".def", ".inc"})) {
    std::string from = layer_of(file.path.substr(4));
    INFO(file.path);
    CHECK(!from.empty());
    for (const std::string& line : file.lines) {
      std::string to = layer_of(included_path(line));
      if (to.empty() || to == from) continue;
      INFO(line);
      const auto& targets = allowed.at(from);
      CHECK(std::find(targets.begin(), targets.end(), to) != targets.end());
    }
  }
}

TEST_CASE("the ground of runtime and compiler includes the standard library only") {
  for (const auto& file : tree::files_below({"runtime/base"}, {".cc", ".h"})) {
    for (const std::string& line : file.lines) {
      INFO(file.path << ": " << line);
      CHECK(included_path(line).empty());
    }
  }
}

TEST_CASE("the runtime library includes nothing of src") {
  for (const auto& file :
       tree::files_below({"runtime/core", "runtime/cpu", "runtime/format", "runtime/include"}, {".cc", ".h"})) {
    for (const std::string& line : file.lines) {
      std::string to = layer_of(included_path(line));
      INFO(file.path << ": " << line);
      CHECK((to.empty() || to.rfind("runtime", 0) == 0));
    }
  }
}
