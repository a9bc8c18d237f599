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
  std::lock_guard lock(mutex_);
  Address address = 0;
  auto found = free_.find(size);
  bool has_free = found != free_.end() && !found->second.empty();
  Status status = has_free ? reuse(found->second, address) : allocate_new(size, address);
  if (status.failed()) return status;
  in_use_.emplace(address, size);
  *memory = pointer_of(address);
  return ok();
}

Status DevicePool::reuse(std::vector<FreeBlock>& blocks, Address& address) {
  if (blocks.back().freed_at == waits_) {
    Status status = gpu_.run(gpu_.driver().context_synchronise);
    if (status.failed()) return status;
    ++waits_;
  }
  address = blocks.back().address;
  blocks.pop_back();
  return ok();
}

Status DevicePool::allocate_new(size_t bytes, Address& address) {
  Status status = gpu_.run(gpu_.driver().allocate, &address, bytes);
  if (status.code == TSR_EOOM && release_free_blocks()) {
    status = gpu_.run(gpu_.driver().allocate, &address, bytes);
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
  bool any = false;
  for (auto& [size, blocks] : free_) {
    for (const FreeBlock& block : blocks) {
      gpu_.result(gpu_.driver().free, block.address);
      any = true;
    }
  }
  free_.clear();
  return any;
}

void DevicePool::free(void* memory) {
  std::lock_guard lock(mutex_);
  auto found = in_use_.find(reinterpret_cast<Address>(memory));
  free_[found->second].push_back({found->first, waits_});
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
