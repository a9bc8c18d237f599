#pragma once
// The names of a file, as far as its trees determine them: its declarations, the scopes and locals of
// its functions, and what each name is bound to. Scopes are those of the evaluation: blocks open none,
// a name is a function's own from its first assignment, and a nested function or lambda has the names
// around it as they are where it is made. Free names are those of the file, of its imports, or of the
// language.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/syntax/text_range.h"

namespace tessera::names {

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
  TextRange range;  ///< of the name where it gets its meaning first
  TextRange scope;
  bool is_read = false;  ///< somewhere, also in what a macro has made
  /// For a parameter whose callers can name it: "f", "Module" or "Module.method"; "#9" where the name
  /// of a function in a function begins at 9.
  std::string callable;
  std::string owner;  ///< of Self, and of a constant of a module: the module
  const ast::Parameter* parameter = nullptr;
  const ast::Def* def = nullptr;
  /// The value that it is given where it is given its first, or a list of its values; null when that is not written.
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
  TextRange range;
  OccurrenceKind kind = OccurrenceKind::Free;
  bool writes = false;   ///< gives the name a meaning
  bool in_type = false;  ///< in an annotation
  /// Of Local: on each path to here the name has been given a value. Else it may be that of a scope around.
  bool is_certain = true;
  int32_t local = -1;    ///< index in FileNames::locals
  int32_t parent = -1;   ///< index in FileNames::occurrences; -1: `object`
  const ast::Expr* object = nullptr;  ///< of a member, or the callee, when no name ends it; may be null
  std::string_view path; ///< in the text of the file
  std::string owner;
};

/// The declarations of a file, or of a module in it.
struct Declared {
  std::string name;
  SymbolKind kind = SymbolKind::Constant;
  TextRange name_range;
  TextRange range;  ///< of the whole declaration
  const ast::Stmt* stmt = nullptr;  ///< null where only the name could be read
  std::string path;      ///< of imports: the file
  std::string imported;  ///< of Import: the name there
  std::vector<Declared> members;
};

/// A function, module, lambda or comprehension.
struct ScopeNames {
  int32_t parent = -1;  ///< index in FileNames::scopes
  TextRange range;
  std::map<std::string_view, int32_t> names;  ///< indices in FileNames::locals
};

struct FileNames {
  std::vector<Local> locals;
  std::vector<Occurrence> occurrences;  ///< in the order of their places, one for each place
  std::vector<ScopeNames> scopes;
  std::vector<Declared> declared;
  std::vector<const ast::Stmt*> unreachable;  ///< the first of each block that stands behind a `return`

  /// The occurrence whose name is or ends at this offset; null when there is none.
  const Occurrence* at(uint32_t offset) const;
  /// The occurrence that begins at this offset; null when there is none.
  const Occurrence* beginning_at(uint32_t offset) const;
  /// The innermost scope at an offset; -1 when there is none.
  int32_t scope_at(uint32_t offset) const;
  /// The local that a name means in a scope; -1 when it means none.
  int32_t find(std::string_view name, int32_t scope) const;
  /// The local of that name visible at the offset; -1 when there is none.
  int32_t visible(std::string_view name, uint32_t offset) const;
  /// Puts the occurrences into the order of their places.
  void sort();
};

/// The names in the text of a file; what macros and included files have of a tree is in no place of it.
FileNames bind_names(const SourceManager& sources, FileId file, std::span<const ast::Declaration> declarations);

/// The names of a definition that it leaves to the scopes around it, in the order of first use.
struct FreeNames {
  std::vector<std::string_view> names;  ///< not given a value on each path to a use
  std::vector<std::string_view> types;  ///< in annotations
  std::vector<std::string_view> sizes;  ///< declared by types of parameters, unless a scope around has them

  bool contains(std::string_view name) const;
};
FreeNames free_names(const SourceManager& sources, const ast::Node& node);

/// The names that statements assign, in the order of first appearance; functions in them have names of their own.
std::vector<std::string_view> assigned_names(ast::StmtList body);

}  // namespace tessera::names
