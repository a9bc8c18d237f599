#pragma once
// The values of the names and expressions of a program, for editors and other tools. An
// index is plain data in the order of places; nothing of the compilation it came from is needed to
// read it.
//
// All of it comes from the evaluation (observer.h), so that it holds for what was evaluated. A place
// that was evaluated several times, in several calls of its function, has each different value once.
// What a name means follows from the text alone, in any state that it is in: frontend/binding/names.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace tessera::frontend {

/// A stretch of one file, up to before `end_column` of `end_line`. Lines and columns count from 1,
/// columns in bytes; line 0: unknown.
struct Extent {
  FileId file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t end_line = 0;
  uint32_t end_column = 0;

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

/// The values of a name that is assigned, or of an expression.
struct PlaceFacts {
  Loc loc;
  std::string name;                ///< that is given the value; empty for an expression
  std::vector<ValueFacts> values;  ///< each different one once, in the order of evaluation
  bool more = false;               ///< there were more than are kept
};

/// The summary of a function over all its calls.
struct FunctionFacts {
  Loc loc;  ///< of its name
  std::vector<ValueFacts> results;
  std::vector<std::string> effects;  ///< in alphabetical order
};

/// A call of a function, kernel or method of the program.
struct CallSite {
  Loc loc;     ///< of the whole call
  Loc callee;  ///< the whole definition
};

struct SemanticIndex {
  std::vector<PlaceFacts> bindings;     ///< of names where they are given values
  std::vector<PlaceFacts> expressions;  ///< those that contain others come first
  std::vector<FunctionFacts> functions;  ///< that were run
  std::vector<CallSite> calls;  ///< those that contain others come first; each callee once

  /// The values of the name at exactly this place, as assigned or as evaluated; null when it was
  /// not evaluated.
  const PlaceFacts* at(Loc name) const;
  /// The function whose name is at exactly this place; null when it was not run.
  const FunctionFacts* function_at(Loc name) const;
};

}  // namespace tessera::frontend
