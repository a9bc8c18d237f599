#pragma once
// Memory of a GPU, and page-locked memory of the host.

#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/core/memory.h"
#include "runtime/cuda/gpu.h"

namespace tessera::runtime::cuda {

/// Device memory that is kept for the next request of its size, since the driver's own allocation
/// waits for the GPU. Sizes are rounded up to one of eight steps per power of two, so that at most
/// an eighth is lost. Work in flight may still use what is freed: a block is given out again only
/// after the GPU has been waited for once since.
class DevicePool : public MemorySource {
 public:
  explicit DevicePool(const Gpu& gpu) : gpu_(gpu) {}
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;
  ~DevicePool() override;

  Status allocate(size_t bytes, void** memory) override;
  void free(void* memory) override;

 private:
  struct FreeBlock {
    Address address;
    uint64_t freed_at;  ///< waits_ then
  };
  Status reuse(std::vector<FreeBlock>& blocks, Address& address);
  Status allocate_new(size_t bytes, Address& address);
  bool release_free_blocks();

  const Gpu& gpu_;
  std::mutex mutex_;
  uint64_t waits_ = 0;  ///< how often the GPU has been waited for
  std::unordered_map<Address, size_t> in_use_;
  std::map<size_t, std::vector<FreeBlock>> free_;  ///< by size
};

class PinnedMemory : public MemorySource {
 public:
  explicit PinnedMemory(const Gpu& gpu) : gpu_(gpu) {}
  Status allocate(size_t bytes, void** memory) override;
  void free(void* memory) override;

 private:
  const Gpu& gpu_;
};

}  // namespace tessera::runtime::cuda
