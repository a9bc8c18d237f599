#pragma once
// The names in a piece of a file, as far as its syntax determines them: variables of a function,
// and free names that are declared outside of it. Scopes are those of the evaluation: blocks open
// none, and a name is a function's own from its first assignment. Broken statements take part, too:
// their names are looked up in the scopes around them. Free names are resolved in the file and its
// imports (resolve.h), so that another piece can change without this one.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "lsp/protocol/positions.h"

namespace tessera::lsp {

struct Piece;

/// The meaning of a name.
enum class SymbolKind : uint8_t {
  // Of a function, module, lambda or comprehension:
  Parameter,
  Self,  ///< the first parameter of a method
  Variable,
  Size,  ///< a size or dtype that the type of a parameter may declare
  // Of a file, or of a module in it; functions also of functions:
  Function,
  Entry,
  Kernel,
  Module,
  Constant,
  Param,
  Dim,
  Field,
  Method,
  Import,     ///< `from a import b as c`, where `b` is not known
  File,       ///< `import a.b as c`
  Namespace,  ///< `a` of `import a.b`
  // Of the language:
  Builtin,
  Word,
};

/// A name of a function, module, lambda or comprehension.
struct Local {
  std::string name;
  SymbolKind kind = SymbolKind::Variable;
  Range range;  ///< of the name where it gets its meaning first
  Range scope;
  /// For a parameter whose callers can name it: "f", "Module" or "Module.method"; "#9" where the name
  /// of a function in a function begins at 9.
  std::string callable;
  std::string owner;  ///< of Self, and of a constant of a module: the module
  const ast::Parameter* parameter = nullptr;
  const ast::Def* def = nullptr;
  /// The first value of the variable, or a list of its values; null when that is not written.
  const ast::Expr* origin = nullptr;
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
  Privilege,  ///< of a region
};

struct Occurrence {
  Range range;
  OccurrenceKind kind = OccurrenceKind::Free;
  bool writes = false;   ///< gives the name a meaning
  bool in_type = false;  ///< in an annotation
  int32_t local = -1;    ///< index in PieceNames::locals
  int32_t parent = -1;   ///< index in PieceNames::occurrences; -1: `object`
  const ast::Expr* object = nullptr;  ///< of a member, or the callee, when no name ends it; may be null
  std::string_view path; ///< in the piece's arenas
  std::string owner;
};

/// The declarations of a file, or of a module in it.
struct Declared {
  std::string name;
  SymbolKind kind = SymbolKind::Constant;
  Range name_range;
  Range range;  ///< of the whole declaration
  const ast::Stmt* stmt = nullptr;  ///< null where only the name could be read
  std::string path;      ///< of imports: the file
  std::string imported;  ///< of Import: the name there
  std::vector<Declared> members;
};

struct PieceNames {
  std::vector<Local> locals;
  std::vector<Occurrence> occurrences;  ///< in the order of their places
  std::vector<Declared> declared;

  /// The occurrence whose name is or ends at this offset; null when there is none.
  const Occurrence* at(uint32_t offset) const;
  /// The occurrence that begins at this offset; null when there is none.
  const Occurrence* beginning_at(uint32_t offset) const;
  /// The local of that name visible at the offset; -1 when there is none.
  int32_t visible(std::string_view name, uint32_t offset) const;
};

PieceNames bind_names(const Piece& piece);

}  // namespace tessera::lsp
