#pragma once
// Checks, before a target is known, whether a kernel orders its accesses of explicit shared memory.

#include <optional>
#include <span>

#include "frontend/lower/kernel/kernel_objects.h"
#include "frontend/lower/kernel/memory_order.h"

namespace tessera::frontend {

/// Runs the body of a kernel's grid at some sizes and keeps account of its accesses; the first
/// fault found.
/// `displaced` gets the loads of slots that were filled by another number.
std::optional<MemoryFault> check_memory_order(DimTable& dims, Block* body, std::span<const KernelAxis> axes,
                                              std::set<const Op*>& displaced);

}  // namespace tessera::frontend
