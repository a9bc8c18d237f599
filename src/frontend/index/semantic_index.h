#pragma once
// What the names of a program mean and what its expressions come to: what editors and other tools
// ask for. An index is plain data in the order of places; nothing of the compilation it came from
// is needed to read it.
//
// Names are resolved from the text alone, so that they have a meaning in functions that nobody
// calls and in files with mistakes. Values come from the evaluation (observer.h). A place that was
// evaluated several times, in several calls of its function, has each different value once.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/source.h"

namespace tessera::frontend {

enum class SymbolKind : uint8_t {
  File,  ///< a name of an imported file
  Function,
  Kernel,
  Module,
  Method,
  Field,
  Param,
  Constant,
  Variable,
  Parameter,
  Dimension,
  DType,  ///< a dtype parameter of a signature
  // What the language has, without a place:
  BuiltinFunction,
  BuiltinDType,
  BuiltinType,       ///< Tensor, KVCache, Schedule
  BuiltinPolicy,     ///< accum, saturate
  BuiltinPrivilege,  ///< reduce_sum
  BuiltinDecorator,
  BuiltinNamespace,  ///< ops, tile
  BuiltinValue,      ///< INF, gpu
};
/// "function", "dimension", "built-in function".
std::string_view to_string(SymbolKind kind);

/// Number of a symbol in its index.
using SymbolId = uint32_t;

/// A stretch of one file, up to before `end_column` of `end_line`. Lines and columns count from 1,
/// columns in bytes; line 0: unknown.
struct Extent {
  FileId file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t end_line = 0;
  uint32_t end_column = 0;

  bool known() const { return line != 0; }
  /// Whether a place is inside, or right behind the last byte, where an editor's cursor may stand.
  bool touches(Loc place) const;
  friend bool operator==(const Extent&, const Extent&) = default;
};
/// The stretch of a place with a length, which may run over several lines.
Extent extent_of(const SourceManager& sources, Loc loc);

enum class ValueKind : uint8_t {
  Tensor,
  Tile,
  Scalar,  ///< a number that is computed at run time
  Number,  ///< a number, string, bool or None that is known
  Size,
  DType,
  Sequence,  ///< also dicts
  Schedule,
  Function,
  Instance,  ///< of a module
  Module,
  Namespace,
  State,  ///< a KVCache or OptimizerState
  Other,
};
/// "tensor", "size".
std::string_view to_string(ValueKind kind);

/// One value in words of the language.
struct ValueFacts {
  ValueKind kind = ValueKind::Other;
  /// As a type or a value is written: "Tensor[B, 3*D, bf16 @accum(f32)]", "768", "(1, B)". At most
  /// 240 bytes.
  std::string text;
  std::vector<std::string> shape;  ///< of a tensor or tile
  std::string dtype;               ///< in which it is stored
  std::string computed;            ///< the dtype of its bits, which are not rounded yet
  std::string policies;            ///< " @accum(f32)", as written after a dtype
  std::string device;              ///< "gpu[0]"; empty: the target's
  Loc definition;                  ///< of a function, a module or an instance of it

  bool operator==(const ValueFacts&) const = default;
};

/// A definition.
struct Symbol {
  SymbolKind kind = SymbolKind::Variable;
  std::string name;
  Loc loc;     ///< of the name where it gets its meaning first; unknown for a built-in one
  Extent extent;  ///< of the whole declaration
  std::optional<SymbolId> container;  ///< the function or module around it
  std::optional<SymbolId> target;  ///< of an import under another name: what it is a name for
  /// In one line: "def f(x: Tensor[B, f32], *, eps: float = 1e-5) -> Tensor[B, f32]", "const F = 3072".
  std::string signature;
  std::string docs;                  ///< its docstring, or the comment above
  std::vector<SymbolId> parameters;  ///< of a function, kernel, method or module
  std::vector<std::string> privileges;  ///< of a parameter: "write", "reduce_sum"
  // From the evaluation:
  std::vector<ValueFacts> results;   ///< of a function: what its calls gave
  std::vector<std::string> effects;  ///< of a function
};

enum class ReferenceRole : uint8_t {
  Read,
  Write,  ///< a further assignment
  Import,
  Keyword,  ///< of an argument: `f(eps=1)`
};

/// A use of a name. Definitions themselves are no references.
struct Reference {
  Loc loc;
  SymbolId symbol = 0;
  ReferenceRole role = ReferenceRole::Read;
};

/// What a name that is given a value, or an expression, came to.
struct PlaceFacts {
  Extent extent;
  std::vector<ValueFacts> values;  ///< each different one once, in the order of evaluation
  bool more = false;               ///< there were more than are kept (16)
};

/// A call of a function or module that is known.
struct CallSite {
  Extent extent;                   ///< of the whole call
  std::optional<SymbolId> caller;  ///< none at the top level of a file
  SymbolId callee = 0;
};

struct SemanticIndex {
  std::vector<Symbol> symbols;  ///< built-in ones first, then by place
  std::vector<Reference> references;
  std::vector<PlaceFacts> bindings;     ///< of names where they are given values
  std::vector<PlaceFacts> expressions;  ///< those that contain others come first
  std::vector<CallSite> calls;          ///< by place
  /// What files import under the name it has: the file and the symbol.
  std::vector<std::pair<FileId, SymbolId>> imported;

  /// The symbol that is defined or used at a place; none when there is no name.
  std::optional<SymbolId> symbol_at(Loc place) const;
  /// The reference or definition whose name covers a place, as the place of that name.
  std::optional<Loc> name_at(Loc place) const;
  /// Follows imports under other names to what they stand for.
  SymbolId resolved(SymbolId symbol) const;
  /// All uses, by place; with `definition` its own place too.
  std::vector<Loc> uses_of(SymbolId symbol, bool definition) const;
  /// What the name at exactly this place was given; null when it was never evaluated.
  const PlaceFacts* binding_at(Loc name) const;
  /// The smallest expression around a place, or the name that is given a value there; null when
  /// nothing is known of one.
  const PlaceFacts* facts_at(Loc place) const;
  /// What can be named at a place of a file: locals of the functions around it first, then the
  /// file's. Without built-in names.
  std::vector<SymbolId> visible_at(Loc place) const;
  /// The innermost function, method, kernel or module whose extent has the place.
  std::optional<SymbolId> enclosing(Loc place) const;
  /// What is directly in a symbol (parameters, variables, fields, methods), by place.
  std::vector<SymbolId> members_of(SymbolId symbol) const;
};

}  // namespace tessera::frontend
