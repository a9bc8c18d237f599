#pragma once
// The CPU as a device.

#include <memory>

#include "runtime/core/device.h"

namespace tessera::runtime {

std::unique_ptr<Device> make_cpu_device();

/// Pageable memory of the host.
std::unique_ptr<MemorySource> make_host_memory();

}  // namespace tessera::runtime
