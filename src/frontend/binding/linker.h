#pragma once
// Follows names through the files of a program: from a name of a file, or a member `a.b.c`, by imports of imports to
// the declaration. It knows files by their declarations alone (names.h), whoever keeps these.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/binding/names.h"

namespace tessera::names {

using NameSet = std::set<std::string, std::less<>>;

/// A file with those that it includes, as its own names and other files' imports see it.
class ModuleFile {
 public:
  virtual ~ModuleFile() = default;
  /// The declarations of a name, in their order: the first one counts, imports below one name add to it.
  virtual std::vector<const Declared*> find(std::string_view name) const = 0;
  virtual NameSet names() const = 0;
};

/// A file of which all declarations are in one list.
class DeclaredFile : public ModuleFile {
 public:
  explicit DeclaredFile(std::vector<Declared> declared);
  std::vector<const Declared*> find(std::string_view name) const override;
  NameSet names() const override;

 private:
  std::vector<Declared> declared_;
  std::multimap<std::string_view, const Declared*> by_name_;
};

class Program {
 public:
  virtual ~Program() = default;
  /// The file of a module that another file imports; null when there is none.
  virtual const ModuleFile* module(const ModuleFile& importer, std::string_view dotted) = 0;
  /// The same of the standard library, imported or not.
  virtual const ModuleFile* library(std::string_view dotted) = 0;
  /// The modules of the standard library, by their names behind `tessera.`.
  virtual const NameSet& libraries() = 0;
  /// The names of the language in "ops" or "tile".
  virtual const NameSet& words(std::string_view space) = 0;
};

/// What a name leads to.
struct Linked {
  enum class Kind : uint8_t {
    Unknown,   ///< there is no such name
    Failed,    ///< an import that leads nowhere: its module is not there, or lacks the name
    Declared,  ///< what `declared` of `file` is
    File,      ///< the module `path`, which is `file`
    Folder,    ///< `a` of `import a.b` in `file`; `path` is up to here
    Language,  ///< `path` is a name of the language, or of its module `tile`: "exp", "tile", "tile.load"
  };
  Kind kind = Kind::Unknown;
  const ModuleFile* file = nullptr;
  const Declared* declared = nullptr;
  std::string path = {};
  /// An import on the way.
  struct Step {
    const ModuleFile* file;
    const Declared* declared;
  };
  std::vector<Step> steps = {};  ///< the one that was asked for first
};

class Linker {
 public:
  explicit Linker(Program& program) : program_(program) {}

  /// A name that a file has at its top level, or the language.
  Linked name(const ModuleFile& file, std::string_view name);
  /// What a declaration of a file is when imports are followed.
  Linked follow(const ModuleFile& file, const Declared& declared);
  /// A module that a file imports, by its dotted name.
  Linked module(const ModuleFile& importer, std::string_view dotted);
  /// What `from dotted import name` in a file gives.
  Linked imported(const ModuleFile& importer, std::string_view dotted, std::string_view name);
  /// `object.name`.
  Linked member(const Linked& object, std::string_view name);
  /// A name or member `a.b.c` at the top level of a file.
  Linked expression(const ModuleFile& file, const ast::Expr& expr);
  Linked of_language(std::string_view name);
  /// What a constant is another name of: a module, or a name of the language. Unknown where it is none.
  Linked value(const Linked& constant);
  /// The names behind the dot of a module.
  NameSet members(const Linked& module);

 private:
  Linked word(std::string_view space, std::string_view name);
  Linked of_folder(const Linked& folder, std::string_view name);
  /// What the imports of a file have at a path that they lead to.
  Linked at_path(const ModuleFile& file, std::string_view path);
  Program& program_;
  int depth_ = 0;
};

}  // namespace tessera::names
