#include "runtime/cuda/gpu_memory.h"

#include <algorithm>
#include <bit>

namespace tessera::runtime::cuda {

namespace {

constexpr size_t least_block = 512;
constexpr size_t steps_per_doubling = 8;

/// The size of the blocks that serve a request; 0 when there is none.
size_t block_size(size_t bytes) {
  if (bytes > SIZE_MAX / 4) return 0;
  size_t wanted = std::max(bytes, least_block);
  size_t step = std::max(least_block, std::bit_floor(wanted) / steps_per_doubling);
  return (wanted + step - 1) / step * step;
}

void* pointer_of(Address address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace

DevicePool::~DevicePool() {
  release_free_blocks();
  for (auto [address, bytes] : in_use_) gpu_.result(gpu_.driver().free, address);
}

Status DevicePool::allocate(size_t bytes, void** memory) {
  *memory = nullptr;
  size_t size = block_size(bytes);
  if (size == 0) return fail(TSR_EOOM, "out of memory for ", bytes, " bytes on ", gpu_.name());
  std::optional<FreeBlock> block = take_free(size);
  Address address = block ? block->address : 0;
  Status status = block ? wait_for_work_on(*block) : allocate_new(size, address);
  std::lock_guard lock(mutex_);
  if (!status.failed()) {
    in_use_.emplace(address, size);
    *memory = pointer_of(address);
  } else if (block) {
    free_[size].push_back(*block);
  }
  return status;
}

std::optional<DevicePool::FreeBlock> DevicePool::take_free(size_t size) {
  std::lock_guard lock(mutex_);
  auto found = free_.find(size);
  if (found == free_.end() || found->second.empty()) return std::nullopt;
  FreeBlock block = found->second.back();
  found->second.pop_back();
  return block;
}

/// Waits, unless somebody has waited since the block was freed.
Status DevicePool::wait_for_work_on(const FreeBlock& block) {
  uint64_t wait = 0;
  {
    std::lock_guard lock(mutex_);
    if (ended_wait_ > block.freed_at) return ok();
    wait = ++begun_waits_;
  }
  Status status = gpu_.run(gpu_.driver().context_synchronise);
  if (status.failed()) return status;
  std::lock_guard lock(mutex_);
  ended_wait_ = std::max(ended_wait_, wait);
  return ok();
}

Status DevicePool::allocate_new(size_t bytes, Address& address) {
  uint64_t releases = releases_;
  Status status = gpu_.run(gpu_.driver().allocate, &address, bytes);
  if (status.code == TSR_EOOM) {
    // Who came first gives back what is free; others then find it at the driver.
    std::lock_guard lock(release_mutex_);
    if (release_free_blocks() || releases_ != releases) status = gpu_.run(gpu_.driver().allocate, &address, bytes);
  }
  if (status.code != TSR_EOOM) return status;
  size_t available = 0;
  size_t total = 0;
  if (gpu_.run(gpu_.driver().memory_info, &available, &total).failed()) return status;
  return fail(TSR_EOOM, "out of memory for ", bytes, " bytes on ", gpu_.name(), ", which has ",
              available, " of ", total, " bytes left; ", status.text);
}

/// True when there was one. The driver waits for the GPU before it takes memory back.
bool DevicePool::release_free_blocks() {
  FreeBlocks released;
  {
    std::lock_guard lock(mutex_);
    released.swap(free_);
  }
  bool any = false;
  for (auto& [size, blocks] : released) {
    for (const FreeBlock& block : blocks) {
      gpu_.result(gpu_.driver().free, block.address);
      any = true;
    }
  }
  releases_ += any;
  return any;
}

void DevicePool::free(void* memory) {
  std::lock_guard lock(mutex_);
  auto found = in_use_.find(reinterpret_cast<Address>(memory));
  free_[found->second].push_back({found->first, begun_waits_});
  in_use_.erase(found);
}

Status PinnedMemory::allocate(size_t bytes, void** memory) {
  *memory = nullptr;
  return gpu_.run(gpu_.driver().allocate_host, memory, std::max(bytes, memory_alignment),
                  host_portable | host_device_mapped);
}

void PinnedMemory::free(void* memory) {
  gpu_.result(gpu_.driver().context_synchronise);
  gpu_.result(gpu_.driver().free_host, memory);
}

}  // namespace tessera::runtime::cuda
