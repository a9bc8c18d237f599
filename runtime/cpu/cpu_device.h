#pragma once
// The CPU as a device.

#include <memory>

#include "runtime/core/device.h"

namespace tessera::runtime {

std::unique_ptr<Device> make_cpu_device();

/// Pageable memory of the host.
std::unique_ptr<MemorySource> make_host_memory();

/// What the CPU's maker calls it; empty where that is not known.
std::string cpu_description();
/// Bytes of memory that the machine has.
uint64_t host_memory_bytes();

}  // namespace tessera::runtime
