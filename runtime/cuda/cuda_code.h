#pragma once
// Kernels of a GPU: modules loaded from cubin or PTX, and launches.

#include <deque>

#include "runtime/core/device.h"
#include "runtime/cuda/gpu.h"
#include "runtime/cuda/tensor_maps.h"

namespace tessera::runtime::cuda {

class CudaKernel {
 public:
  CudaKernel(const Gpu& gpu, const format::KernelMeta& meta)
      : gpu_(gpu), meta_(meta), maps_(gpu, meta) {}

  /// Finds the function and checks it against the GPU's limits.
  Status prepare(ModuleHandle module);
  /// With `starts_early` it may begin while the launch ahead of it ends, if its code waits for that.
  Status launch(const Launch& launch, StreamHandle stream, bool starts_early);
  const format::KernelMeta& meta() const { return meta_; }

 private:
  Status check_limits();
  Status allow_resources();
  Status count_resident_blocks();
  /// Blocks of the grid for that many programs.
  Status grid_blocks(int64_t programs, unsigned& blocks) const;
  /// Whether its launches begin while the one ahead of them ends, and a block's share of shared memory spreads them.
  bool spreads() const;
  /// Shared memory of each of so many blocks.
  unsigned shared_bytes(unsigned blocks, bool starts_early) const;
  struct Attributes;
  LaunchConfig config_for(unsigned blocks, StreamHandle stream, bool starts_early, Attributes& attributes) const;
  Status failed(Status status) const;

  const Gpu& gpu_;
  const format::KernelMeta& meta_;
  FunctionHandle function_ = nullptr;
  int64_t cluster_ = 1;          ///< blocks of a cluster
  int64_t resident_blocks_ = 0;  ///< of a persistent kernel: what runs at a time
  TensorMaps maps_;
};

/// A kernel of which only its symbol is known.
class BareCudaKernel {
 public:
  BareCudaKernel(const Gpu& gpu, std::string name, FunctionHandle function)
      : gpu_(gpu), name_(std::move(name)), function_(function) {}

  Status launch(const tsr_launch_t& launch, void** args, size_t nargs, StreamHandle stream) const;

 private:
  /// Where the driver knows how many parameters there are, the number is compared.
  Status check_count(size_t nargs) const;

  const Gpu& gpu_;
  std::string name_;
  FunctionHandle function_;
};

/// Loads PTX, when `flags` has TSR_ALLOW_JIT, or a cubin that comes without a bundle.
Status load_bare_cuda_code(const Gpu& gpu, std::string_view image, uint32_t flags, std::unique_ptr<Code>& code);

/// Loads the target's cubin, or its PTX when `flags` has TSR_ALLOW_JIT.
Status load_cuda_code(const Gpu& gpu, const format::BundleView& bundle, std::string_view target,
                      uint32_t flags, std::unique_ptr<Code>& code);

}  // namespace tessera::runtime::cuda
