#include "frontend/binding/imports.h"

#include <algorithm>
#include <filesystem>

#include "frontend/binding/declared.h"
#include "frontend/syntax/parse.h"
#include "support/diagnostic.h"

namespace tessera::names {

namespace {

std::string relative_path(std::string_view dotted) {
  std::string path(dotted);
  std::replace(path.begin(), path.end(), '.', '/');
  return path + ".tsr";
}

}  // namespace

ModulePlace place_of_module(std::string_view dotted, std::string_view importer, bool is_in_library,
                            std::span<const std::string> folders) {
  constexpr std::string_view library = "tessera.";
  bool is_language = dotted == "tessera" || dotted == "tessera.ops" || dotted == "tessera.tile";
  if (is_language) return {ModulePlace::Kind::Language, {}};
  if (dotted.starts_with(library)) {
    return {ModulePlace::Kind::Library, {relative_path(dotted.substr(library.size()))}};
  }
  if (is_in_library) return {ModulePlace::Kind::Library, {}};
  ModulePlace place;
  auto add = [&](const std::filesystem::path& folder) {
    place.paths.push_back((folder / relative_path(dotted)).lexically_normal().string());
  };
  add(std::filesystem::path(importer).parent_path());
  for (const std::string& folder : folders) add(folder);
  return place;
}

std::vector<std::string> exported_names(std::string_view text) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  FileId file = sources.add("module", std::string(text));
  ast::SourceUnit unit = parse_source(file, sources, {}, diagnostics);
  std::vector<std::string> names;
  for (Declared& declared : list_declared(sources, file, unit.declarations)) names.push_back(std::move(declared.name));
  return names;
}

}  // namespace tessera::names
