#include "lsp/workspace/compiler.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "frontend/values/embedded.h"
#include "lsp/workspace/library_files.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/temporary.h"

namespace tessera::lsp {

namespace fs = std::filesystem;

namespace {

constexpr int time_limit = 60;  // seconds

/// Takes ":12" off the end.
std::optional<uint32_t> take_number(std::string_view& text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  uint32_t number = 0;
  auto [stop, problem] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), number);
  bool is_number = problem == std::errc() && stop == text.data() + text.size();
  text = text.substr(0, colon);
  return is_number ? std::optional(number) : std::nullopt;
}

/// The name of the file in messages and dumps, which the compiler reads from its standard input.
std::string name_of(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  return name.empty() ? "<stdin>" : name;
}

/// Texts in files of their own, for as long as a compiler reads them.
class UnsavedTexts {
 public:
  explicit UnsavedTexts(const std::map<std::string, std::string>& texts) {
    if (texts.empty()) return;
    folder_.emplace("lsp");
    if (!folder_->problem().empty()) problem_ = "no folder for texts that are not saved: " + folder_->problem();
    for (const auto& [path, text] : texts) {
      if (!problem_.empty()) return;
      std::string name = folder_->file(fmt::format("{}.tsr", options_.size())), reason;
      if (!write_file(name, text, reason)) problem_ = fmt::format("'{}' cannot be written: {}", name, reason);
      options_.push_back(fmt::format("--remap={}={}", path, name));
    }
  }
  const std::vector<std::string>& options() const { return options_; }
  const std::string& problem() const { return problem_; }

 private:
  std::optional<TemporaryFolder> folder_;
  std::vector<std::string> options_;
  std::string problem_;
};

}  // namespace

std::string find_compiler() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path beside = self.parent_path() / "tesserac";
  return !error && fs::exists(beside, error) ? beside.string() : "tesserac";
}

void read_compiler_settings(const Json& settings, CompilerSettings& compiler) {
  std::string path = text_at(settings, "compilerPath");
  // An editor's own words for folders, which it sends as they are written, were put in when it began.
  bool is_path = !path.empty() && path.find("${") == std::string::npos;
  if (is_path) compiler.path = path;
  // Of several targets the first one is shown.
  std::string targets = text_at(settings, "target");
  if (member(settings, "target").is_string()) compiler.target = targets.substr(0, targets.find(','));
  const Json& sizes = member(settings, "sizes");
  if (!sizes.is_object()) return;
  compiler.sizes.clear();
  for (const auto& [name, size] : sizes.items()) {
    std::optional<int64_t> number = integer_at(sizes, name);
    if (number && *number >= 0) compiler.sizes[name] = *number;
  }
}

Compilation compilation_of(const FileModel& file, const Workspace& workspace, const AnalysisResult* analysis,
                           const CompilerSettings& compiler, const std::string& target,
                           const std::vector<std::string>& more) {
  const WorkspaceOptions& options = workspace.options;
  Compilation made;
  made.unsaved = workspace.unsaved();
  std::erase_if(made.unsaved, [&](const auto& entry) {
    bool is_read = !analysis || std::count(analysis->files.begin(), analysis->files.end(), entry.first) != 0;
    return entry.first == file.path() || !is_read;
  });
  made.path = file.path();
  made.input = file.text();
  fs::path path = file.path();
  made.folder = path.is_absolute() ? path.parent_path().string() : "";
  made.command = {compiler.path, "-", "--stdin-name=" + name_of(made.path), "--target=" + target};
  made.command.insert(made.command.end(), more.begin(), more.end());
  // The compiler refuses a folder that is not there, as settings of another machine and unsaved files may name.
  auto is_there = [](const std::string& path) {
    std::error_code error;
    return fs::exists(path, error);
  };
  for (const std::string& folder : options.include_paths) {
    if (is_there(folder)) made.command.push_back("-I" + folder);
  }
  std::vector<std::string> roots = workspace.readable_folders();
  std::erase_if(roots, [&](const std::string& folder) { return !is_there(folder); });
  if (roots.empty()) roots.emplace_back("/dev/null");  // no root at all would restrict nothing
  for (const std::string& folder : roots) made.command.push_back("--include-root=" + folder);
  for (const auto& [name, value] : options.defines) made.command.push_back("-D" + name + "=" + value);
  return made;
}

uint64_t hash_of(const Compilation& compilation) {
  uint64_t hash = hash64(compilation.input);
  for (const std::string& argument : compilation.command) hash = hash_combine(hash, hash64(argument));
  for (const auto& [path, text] : compilation.unsaved) {
    hash = hash_combine(hash_combine(hash, hash64(path)), hash64(text));
  }
  return hash;
}

std::optional<std::string> run(const Compilation& compilation, const std::function<bool()>& stop, std::string& error) {
  const std::string& program = compilation.command[0];
  UnsavedTexts unsaved(compilation.unsaved);
  if (!unsaved.problem().empty()) {
    error = unsaved.problem();
    return std::nullopt;
  }
  std::vector<std::string> command = compilation.command;
  for (const std::string& option : unsaved.options()) command.push_back(option);
  ChildResult result = run_child(command, compilation.folder, compilation.input, time_limit, stop);
  switch (result.end) {
    case ChildEnd::NotStarted: error = fmt::format("'{}' cannot be started", program); break;
    case ChildEnd::Stopped: error = fmt::format("'{}' was ended before it was done", program); break;
    case ChildEnd::OutOfTime: error = fmt::format("'{}' was ended after {} seconds", program, time_limit); break;
    case ChildEnd::TooMuchOutput:
      error = fmt::format("'{}' was ended: it printed more than {} MiB", program, max_child_output >> 20);
      break;
    case ChildEnd::ByItself:
      if (result.status == 0) return std::move(result.out);
      error = result.errors.empty() ? fmt::format("'{}' failed", program) : std::move(result.errors);
  }
  return std::nullopt;
}

std::string path_of_name(const Compilation& compilation, std::string_view name) {
  if (name == name_of(compilation.path)) return compilation.path;
  bool is_library = name.starts_with(library_folder) && frontend::embedded_file(name.substr(library_folder.size()));
  if (is_library) return std::string(name);
  return (fs::path(compilation.folder) / name).lexically_normal().string();
}

std::optional<NamedPlace> read_place(const Compilation& compilation, std::string_view text) {
  std::optional<uint32_t> column = take_number(text), line = take_number(text);
  if (!column || !line || text.empty()) return std::nullopt;
  return NamedPlace{path_of_name(compilation, text), *line, *column};
}

}  // namespace tessera::lsp
