#pragma once
// How large a kernel may be. Passes that follow values through a kernel call themselves for each step, and compiling
// takes longer for each op the more there are: where reductions follow one another, and where LLVM allocates
// registers. These limits bound stack, time and memory for any program and any dump.

#include <cstddef>
#include <string>

#include "ir/core/module.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera {

/// Ops of a kernel before it is lowered; loops over numbers known at compile time are unrolled by then.
inline constexpr size_t most_kernel_ops = 4'000;
/// Ops of a kernel at levels tile and target: each op may become several, for several parts of a tile.
inline constexpr size_t most_lowered_ops = 150'000;
/// LLVM optimises kernels of at most so many ops.
inline constexpr size_t most_optimised_ops = 25'000;

/// What to do about a kernel that is too large.
inline constexpr char kernel_size_help[] =
    "loops over numbers known at compile time are unrolled, one over tile.range is not; the limit is for each kernel";

/// Ops of a function, those of its regions among them.
size_t op_count(Op* function);

/// Reports the first kernel of the module that has too many ops for its level.
Status check_kernel_sizes(Module& module, DiagnosticEngine& diagnostics);
/// Reports that `kernel` has, at this place, more than `most` ops.
void report_kernel_size(Op* kernel, Loc loc, size_t most, DiagnosticEngine& diagnostics);
/// Its name in the source, or the one that the compiler gave it.
std::string kernel_name(Op* kernel);

}  // namespace tessera
