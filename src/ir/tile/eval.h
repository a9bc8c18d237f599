#pragma once
// The meaning of tile ops, by running them: the oracle that passes and code generation are tested
// against. A kernel is run program by program in the order of its grid, on whole tensors.
//
// Programs of several warps run in the worst order that a machine may choose. The interpreter
// switches between roles where they have to wait; asynchronous ops happen when a role waits for
// them and no sooner. The values of one run do not show whether a program is correct, so the order
// of accesses to shared memory is checked for all possible runs (eval_order.h). The interpreter
// finds:
//
// - accesses outside of memory, reads of elements that were never written;
// - accesses of shared memory that nothing orders: a missing or wrong wait, a slot given back early
//   or used in another iteration, warps without a tile.barrier between them;
// - writes that the copy engine or the matrix units do not see for want of a tile.fence_async;
// - results of tile.mma that are used while it is in flight;
// - arrivals and bytes beyond those that a phase waits for, phases that pass before they are seen;
// - programs that are stuck, with what each role waits for, and copies that nobody waits for.
//
// Not checked: accesses of global memory by several roles or programs.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "ir/numbers/tensor.h"
#include "ir/tile/ops.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::tile {

/// How a kernel is run, where that is not said by the kernel.
struct RunOptions {
  /// The workers of a persistent kernel, of whole clusters as many as these need.
  int64_t workers = 1;
  /// With a seed, the interpreter switches roles at random after every op with an effect, and
  /// copies arrive in any order; without one each role runs on until it has to wait, and copies
  /// arrive in order.
  std::optional<uint64_t> seed = {};
  /// Whether copies that count at barriers, store_async and mma see generic writes only after a
  /// fence_async.
  bool async_proxy = true;
  /// Asked before each op; false ends the run, and whoever answers says why.
  std::function<bool()> may_go_on = {};
};

/// Runs a tile.kernel on its parameters (inputs, then results), whose dtypes and extents must be
/// those of their types under `dims`, which binds the kernel's free dims. Results count as
/// unwritten at the start. Violations are reported as errors, with the op's place.
Status run_kernel(Op* kernel, std::span<TensorValue* const> parameters, const DimValues& dims,
                  DiagnosticEngine& diagnostics, const RunOptions& options = {});

}  // namespace tessera::tile
