#pragma once
// The user's kernels that a graph calls, one small module for each call, for the interpreter.

#include <memory>
#include <vector>

#include "ir/core/module.h"

namespace tessera::driver {

/// A graph module for each gir.kernel_call of a graph's functions, in their order. It is named
/// `<function>.<n>` for the n-th call of the function, and its one entry, of that name too, makes
/// the call alone: its arguments are the call's operands, under the same dims.
std::vector<std::unique_ptr<Module>> kernel_calls_of(Module& graph, SourceManager& sources);

}  // namespace tessera::driver
