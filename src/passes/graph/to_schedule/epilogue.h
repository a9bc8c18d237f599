#pragma once
// Folds the members of an anchor's group into its kernel, between the value that the kernel stores
// and the store.

#include "passes/graph/to_schedule/kernel_memory.h"

namespace tessera {

/// The space of an anchor's group in its kernel: axes of the result as the store tiles them.
KernelSpace epilogue_space(const FusionGroup& group, const std::vector<int>& result_axes,
                           const std::vector<Dim>& result_dims, Op* store);

/// Puts the members before the store. `extents` are the result's dims in the kernel's symbols;
/// `inputs` become parameters in order, behind the kernel's own.
void fold_epilogue(Op* kernel, Op* store, const GraphReads& reads, const FusionGroup& group,
                   const KernelSpace& space, const MemoryPlan& inputs,
                   const std::vector<Dim>& extents);

}  // namespace tessera
