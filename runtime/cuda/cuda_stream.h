#pragma once
// Streams of a GPU.

#include <atomic>

#include "runtime/core/device.h"
#include "runtime/cuda/gpu.h"

namespace tessera::runtime::cuda {

/// A stream of its own, or the driver's default stream, which is ordered with the default streams
/// of other libraries in the process.
Status make_cuda_stream(const Gpu& gpu, bool is_default, std::unique_ptr<Stream>& stream);

/// A stream of somebody else, who keeps it: a handle of the driver, of the GPU's primary context.
Status adopt_cuda_stream(const Gpu& gpu, void* native, std::unique_ptr<Stream>& stream);

}  // namespace tessera::runtime::cuda
