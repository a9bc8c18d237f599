#pragma once
// What the names in a piece of a file are, as far as its syntax says: which are variables of a
// function, which stand for something outside of it. Broken statements take part, too: their names
// are looked up in the scopes around them. What a free name means is asked of the file and its
// imports (workspace.h), so that another piece can change without this one.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "lsp/positions.h"

namespace tessera::lsp {

struct Piece;

enum class LocalKind : uint8_t {
  Parameter,
  Self,      ///< the first parameter of a method
  Variable,
  Symbol,    ///< a size or dtype that the type of a parameter may declare
  Function,  ///< a def in a function
};

/// A name of a function, module, lambda or comprehension.
struct Local {
  std::string name;
  LocalKind kind = LocalKind::Variable;
  Range range;  ///< of the name where it gets its meaning first
  Range scope;
  /// For a parameter whose callers can name it: "f", "Module" or "Module.method".
  std::string callable;
  std::string owner;  ///< of Self: the module
  const ast::Parameter* parameter = nullptr;
  const ast::Def* def = nullptr;
};

enum class OccurrenceKind : uint8_t {
  Local,
  Free,       ///< of the file, imported, or of the language
  Member,     ///< `object.name`; `parent` is the object's occurrence
  OwnMember,  ///< the declaration of a member of a module, `owner`
  Argument,   ///< `name=` in a call; `parent` is the callee's occurrence
  Path,       ///< a part of the name of a file, `path` up to and with it
  Imported,   ///< a name of the file `path`
  Decorator,  ///< a part of a decorator's name, `path` up to and with it
  Effect,
};

struct Occurrence {
  Range range;
  OccurrenceKind kind = OccurrenceKind::Free;
  bool writes = false;   ///< gives the name a meaning
  int32_t local = -1;    ///< index in PieceNames::locals
  int32_t parent = -1;   ///< index in PieceNames::occurrences; -1: some expression
  std::string_view path; ///< in the piece's arenas
  std::string owner;
};

enum class DeclaredKind : uint8_t {
  Function,
  Entry,
  Kernel,
  Module,
  Constant,
  Param,
  Dim,
  Namespace,  ///< `import a.b as c`
  Imported,   ///< `from a import b as c`
  Field,
  Method,
};

/// What a file, or a module in it, declares.
struct Declared {
  std::string name;
  DeclaredKind kind = DeclaredKind::Constant;
  Range name_range;
  Range range;  ///< of the whole declaration
  const ast::Stmt* stmt = nullptr;  ///< null where only the name could be read
  std::string path;      ///< of imports: the file
  std::string imported;  ///< of Imported: the name there
  std::vector<Declared> members;
};

struct PieceNames {
  std::vector<Local> locals;
  std::vector<Occurrence> occurrences;  ///< in the order of their places
  std::vector<Declared> declared;

  /// The occurrence whose name is or ends at this offset; null when there is none.
  const Occurrence* at(uint32_t offset) const;
  /// The local of that name visible at the offset; -1 when there is none.
  int32_t visible(std::string_view name, uint32_t offset) const;
};

PieceNames bind_names(const Piece& piece);

}  // namespace tessera::lsp
