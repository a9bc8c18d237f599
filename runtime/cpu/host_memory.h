#pragma once
// Memory of the host for scratch, temps and tensors.

#include <cstddef>

namespace tessera::runtime {

/// Memory at a multiple of memory_alignment, for std::free; null when there is none. What is large is asked for in
/// huge pages: a product walks megabytes of panels, more than the processor has addresses of small pages for.
void* allocate_host(size_t bytes);

}  // namespace tessera::runtime
