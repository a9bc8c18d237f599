#pragma once
// The functions that are built into the language: one row of a table each, with its parameters. A table is an X-macro
// file: BUILTIN(Id, "name", "signature"), or BUILTIN_ON_TILES; ELEMENTWISE_BUILTIN(Id, "name(signature)") for those
// that act on single elements and mean the ElementwiseKind of the same Id.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/values/value.h"
#include "ir/numbers/elementwise.h"

namespace tessera::frontend {

class Evaluator;

enum class BuiltinParameterKind : uint8_t {
  Plain,
  Rest,      ///< `*names`: the remaining positional arguments, as a tuple
  Keywords,  ///< `**names`: the remaining keyword arguments, as a dict
};

/// One parameter of a built-in function.
struct BuiltinParameter {
  std::string name;
  std::string default_text;  ///< as in the signature; empty: the argument is required
  bool keyword_only = false;
  BuiltinParameterKind kind = BuiltinParameterKind::Plain;
};

struct Builtin {
  std::string name;
  std::string_view table;  ///< which table: "ops" or the name of another evaluator's
  uint16_t id = 0;         ///< position in its table
  std::vector<BuiltinParameter> parameters;
  ElementwiseKind elementwise = ElementwiseKind::None;
  bool on_tiles = false;  ///< of the common table: it acts on tiles as on tensors, as elementwise functions do
};

/// Ids of the common table ("ops").
enum class BuiltinId : uint16_t {
#define BUILTIN(Id, name, signature) Id,
#define ELEMENTWISE_BUILTIN(Id, written) Id,
#include "frontend/values/builtins.def"
#undef BUILTIN
#undef ELEMENTWISE_BUILTIN
};

/// Makes a row. `signature` reads "a, *rest, b=1, **others"; defaults are literals.
Builtin make_builtin(std::string_view table, uint16_t id, std::string_view name, std::string_view signature);
/// Makes a row of an elementwise function, written "name(signature)".
Builtin make_builtin(std::string_view table, uint16_t id, std::string_view written, ElementwiseKind elementwise);
/// The common table, by id.
std::span<const Builtin> common_builtins();

/// A literal default of a signature: None, True, an integer, a number or a 'string'.
Datum default_value(const BuiltinParameter& parameter);

/// One argument of a call, evaluated.
struct CallArgument {
  std::string name;  ///< empty: positional
  Datum value;
  Loc loc;       ///< of the value
  Loc name_loc;  ///< of the name, where the source has one
};

/// Arguments matched to the parameters of a builtin: one per parameter, defaults filled in.
struct BoundArguments {
  std::vector<Datum> values;
  std::vector<Loc> locs;  ///< of the argument; of the call where the default stands
  std::vector<Loc> rest;  ///< of those that `*rest` takes
  Loc call;

  /// Where an argument is written; unknown where the default stands.
  Loc written(size_t i) const { return locs[i] == call ? Loc() : locs[i]; }

  const Datum& operator[](size_t i) const { return values[i]; }
};

}  // namespace tessera::frontend
