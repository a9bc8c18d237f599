#pragma once
// What belongs to one function of the graph module while it is built.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/evaluate/lowering.h"
#include "frontend/evaluate/session.h"
#include "frontend/values/builtins.h"
#include "frontend/values/state.h"
#include "frontend/values/value.h"
#include "ir/core/module.h"

namespace tessera::frontend {

/// State of the entry, with the places where it was updated last and returned.
struct HeldState {
  const StateValue* first = nullptr;  ///< as the entry was given it
  std::optional<Loc> updated, returned;
};

/// A run-time loop around, and what counts its iterations: a size, a tensor, or nothing.
struct RuntimeLoop {
  Dim counter = nullptr;
  Value* value = nullptr;
  Dim start = nullptr;  ///< of the variable that a size counts for, which is start + counter * step
  int64_t step = 1;
  WrittenLoop written = {};
};

/// A call of a function that has a rule for its derivative, which is recorded for one.
struct CustomCall {
  const Function* function = nullptr;
  Op* attention = nullptr;  ///< instead: the op that kernels of the library take backwards
  std::vector<CallArgument> arguments;
  Datum result;
};

struct GraphFunction {
  Op* op = nullptr;
  std::string name;             ///< of the entry that the source has
  std::vector<Attr> arguments;  ///< descriptions, one for each argument of the function's block
  std::map<const Value*, std::vector<Loc>> dim_places;  ///< of arguments: where each is written
  std::map<const Value*, Loc> type_places;  ///< of arguments without dims: where their types are written
  std::map<const Value*, size_t> int_arguments;  ///< of `int` parameters: place in `arguments`
  std::map<const ParamDeclaration*, Value*> params;   ///< the arguments for them
  std::map<const ParamDeclaration*, Value*> current;  ///< what they are now, where that is another value
  std::map<const ParamDeclaration*, Loc> updated;     ///< where the function updates them
  const ParamDeclaration* initialised = nullptr;  ///< the param whose initialiser is built
  Value* seed = nullptr;
  Value* hidden_seed = nullptr;  ///< the same, when the signature has none
  unsigned streams = 0;  ///< random ops so far
  std::vector<Attr> guards;
  std::vector<Attr> numerics;  ///< what functions promise of their results
  std::vector<Attr> hints;     ///< what `with` asks for
  std::map<std::string, HeldState> states;  ///< by name
  std::vector<Datum> spent;                 ///< objects that were updated, in order
  std::vector<RuntimeLoop> runtime_loops;
  unsigned counters = 0;  ///< of loops so far
  std::vector<CustomCall> custom_calls;  ///< by number
  unsigned mapped = 0;         ///< calls around that are for many examples
  unsigned recorded = 0;       ///< calls around whose derivatives are taken
  unsigned inside_custom = 0;  ///< and calls of functions with rules, whose ops the rules stand for
  bool is_derived = false;          ///< its results are followed by their derivatives
  unsigned given = 0;               ///< of such a function: results before these
  std::vector<Value*> cotangents;   ///< and its arguments for them
};

}  // namespace tessera::frontend
