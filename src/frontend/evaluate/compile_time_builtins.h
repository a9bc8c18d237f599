#pragma once
// Built-in functions of compile-time values: ranges, conversions, extremes, lengths, sizes, schedules and places.

#include <optional>

#include "frontend/values/builtins.h"
#include "frontend/values/value.h"

namespace tessera::frontend {

class Evaluator;

/// The value of a call of a built-in function, or poison with a diagnostic; nothing where a lowering has to answer.
std::optional<Datum> compile_time_builtin(Evaluator& evaluator, const Builtin& builtin,
                                          const BoundArguments& arguments);

}  // namespace tessera::frontend
