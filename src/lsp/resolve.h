#pragma once
// What a name in a file means: from its occurrence (names.h) through the file's declarations and its
// imports to where it is declared, or to a word of the language.

#include <optional>
#include <string>
#include <string_view>

#include "lsp/reference.h"
#include "lsp/workspace.h"

namespace tessera::lsp {

enum class SymbolKind : uint8_t {
  Parameter,
  Self,
  Variable,
  Size,  ///< a size or dtype that a signature declares
  Function,
  Entry,
  Kernel,
  Module,
  Constant,
  Param,
  Dim,
  Field,
  Method,
  File,       ///< of an import
  Namespace,  ///< `tessera` in `import tessera.nn`
  Builtin,
  Word,
};

/// A name's meaning. `key` is equal for all names of one thing.
struct Symbol {
  SymbolKind kind = SymbolKind::Variable;
  std::string name;
  std::string key;
  FileModel* file = nullptr;      ///< that declares it; of File: the file itself; null for the language's
  const Piece* piece = nullptr;   ///< of `file`
  Range range;                    ///< of the name where it is declared, in the document
  Range full_range;               ///< of the declaration
  const Declared* declared = nullptr;
  const Local* local = nullptr;
  const frontend::Builtin* builtin = nullptr;
  const Word* word = nullptr;
  std::string prefix;  ///< of Namespace: "tessera", "a.b"

  bool has_place() const { return file != nullptr && kind != SymbolKind::Namespace; }
};

/// A name with where it stands.
struct NamePlace {
  FileModel* file = nullptr;
  const Piece* piece = nullptr;
  const Occurrence* occurrence = nullptr;
  Range range() const { return piece->in_document(occurrence->range); }
};

class Resolver {
 public:
  explicit Resolver(Workspace& workspace) : workspace_(workspace) {}

  /// The name at an offset of a file, if there is one.
  std::optional<NamePlace> name_at(FileModel& file, uint32_t offset) const;
  std::optional<Symbol> resolve(const NamePlace& place);
  /// A name used at the offset of a file, where no occurrence stands yet.
  std::optional<Symbol> resolve_name(FileModel& file, std::string_view name, uint32_t offset);
  /// The member of what a symbol stands for.
  std::optional<Symbol> member(const Symbol& object, std::string_view name);
  /// What is called when the symbol is: of a field or instance the method `__call__`, of a module itself.
  std::optional<Symbol> callee(const Symbol& symbol);
  /// The module that the symbol is, or is an instance of.
  std::optional<Symbol> module_of(const Symbol& symbol);
  /// The declaration as a symbol; imports are followed when asked for.
  std::optional<Symbol> declared(FileModel& file, const Piece& piece, const Declared& declared, bool follow = true);
  /// The parameter of a function, method or module with that name.
  std::optional<Symbol> parameter(const Symbol& callable, std::string_view name);

 private:
  std::optional<Symbol> free_name(FileModel& file, std::string_view name);
  std::optional<Symbol> local(FileModel& file, const Piece& piece, int32_t index);
  std::optional<Symbol> own_member(FileModel& file, std::string_view owner, std::string_view name);
  std::optional<Symbol> imported(FileModel& from, std::string_view path, std::string_view name);
  std::optional<Symbol> file_symbol(FileModel& from, std::string_view dotted);
  std::optional<Symbol> decorator(std::string_view path);
  std::optional<Symbol> language_name(std::string_view name);

  Workspace& workspace_;
  int depth_ = 0;
};

/// A function of the language as a symbol; a word as one.
Symbol builtin_symbol(const frontend::Builtin& builtin);
Symbol word_symbol(const Word& word);

}  // namespace tessera::lsp
