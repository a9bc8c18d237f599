#pragma once
// Memory of a GPU, and page-locked memory of the host.

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
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
    uint64_t freed_at;  ///< begun_waits_ then: a later one, when it has ended, makes the block fit to be used
  };
  using FreeBlocks = std::map<size_t, std::vector<FreeBlock>>;  ///< by size

  /// A block that was freed, no longer in the table.
  std::optional<FreeBlock> take_free(size_t size);
  Status wait_for_work_on(const FreeBlock& block);
  Status allocate_new(size_t bytes, Address& address);
  bool release_free_blocks();

  const Gpu& gpu_;
  std::mutex release_mutex_;            ///< of who lacks memory; taken before mutex_
  std::atomic<uint64_t> releases_ = 0;  ///< how often free blocks went back to the driver
  std::mutex mutex_;                    ///< guards what follows; the GPU is not waited for while it is held
  uint64_t begun_waits_ = 0;            ///< how often somebody has begun to wait for the GPU
  uint64_t ended_wait_ = 0;             ///< the number of the latest of them that has ended
  std::unordered_map<Address, size_t> in_use_;
  FreeBlocks free_;
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
