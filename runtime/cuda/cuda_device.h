#pragma once
// GPUs as devices, through NVIDIA's driver.

#include <memory>
#include <string_view>

#include "runtime/core/device.h"

namespace tessera::runtime {

/// True for "cuda:N".
bool is_cuda_name(std::string_view name);

/// The GPU of that name. Needs the driver and the GPU.
Status make_cuda_device(std::string_view name, std::unique_ptr<Device>& device);

/// What is known about a GPU without a context on it.
struct CudaDeviceFacts {
  std::string name;  ///< such as "cuda:0"
  std::string description;
  size_t memory = 0;  ///< bytes
  int processors = 0;
  int capability = 0;  ///< 90 for 9.0
};

/// How many GPUs there are; 0 without a driver that works.
int count_cuda_devices();
Status describe_cuda_device(int index, CudaDeviceFacts& facts);

}  // namespace tessera::runtime
