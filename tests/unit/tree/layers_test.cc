// The layers of docs/architecture.md, read from the #include lines.

#include <catch2/catch.hpp>
#include <map>

#include "unit/tree/files.h"

namespace {

/// What every pass may include.
const std::string of_passes =
    "support ir/dim ir/numbers ir/layout ir/core ir/text ir/graph ir/schedule ir/host ir/tile ir/target";

/// Each room (a folder and those below it that are no rooms) and the rooms that it may include besides itself.
const std::map<std::string, std::string> rooms = {
    {"support", "runtime/base"},
    {"ir/dim", "support"},
    {"ir/numbers", "support"},
    {"ir/layout", "support"},
    {"ir/core", "support ir/dim ir/numbers"},
    {"ir/text", "support ir/dim ir/numbers ir/core"},
    {"ir/graph", "support ir/dim ir/numbers ir/core ir/text"},
    {"ir/schedule", "support ir/dim ir/numbers ir/core ir/text"},
    {"ir/host", "support ir/dim ir/numbers ir/core ir/text"},
    {"ir/tile", "support ir/dim ir/numbers ir/core ir/text ir/layout"},
    {"ir/target", "support ir/dim ir/numbers ir/core ir/text ir/layout"},
    {"frontend/syntax", "support"},
    {"frontend/format", "support frontend/syntax"},
    {"frontend/values", "support ir/dim ir/numbers ir/core ir/graph ir/schedule frontend/syntax"},
    {"frontend/evaluate", "support ir/dim ir/numbers ir/core ir/text ir/graph ir/schedule "
                          "frontend/syntax frontend/values"},
    {"frontend/lower/kernel", "support ir/dim ir/numbers ir/core ir/text ir/graph ir/schedule frontend/syntax "
                              "frontend/values frontend/evaluate"},
    {"frontend/lower/graph", "support ir/dim ir/numbers ir/core ir/text ir/graph frontend/syntax frontend/values "
                             "frontend/evaluate frontend/lower/kernel"},
    {"frontend/index", "support ir/core frontend/syntax frontend/values frontend/evaluate"},
    {"frontend", "support ir/dim ir/numbers ir/core ir/text ir/graph ir/schedule frontend/syntax frontend/values "
                 "frontend/evaluate frontend/lower/graph frontend/lower/kernel"},
    {"api", "support ir/dim ir/numbers ir/core ir/text ir/graph ir/schedule frontend "
            "frontend/syntax frontend/values frontend/evaluate frontend/index"},
    {"lsp/protocol", "support frontend/syntax"},
    {"lsp/model", "support frontend/syntax frontend/format lsp/protocol"},
    {"lsp/workspace", "support ir/numbers ir/core ir/graph ir/schedule frontend frontend/syntax "
                      "frontend/values frontend/evaluate frontend/index api lsp/protocol "
                      "lsp/model"},
    {"lsp/features", "support frontend frontend/syntax frontend/values frontend/evaluate "
                     "frontend/index frontend/format lsp/protocol lsp/model lsp/workspace"},
    {"lsp/server", "support lsp/protocol lsp/model lsp/workspace lsp/features"},
    {"passes", of_passes},
    {"passes/analysis", of_passes},
    {"passes/graph", of_passes + " passes passes/analysis passes/tile/gpu"},
    {"passes/schedule", of_passes + " passes passes/analysis passes/tile/gpu"},
    {"passes/target", of_passes + " passes"},
    {"passes/tile/common", of_passes + " passes passes/analysis passes/target"},
    {"passes/tile/gpu", of_passes + " passes passes/analysis passes/tile/common runtime/base"},
    {"passes/tile/cpu", of_passes + " passes passes/analysis passes/tile/common passes/tile/gpu"},
    {"passes/tile/nv", of_passes + " passes passes/analysis passes/target passes/tile/common passes/tile/gpu"},
    {"passes/tile/x86", of_passes + " passes passes/analysis passes/target passes/tile/common"},
    {"codegen", "support ir/numbers ir/layout ir/core ir/text ir/schedule ir/host ir/target runtime/base runtime/files "
                "runtime/format"},
    {"tools", "support ir/dim ir/numbers ir/layout ir/core ir/text ir/graph ir/schedule ir/host ir/tile ir/target "
              "frontend frontend/syntax frontend/values frontend/evaluate frontend/index frontend/format api "
              "lsp/server passes passes/analysis codegen runtime/files runtime/format"},
    {"runtime/base", ""},
    {"runtime/include", ""},
    {"runtime/files", "runtime/base"},
    {"runtime/format", "runtime/base runtime/include runtime/files"},
    {"runtime/core", "runtime/base runtime/include runtime/files runtime/format runtime/cpu"},
    {"runtime/cpu", "runtime/base runtime/include runtime/files runtime/format runtime/core"},
    {"runtime/cuda", "runtime/base runtime/include runtime/files runtime/format runtime/core "
                     "runtime/cpu"},
    {"runtime/api", "runtime/include runtime/files runtime/format runtime/core runtime/cpu "
                    "runtime/cuda"},
    {"runtime/tsr", "runtime/include runtime/files runtime/format support ir/dim ir/numbers ir/core ir/text ir/graph "
                    "ir/host ir/tile tools"},
};

/// The room of a path below src/ or of the runtime; empty for other paths.
std::string room_of(std::string path) {
  for (size_t slash = path.rfind('/'); slash != std::string::npos; slash = path.rfind('/')) {
    path.resize(slash);
    if (rooms.contains(path)) return path;
  }
  return {};
}

bool may_include(const std::string& from, const std::string& to) {
  return (" " + rooms.at(from) + " ").find(" " + to + " ") != std::string::npos;
}

std::string included_path(const std::string& line) {
  if (line.rfind("#include \"", 0) != 0) return {};
  return line.substr(10, line.find('"', 10) - 10);
}

}  // namespace

TEST_CASE("each room includes only the rooms below it") {
  for (const auto& file : tree::files_below({"src", "runtime"}, {".cc", ".h", ".def", ".inc"})) {
    std::string from = room_of(file.path.rfind("src/", 0) == 0 ? file.path.substr(4) : file.path);
    INFO(file.path);
    CHECK(!from.empty());
    for (const std::string& line : file.lines) {
      std::string to = room_of(included_path(line));
      INFO(line);
      CHECK((to.empty() || to == from || may_include(from, to)));
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

TEST_CASE("a room has at most 40 files") {
  std::map<std::string, int> files;
  for (const auto& file : tree::files_below({"src", "runtime"}, {"", ".cc", ".h", ".def", ".inc", ".md", ".txt"})) {
    ++files[file.path.substr(0, file.path.rfind('/'))];
  }
  for (const auto& [folder, count] : files) {
    INFO(folder);
    CHECK(count <= 40);
  }
}
