#pragma once
// The interpreter of the graph level: the oracle that compiled code is compared with, and what
// initialises parameters. docs/numerics.md states what each op computes.

#include <functional>
#include <string>
#include <vector>

#include "ir/graph/ops.h"
#include "ir/numbers/tensor.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::graph {

enum class EvalMode : uint8_t {
  Exact,  ///< each op in its dtype, with that dtype's rounding
  F64,    ///< every float as a double that no cast rounds: a reference to measure errors against
};

struct EvalOptions {
  EvalMode mode = EvalMode::Exact;
  /// Values of dim symbols that no parameter's type fixes.
  DimValues dims;
  /// No single tensor may take more; more is a diagnostic.
  uint64_t max_tensor_bytes = uint64_t(16) << 30;
  /// Computes a gir.kernel_call, given its operands and all sizes there, counters of loops among them; without it such
  /// a call is a diagnostic.
  std::function<Result<std::vector<TensorValue>>(Op* call, const std::vector<const TensorValue*>&, const DimValues&)>
      call_kernel;
  /// Asked before each op, also of regions, with the bytes that values take; false ends the evaluation,
  /// and whoever answers says why.
  std::function<bool(uint64_t bytes)> may_go_on;
  /// Told after each op how many of how many are done.
  std::function<void(size_t done, size_t total)> progress;
};

/// The dtype in which a value of an IR dtype is held: f64 for every float in F64 mode, else the
/// dtype.
DType held_dtype(EvalMode mode, DType dtype);

/// The elements in another dtype, as gir.cast gives them; nullopt when there is no memory.
std::optional<TensorValue> cast_tensor(const TensorValue& value, DType dtype);

/// Binds the dims of a gir.func to the extents of its arguments; checks ranks, dtypes, extents and
/// guards. In F64 mode float arguments may come as f64 or in the parameter's dtype.
Result<DimValues> bind_dims(Op* function, const std::vector<TensorValue>& arguments,
                            const EvalOptions& options, DiagnosticEngine& diagnostics);

/// Evaluates a verified gir.func. Results have their declared dtypes, in F64 mode f64 for floats.
Result<std::vector<TensorValue>> evaluate(Op* function, std::vector<TensorValue> arguments,
                                          const EvalOptions& options,
                                          DiagnosticEngine& diagnostics);

}  // namespace tessera::graph
