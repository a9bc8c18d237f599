#include "lsp/workspace/program.h"

namespace tessera::lsp {

std::vector<const Declared*> WorkspaceFile::find(std::string_view name) const {
  std::vector<const Declared*> found;
  for (FileModel* part : workspace_.with_included(model_)) {
    for (auto [at, end] = part->declared().equal_range(name); at != end; ++at) found.push_back(at->second.first);
  }
  return found;
}

names::NameSet WorkspaceFile::names() const {
  names::NameSet names;
  for (FileModel* part : workspace_.with_included(model_)) {
    for (const auto& [name, declared] : part->declared()) names.emplace(name);
  }
  return names;
}

std::pair<FileModel*, const Piece*> WorkspaceFile::place_of(const Declared& declared) const {
  for (FileModel* part : workspace_.with_included(model_)) {
    for (auto [at, end] = part->declared().equal_range(declared.name); at != end; ++at) {
      if (at->second.first == &declared) return {part, at->second.second};
    }
  }
  return {};
}

const WorkspaceFile& WorkspaceProgram::file(FileModel& model) {
  return files_.try_emplace(&model, workspace_, model).first->second;
}

const names::ModuleFile* WorkspaceProgram::module(const names::ModuleFile& importer, std::string_view dotted) {
  return at(dotted, static_cast<const WorkspaceFile&>(importer).model().path());
}

const names::ModuleFile* WorkspaceProgram::at(std::string_view dotted, const std::string& importer) {
  std::string path = workspace_.resolve_import(dotted, importer);
  FileModel* model = path.empty() ? nullptr : workspace_.model(path);
  return model ? &file(*model) : nullptr;
}

}  // namespace tessera::lsp
