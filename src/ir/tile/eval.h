#pragma once
// The meaning of tile ops, by running them: the oracle that passes and code generation are tested
// against. A kernel is run program by program in the order of its grid, on whole tensors.

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "ir/core/tensor.h"
#include "ir/tile/ops.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::tile {

/// Runs a tile.kernel on its parameters (inputs, then results), whose dtypes and extents must be
/// those of their types under `dims`, which binds the kernel's free dims. Results count as
/// unwritten at the start. An access outside of its memory, a read of an element that was never
/// written and a step of a loop below 1 are reported as errors, with the op's place. Stores to one
/// element by several programs are not noticed.
Status run_kernel(Op* kernel, std::span<TensorValue* const> parameters,
                  const DimValues& dims,
                  DiagnosticEngine& diagnostics);

}  // namespace tessera::tile
