#pragma once
// GPUs as devices, through NVIDIA's driver.

#include <memory>
#include <string_view>

#include "runtime/core/device.h"

namespace tessera::runtime {

/// True for "cuda" and "cuda:N".
bool is_cuda_name(std::string_view name);

/// The GPU of that name; "cuda" is the first one. Needs the driver and the GPU.
Status make_cuda_device(std::string_view name, std::unique_ptr<Device>& device);

}  // namespace tessera::runtime
