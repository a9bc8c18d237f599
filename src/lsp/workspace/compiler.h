#pragma once
// The compiler as another program: its command line for a file as it is typed, and the files of the
// places that it reports.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/protocol/child.h"
#include "lsp/workspace/analysis.h"
#include "lsp/workspace/workspace.h"

namespace tessera::lsp {

/// tesserac beside this program, or the one on PATH.
std::string find_compiler();

/// The client's settings.
struct CompilerSettings {
  std::string path = find_compiler();
  std::string target;                    ///< empty: default_target
  std::map<std::string, int64_t> sizes;  ///< of dims, for estimates; of `*`, of all others
};
void read_compiler_settings(const Json& settings, CompilerSettings& compiler);

/// The machine that code is shown for where nobody says another: the one that every build has.
inline constexpr std::string_view default_target = "cpu:x86-64-v3";

/// A run of the compiler on a file's text, which it reads from its standard input; of other files it gets what is typed
/// and not saved.
struct Compilation {
  std::vector<std::string> command;
  std::string path;    ///< of the file
  std::string folder;  ///< where it runs, and where imports are looked for
  std::string input;
  std::map<std::string, std::string> unsaved;  ///< texts by path
};

/// For one target, with more options. What is typed in files that the `analysis` has not read does not matter to it;
/// null where there was none.
Compilation compilation_of(const FileModel& file, const Workspace& workspace, const AnalysisResult* analysis,
                           const CompilerSettings& compiler, const std::string& target,
                           const std::vector<std::string>& more);
/// A number for all that it is given and that is not on disk.
uint64_t hash_of(const Compilation& compilation);
/// Runs it: its output, or nothing and a reason.
std::optional<std::string> run(const Compilation& compilation, const std::function<bool()>& stop, std::string& error);

/// The path of the file that the compiler calls by this name.
std::string path_of_name(const Compilation& compilation, std::string_view name);

/// A place as reports and dumps write it: "model.tsr:9:5".
struct NamedPlace {
  std::string path;
  uint32_t line = 0;    ///< from 1
  uint32_t column = 0;  ///< from 1, in bytes
  friend bool operator==(const NamedPlace&, const NamedPlace&) = default;
};
std::optional<NamedPlace> read_place(const Compilation& compilation, std::string_view text);

}  // namespace tessera::lsp
