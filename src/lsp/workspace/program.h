#pragma once
// The files of the workspace as the linker of names sees them (frontend/binding/linker.h).

#include <map>
#include <string_view>

#include "frontend/values/language_names.h"
#include "lsp/workspace/workspace.h"

namespace tessera::lsp {

/// A file with those that it includes.
class WorkspaceFile : public names::ModuleFile {
 public:
  WorkspaceFile(Workspace& workspace, FileModel& model) : workspace_(workspace), model_(model) {}

  FileModel& model() const { return model_; }
  std::vector<const Declared*> find(std::string_view name) const override;
  names::NameSet names() const override;
  /// The file and the piece that have one of these declarations; null where it is of none.
  std::pair<FileModel*, const Piece*> place_of(const Declared& declared) const;

 private:
  Workspace& workspace_;
  FileModel& model_;
};

class WorkspaceProgram : public frontend::LanguageProgram {
 public:
  explicit WorkspaceProgram(Workspace& workspace) : workspace_(workspace) {}

  const WorkspaceFile& file(FileModel& model);
  const names::ModuleFile* module(const names::ModuleFile& importer, std::string_view dotted) override;
  const names::ModuleFile* library(std::string_view dotted) override { return at(dotted, ""); }

 private:
  const names::ModuleFile* at(std::string_view dotted, const std::string& importer);

  Workspace& workspace_;
  std::map<const FileModel*, WorkspaceFile> files_;
};

}  // namespace tessera::lsp
