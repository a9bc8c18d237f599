#pragma once
// Kernels built to see whether they can be, and for an observer; nothing is kept of them.

#include "frontend/kernel/kernel_library.h"
#include "ir/core/module.h"

namespace tessera::frontend {

/// Builds for a machine the kernels of a file that can be compiled for themselves, and those that
/// the graph calls, each once for the types it is called with. Mistakes are reported.
void build_kernels(Session& session, SourceKernels& kernels, const SourceModule& file,
                   Module& graph, std::string_view machine);

}  // namespace tessera::frontend
