#include "runtime/core/memory.h"

#include <algorithm>

#include "runtime/handles/callbacks.h"

namespace tessera::runtime {

Status MemoryBudget::take(size_t bytes) {
  uint64_t limit = limit_.load(std::memory_order_relaxed);
  uint64_t used = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (limit == 0 || (bytes <= limit && used <= limit - bytes)) {
    uint64_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < used + bytes && !peak_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
    }
    return ok();
  }
  give(bytes);
  return fail(TSR_EOOM, bytes, " bytes more are needed; the limit is ", limit, " bytes, of which ", used,
              " are in use");
}

bool MemoryBudget::allows(size_t bytes) const {
  uint64_t limit = limit_.load(std::memory_order_relaxed);
  return limit == 0 || bytes <= limit;
}

Status ForeignMemory::allocate_on(void* stream, size_t bytes, void** memory) {
  *memory = nullptr;
  size_t wanted = std::max(bytes, memory_alignment);  // none is a valid pointer, too
  void* given = nullptr;
  {
    InCallback called;
    given = allocator_.allocate(allocator_.user, wanted, flags_, stream);
  }
  if (!given) return fail(TSR_EOOM, "the program's allocator has no ", wanted, " bytes");
  bool is_aligned = reinterpret_cast<uintptr_t>(given) % memory_alignment == 0;
  if (is_aligned) {
    std::lock_guard lock(mutex_);
    is_aligned = given_.emplace(given, wanted).second;
    if (is_aligned) {
      *memory = given;
      return ok();
    }
    return invalid("the program's allocator gave memory that is in use");
  }
  InCallback called;
  allocator_.free(allocator_.user, given, wanted, flags_, stream);
  return invalid("the program's allocator gave memory that is not at a multiple of ", memory_alignment, " bytes");
}

void ForeignMemory::free_on(void* stream, void* memory) {
  size_t bytes = 0;
  {
    std::lock_guard lock(mutex_);
    auto found = given_.find(memory);
    bytes = found->second;
    given_.erase(found);
  }
  InCallback called;
  allocator_.free(allocator_.user, memory, bytes, flags_, stream);
}

Memory::~Memory() {
  if (!data_) return;
  source_->free_on(stream_, data_);
  if (source_->budget) source_->budget->give(size_);
}

Status Memory::allocate(MemorySource& source, size_t bytes, void* stream) {
  { Memory former = std::move(*this); }
  if (source.budget) {
    if (Status status = source.budget->take(bytes); status.failed()) return status;
  }
  source_ = &source;
  stream_ = stream;
  size_ = bytes;
  Status status = source.allocate_on(stream, bytes, &data_);
  if (status.failed() && source.budget) source.budget->give(bytes);
  return status;
}

Status ArenaPool::acquire(MemorySource& source, size_t bytes, Memory& arena) {
  {
    std::lock_guard lock(mutex_);
    // The smallest that suffices; if none does, the largest goes and makes room for a new one.
    std::sort(free_.begin(), free_.end(),
              [](const Memory& a, const Memory& b) { return a.size() < b.size(); });
    auto at = std::find_if(free_.begin(), free_.end(),
                           [&](const Memory& memory) { return memory.size() >= bytes; });
    if (at == free_.end() && !free_.empty()) --at;
    if (at != free_.end()) {
      arena = std::move(*at);
      free_.erase(at);
    }
  }
  if (arena.data() && arena.size() >= bytes) return ok();
  return arena.allocate(source, bytes, stream_);
}

void ArenaPool::release(Memory arena) {
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(arena));
}

}  // namespace tessera::runtime
