#pragma once
// The tensor maps of a kernel, encoded for the pointers and dims of a launch.

#include <map>
#include <mutex>
#include <vector>

#include "runtime/core/device.h"
#include "runtime/cuda/gpu.h"

namespace tessera::runtime::cuda {

/// Encoding takes a few microseconds and calls repeat: the maps of the last launches are kept, by
/// the descriptors' pointers and the kernel's dims.
class TensorMaps {
 public:
  TensorMaps(const Gpu& gpu, const format::KernelMeta& meta) : gpu_(gpu), meta_(meta) {}

  /// The maps for a launch, in the order of the kernel's descriptors.
  Status find(const Launch& launch, std::vector<TensorMap>& maps);

 private:
  Status encode(const format::KernelDescriptor& descriptor, const Launch& launch, TensorMap& map);
  std::vector<int64_t> key_of(const Launch& launch) const;

  const Gpu& gpu_;
  const format::KernelMeta& meta_;
  std::mutex mutex_;
  std::map<std::vector<int64_t>, std::vector<TensorMap>> kept_;
};

}  // namespace tessera::runtime::cuda
