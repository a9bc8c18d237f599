#include "lsp/lower.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lsp/child.h"
#include "lsp/features/stages.h"
#include "lsp/uri.h"

namespace tessera::lsp {

namespace fs = std::filesystem;

namespace {

constexpr int time_limit = 60;  // seconds
/// What the compiler calls the text on its standard input.
constexpr std::string_view input_name = "-";

const Stage* find_stage(std::string_view command) {
  for (const Stage& stage : stages) {
    if (stage.command == command) return &stage;
  }
  return nullptr;
}

/// The entry, kernel or method at the place.
std::string function_at_place(FileModel& file, uint32_t offset) {
  const Piece* piece = file.piece_at(offset);
  if (!piece) return "";
  for (const Declared& declared : piece->names.declared) {
    if (!piece->in_document(declared.range).touches(offset)) continue;
    for (const Declared& member : declared.members) {
      bool inside = member.kind == DeclaredKind::Method && piece->in_document(member.range).touches(offset);
      if (inside) return member.name;
    }
    return declared.name;
  }
  return "";
}

size_t indentation(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// Whether a line begins the function of that name, or a kernel made of it ("f.0").
bool begins_function(std::string_view line, const std::string& name) {
  size_t at = line.find('@');
  if (at == std::string_view::npos || !line.ends_with('{') || line.find("func") >= at) {
    bool kernel = at != std::string_view::npos && line.ends_with('{') && line.find("kernel") < at;
    if (!kernel) return false;
  }
  std::string_view symbol = line.substr(at + 1);
  if (!symbol.starts_with(name)) return false;
  char next = symbol.size() > name.size() ? symbol[name.size()] : ' ';
  return !(std::isalnum(static_cast<unsigned char>(next)) || next == '_');
}

/// The lines of a dump that are about the function; all of them where none says so.
std::vector<std::string_view> cut_to(const std::string& dump, const std::string& function) {
  std::vector<std::string_view> all, own;
  for (size_t at = 0; at < dump.size();) {
    size_t end = std::min(dump.find('\n', at), dump.size());
    all.push_back(std::string_view(dump).substr(at, end - at));
    at = end + 1;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (!begins_function(all[i], function)) continue;
    size_t margin = indentation(all[i]);
    auto ends = [&](std::string_view line) {
      size_t begin = indentation(line);
      return begin <= margin && line.substr(begin).starts_with('}');
    };
    do {
      own.push_back(all[i]);
    } while (++i < all.size() && !ends(all[i]));
    if (i < all.size()) own.push_back(all[i]);
  }
  return own.empty() ? all : own;
}

/// Takes `loc("file":12:3)` off the end of a line and gives the line, if it is one of the input's.
std::optional<uint32_t> take_place(std::string& line) {
  size_t at = line.rfind(" loc(\"");
  if (at == std::string::npos) return std::nullopt;
  size_t name = at + 6;
  size_t quote = line.find('"', name);
  std::string_view file = std::string_view(line).substr(name, quote - name);
  uint32_t number = 0;
  bool own = quote != std::string::npos && quote + 2 < line.size() && (file == input_name || file == "<stdin>");
  if (own) std::from_chars(line.data() + quote + 2, line.data() + line.size(), number);
  size_t end = line.find(')', at);
  if (end != std::string::npos) line.erase(at, end + 1 - at);
  return number == 0 ? std::nullopt : std::optional(number - 1);
}

}  // namespace

std::string find_compiler() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path beside = self.parent_path() / "tesserac";
  return !error && fs::exists(beside, error) ? beside.string() : "tesserac";
}

std::optional<LowerJob> lower_job(Context& context, const std::string& compiler, const std::string& command,
                                  const Json& argument, std::string& error) {
  const Stage* stage = find_stage(command);
  Json params = {{"textDocument", {{"uri", text_at(argument, "uri")}}}, {"position", member(argument, "position")}};
  FileModel* file = stage ? file_of(context, params) : nullptr;
  if (!file) {
    error = stage ? "there is no such document" : fmt::format("there is no command '{}'", command);
    return std::nullopt;
  }
  LowerJob job;
  job.function = function_at_place(*file, offset_of(context, *file, params));
  job.uri = text_at(argument, "uri");
  job.input = file->text();
  fs::path path = file->path();
  job.folder = path.is_absolute() ? path.parent_path().string() : "";
  std::string target = text_at(argument, "target");
  if (target.empty() || target.starts_with('-')) target = "cpu:x86-64-v3";
  std::string dump(stage->dump);
  if (dump.empty()) dump = target.starts_with("cuda:") ? "ptx" : "asm";
  job.command = {compiler, "-", "--dump=" + dump, "--target=" + target, "-o", "-"};
  for (const std::string& folder : context.workspace.options.include_paths) job.command.push_back("-I" + folder);
  for (const auto& [name, value] : context.workspace.options.defines) job.command.push_back("-D" + name + "=" + value);
  return job;
}

Json run_lower_job(const LowerJob& job, const std::function<bool()>& stop, std::string& error) {
  ChildResult result = run_child(job.command, job.folder, job.input, time_limit, stop);
  if (!result.started) {
    error = fmt::format("'{}' cannot be started", job.command[0]);
  } else if (!result.ended) {
    error = fmt::format("'{}' was ended before it was done", job.command[0]);
  } else if (result.status != 0) {
    error = result.errors.empty() ? fmt::format("'{}' failed", job.command[0]) : result.errors;
  }
  if (!error.empty()) return nullptr;
  std::string text;
  Json lines = Json::array();
  for (std::string_view part : cut_to(result.out, job.function)) {
    std::string line(part);
    auto place = take_place(line);
    lines.push_back(place ? Json(*place) : Json());
    text += line + "\n";
  }
  return {{"uri", job.uri}, {"function", job.function}, {"text", std::move(text)}, {"lines", std::move(lines)}};
}

}  // namespace tessera::lsp
