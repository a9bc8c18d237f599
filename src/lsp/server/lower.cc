#include "lsp/server/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "lsp/features/stages.h"
#include "lsp/protocol/uri.h"
#include "lsp/workspace/library_files.h"
#include "support/assembly.h"

namespace tessera::lsp {

namespace {

struct Line {
  std::string_view text;
  std::optional<NamedPlace> place;
};

/// A function or kernel of the compiler's.
struct Unit {
  std::string_view symbol;
  std::optional<NamedPlace> place;  ///< where it is declared
  std::vector<Line> lines;
};

const Stage* find_stage(std::string_view command) {
  for (const Stage& stage : stages) {
    if (stage.command == command) return &stage;
  }
  return nullptr;
}

/// The entry, kernel or method at the offset, which the job is about.
void find_function(const FileModel& file, uint32_t offset, LowerJob& job) {
  const Piece* piece = file.piece_at(offset);
  if (!piece) return;
  auto take = [&](const Declared& declared) {
    job.function = declared.name;
    job.is_kernel = declared.kind == SymbolKind::Kernel;
    Range range = piece->in_document(declared.range);
    job.line = file.lines().line_of(piece->in_document(declared.name_range).begin) + 1;
    job.first = file.lines().line_of(range.begin) + 1;
    job.last = file.lines().line_of(range.end) + 1;
  };
  for (const Declared& declared : piece->names.declared) {
    if (!piece->in_document(declared.range).touches(offset)) continue;
    take(declared);
    for (const Declared& member : declared.members) {
      bool inside = member.kind == SymbolKind::Method && piece->in_document(member.range).touches(offset);
      if (inside) return take(member);
    }
    return;
  }
}

size_t indentation(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// The symbol of the function or kernel that begins on a line of IR; empty where none does.
std::string_view begun_symbol(std::string_view line) {
  size_t at = line.find('@');
  if (at == std::string_view::npos || !line.ends_with('{')) return "";
  std::string_view head = line.substr(0, at);
  if (head.find("func") == std::string_view::npos && head.find("kernel") == std::string_view::npos) return "";
  auto ends = [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.'; };
  size_t end = at + 1;
  while (end < line.size() && !ends(line[end])) ++end;
  return line.substr(at + 1, end - at - 1);
}

/// Takes ` loc("file":12:3)` off the end of a line.
Line take_place(const Compilation& compilation, std::string_view text) {
  size_t at = text.rfind(" loc(\"");
  if (at == std::string_view::npos || !text.ends_with(')')) return {text, std::nullopt};
  std::string place(text.substr(at + 6, text.size() - at - 7));
  place.erase(std::remove(place.begin(), place.end(), '"'), place.end());
  return {text.substr(0, at), read_place(compilation, place)};
}

/// Whether a unit is of the function that is asked for: by its name, with what is made of it ("f", "f.0", in PTX
/// "f$0"), or by where it is declared, as a kernel that is called has its caller's name.
bool is_own(const LowerJob& job, const Unit& unit) {
  std::string_view rest = unit.symbol;
  if (rest.starts_with(job.function)) {
    rest.remove_prefix(job.function.size());
    if (rest.empty() || rest[0] == '.' || rest[0] == '$') return true;
  }
  return unit.place && unit.place->path == job.compilation.path && unit.place->line == job.line;
}

/// Whether a line of it is for one of the function's.
bool reaches(const LowerJob& job, const Unit& unit) {
  return std::any_of(unit.lines.begin(), unit.lines.end(), [&](const Line& line) {
    bool is_here = line.place && line.place->path == job.compilation.path;
    return is_here && job.first <= line.place->line && line.place->line <= job.last;
  });
}

/// The units of the function; of one that is compiled as a part of others, these.
std::vector<const Unit*> choose(const LowerJob& job, const std::vector<Unit>& units) {
  std::vector<const Unit*> own, reached;
  for (const Unit& unit : units) {
    if (job.function.empty() || is_own(job, unit)) own.push_back(&unit);
    if (reaches(job, unit)) reached.push_back(&unit);
  }
  return own.empty() ? reached : own;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The units of a dump, without the modules that they are in.
std::vector<Unit> units_of_dump(const Compilation& compilation, std::string_view dump) {
  std::vector<Unit> units;
  std::vector<std::string_view> lines = lines_of(dump);
  for (size_t i = 0; i < lines.size(); ++i) {
    Unit unit{begun_symbol(take_place(compilation, lines[i]).text), std::nullopt, {}};
    if (unit.symbol.empty()) continue;
    size_t margin = indentation(lines[i]);
    bool ends = false;
    for (; i < lines.size() && !ends; ++i) {
      unit.lines.push_back(take_place(compilation, lines[i]));
      size_t begin = indentation(lines[i]);
      ends = begin <= margin && lines[i].substr(begin).starts_with('}');
    }
    --i;
    unit.place = unit.lines.back().place;
    units.push_back(std::move(unit));
  }
  return units;
}

/// The kernels of PTX or assembly.
std::vector<Unit> units_of_code(const Compilation& compilation, std::string_view text) {
  std::vector<Unit> units;
  Assembly assembly = split_assembly(text);
  std::vector<std::string> paths;
  for (const std::string& name : assembly.files) paths.push_back(path_of_name(compilation, name));
  for (const AssemblyFunction& function : assembly.functions) {
    Unit& unit = units.emplace_back();
    unit.symbol = function.name;
    auto same = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.symbol == function.same_as; });
    if (same != units.end()) unit.lines = same->lines;
    for (const AssemblyLine& line : function.lines) {
      Line& added = unit.lines.emplace_back(Line{line.text, std::nullopt});
      if (line.file != 0) added.place = {paths[line.file - 1], line.line, line.column};
    }
    for (const Line& line : unit.lines) unit.place = unit.place ? unit.place : line.place;
  }
  return units;
}

}  // namespace

std::optional<LowerJob> lower_job(Context& context, const CompilerSettings& compiler, const std::string& command,
                                  const Json& argument, std::string& error) {
  const Stage* stage = find_stage(command);
  Json params = {{"textDocument", {{"uri", text_at(argument, "uri")}}}, {"position", member(argument, "position")}};
  FileModel* file = stage ? file_of(context, params) : nullptr;
  if (!file) {
    error = stage ? "there is no such document" : fmt::format("there is no command '{}'", command);
    return std::nullopt;
  }
  LowerJob job;
  find_function(*file, offset_of(context, *file, params), job);
  job.uri = text_at(argument, "uri");
  job.target = text_at(argument, "target");
  if (job.target.empty()) job.target = compiler.target.empty() ? default_target : compiler.target;
  job.stage = stage->title;
  std::string dump(stage->dump);
  job.is_code = dump.empty();
  if (job.is_code) dump = job.target.starts_with("cuda:") ? "ptx" : "asm";
  std::vector<std::string> options = {"--dump=" + dump, "-o", "-"};
  if (dump == "asm") options.push_back("--lineinfo");
  job.compilation = compilation_of(*file, context.workspace, context.analysis(*file), compiler, job.target, options);
  return job;
}

std::string stage_file(const LowerJob& job) {
  std::string folder = cache_folder();
  if (folder.empty()) return "";
  std::string file = std::filesystem::path(job.compilation.path).stem().string();
  std::string name = file + (job.function.empty() ? "" : "." + job.function);
  std::error_code error;
  std::filesystem::create_directories(folder + "stages", error);
  std::string_view extension = !job.is_code ? "tir" : job.target.starts_with("cuda:") ? "ptx" : "s";
  std::string stage = job.is_code ? "" : "." + job.stage;
  return error ? "" : fmt::format("{}stages/{}{}.{}", folder, name, stage, extension);
}

Json run_lower_job(const LowerJob& job, const std::function<bool()>& stop, std::string& error) {
  std::optional<std::string> output = run(job.compilation, stop, error);
  if (!output) return nullptr;
  std::vector<Unit> units =
      job.is_code ? units_of_code(job.compilation, *output) : units_of_dump(job.compilation, *output);
  std::vector<const Unit*> chosen = choose(job, units);
  if (chosen.empty()) {
    constexpr std::string_view of_kernel = ", a kernel; its lowering begins with Schedule";
    error = fmt::format("there is no {} of '{}'{}", job.stage, job.function, job.is_kernel ? of_kernel : "");
    return nullptr;
  }
  std::map<std::string, std::string> uris = {{job.compilation.path, job.uri}};
  auto uri = [&](const std::string& path) {
    auto [known, is_new] = uris.try_emplace(path);
    if (is_new) known->second = uri_of(path.starts_with(library_folder) ? write_library_file(path) : path);
    return known->second;
  };
  std::string text;
  Json lines = Json::array();
  for (const Unit* unit : chosen) {
    if (!text.empty()) {
      text += '\n';
      lines.push_back(nullptr);
    }
    for (const Line& line : unit->lines) {
      bool has_place = line.place && line.place->line > 0;
      lines.push_back(has_place ? Json{{"uri", uri(line.place->path)}, {"line", line.place->line - 1}} : Json());
      text += line.text;
      text += '\n';
    }
  }
  return {{"function", job.function}, {"target", job.target}, {"text", std::move(text)}, {"lines", std::move(lines)}};
}

}  // namespace tessera::lsp
