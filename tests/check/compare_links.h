#pragma once
// What the linker of frontend/binding says of names that lead to other files, beside the values that they have.

#include <map>
#include <string>

#include "frontend/evaluate/session.h"
#include "frontend/values/language_names.h"

namespace tessera::check {

/// Knows the files of a session by their trees alone.
class LinkComparer : public frontend::LanguageProgram {
 public:
  explicit LinkComparer(const SourceManager& sources) : sources_(sources), linker_(*this) {}

  void started(frontend::Session& session) { session_ = &session; }
  /// What differs at a name of the file, or a member of one, that has this value; empty where nothing does.
  std::string compare(const ast::Expr& expr, const frontend::Datum& value);
  /// What the constants of the main file name: whether there is such a name.
  std::map<std::string, bool> constants();
  /// Names that were found in another file, or behind a dot.
  size_t links() const { return links_; }

  const names::ModuleFile* module(const names::ModuleFile& importer, std::string_view dotted) override;
  const names::ModuleFile* library(std::string_view dotted) override;

 private:
  struct File : names::DeclaredFile {
    File(const frontend::SourceModule& module, std::vector<names::Declared> declared)
        : DeclaredFile(std::move(declared)), module(&module) {}
    const frontend::SourceModule* module;
  };
  const File& file_of(const frontend::SourceModule& module);
  const File* file_at(const names::ModulePlace& place);
  bool is_value(const names::Linked& linked, const frontend::Datum& value);

  const SourceManager& sources_;
  frontend::Session* session_ = nullptr;
  names::Linker linker_;
  std::map<const frontend::SourceModule*, File> files_;
  size_t links_ = 0;
};

}  // namespace tessera::check
