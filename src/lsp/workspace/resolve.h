#pragma once
// What a name in a file is for the client: its occurrence (names.h), linked with its declaration (frontend/binding)
// or a word of the language, as a symbol with its place in a document.

#include <optional>
#include <string>
#include <string_view>

#include "lsp/workspace/program.h"
#include "lsp/workspace/reference.h"
#include "lsp/workspace/workspace.h"

namespace tessera::lsp {

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
  std::string prefix;  ///< of Namespace: "a.b" of imports below it
  /// What the names look like and where they get that meaning, when it is imported under another name
  /// than its own.
  struct Alias {
    std::string name;
    FileModel* file;
    Range range;
  };
  std::optional<Alias> alias;

  bool has_place() const { return file != nullptr && kind != SymbolKind::Namespace; }
  /// The name as its uses are written.
  const std::string& written() const { return alias ? alias->name : name; }
};

/// A name with where it stands.
struct NamePlace {
  FileModel* file = nullptr;
  const Piece* piece = nullptr;
  const Occurrence* occurrence = nullptr;
  Range range() const { return piece->in_document(occurrence->range); }
};

/// A declaration with where it stands; one in a branch that is not taken is in no list of its file.
struct DeclaredPlace {
  FileModel* file = nullptr;
  const Piece* piece = nullptr;
  const Declared* declared = nullptr;
};

/// The kind of a value, as far as the text determines it.
enum class ValueSort : uint8_t { Unknown, Name, Instance, Schedule, Tensor, Cache, Optimizer };

struct Meaning {
  ValueSort sort = ValueSort::Unknown;
  /// Of Name: what it names, or an unknown value's name. Of Instance: the module that it, or each of a
  /// list of them, is an instance of.
  std::optional<Symbol> symbol;
};

/// How far one question has led.
struct Followed {
  int depth = 0;
  int steps = 0;
};

class Resolver {
 public:
  explicit Resolver(Workspace& workspace) : workspace_(workspace), program_(workspace), linker_(program_) {}

  /// The name at an offset of a file, if there is one.
  std::optional<NamePlace> name_at(FileModel& file, uint32_t offset) const;
  std::optional<Symbol> resolve(const NamePlace& place);
  /// A name used at the offset of a file, where no occurrence stands yet.
  std::optional<Symbol> resolve_name(FileModel& file, std::string_view name, uint32_t offset);
  /// The declaration as a symbol; imports are followed when asked for.
  std::optional<Symbol> declared(FileModel& file, const Piece& piece, const Declared& declared, bool follow = true);
  /// A module that a file imports, by its dotted name.
  std::optional<Symbol> module(FileModel& from, std::string_view dotted);
  /// The names behind the dot of a module.
  std::vector<Symbol> names_of(const Symbol& module);
  /// The parameter of a function, method or module with that name.
  std::optional<Symbol> parameter(const Symbol& callable, std::string_view name);

  // Values (resolve_values.cc).
  /// The kind of a symbol's value.
  Meaning meaning_of(const Symbol& symbol);
  /// The member of what a symbol stands for.
  std::optional<Symbol> member(const Meaning& object, std::string_view name);
  /// The function that a call of the symbol calls: of an instance the method `__call__`, of a
  /// variable the function that it holds; nothing when that is not known.
  std::optional<Symbol> callee(const Meaning& meaning);
  std::optional<Symbol> callee(const Symbol& symbol) { return callee(meaning_of(symbol)); }
  /// What is called with an argument that is given by name; nothing for any other name.
  std::optional<Symbol> called_with(const NamePlace& argument);
  /// The result of a call.
  Meaning result_of(const Meaning& callee);

 private:
  /// The declarations of a file, seen from a piece of it.
  std::optional<Symbol> declared_name(FileModel& file, const Piece& from, std::string_view name, bool follow = true);
  std::optional<Symbol> free_name(FileModel& file, const Piece& from, std::string_view name, bool in_type);
  std::optional<Symbol> local(FileModel& file, const Piece& piece, int32_t index);
  std::optional<Symbol> size(FileModel& file, const Piece& piece, const Local& local);
  std::optional<Symbol> own_member(const std::optional<Symbol>& module, std::string_view name);
  /// The declaration itself; imports are not followed.
  static Symbol own_symbol(const DeclaredPlace& declaration);
  std::optional<Symbol> linked(const names::Linked& linked, const DeclaredPlace& asked = {});
  /// What a linked name is, whatever imports led there.
  std::optional<Symbol> target(const names::Linked& linked, const DeclaredPlace& asked);
  std::optional<Symbol> step(const names::Linked::Step& step, const DeclaredPlace& asked);
  /// Of a symbol that is a module; unknown for others.
  names::Linked module_of(const Symbol& symbol);
  std::optional<Symbol> decorator(std::string_view path);
  std::optional<Symbol> language_name(std::string_view name, bool in_type);

  /// What stands before the dot of a member, or is called with an argument.
  Meaning meaning_of_parent(const NamePlace& place);
  Meaning meaning_of(FileModel& file, const Piece& piece, const ast::Expr* value);
  Meaning meaning_of_call(FileModel& file, const Piece& piece, const ast::Call& call);
  Meaning meaning_of_name(FileModel& file, const Piece& piece, Loc loc);
  Meaning meaning_of_type(FileModel& file, const Piece& piece, const ast::Expr* type);

  Workspace& workspace_;
  WorkspaceProgram program_;
  names::Linker linker_;
  Followed followed_;
};

/// A function of the language as a symbol; a word as one.
Symbol builtin_symbol(const frontend::Builtin& builtin);
Symbol word_symbol(const Word& word);
/// What can stand before the brackets of a call by itself.
bool is_callable(SymbolKind kind);
/// The words that are members of values of a sort; of an unknown one those of tensors and caches.
std::span<const WordKind> member_words(ValueSort sort);

/// Imports of imports, members of members and values of values are followed this far.
class Deeper {
 public:
  explicit Deeper(Followed& followed) : followed_(followed) {
    if (followed_.depth++ == 0) followed_.steps = 0;
    ++followed_.steps;
  }
  ~Deeper() { --followed_.depth; }
  Deeper(const Deeper&) = delete;
  bool too_deep() const { return followed_.depth > 32 || followed_.steps > 1000; }

 private:
  Followed& followed_;
};

}  // namespace tessera::lsp
