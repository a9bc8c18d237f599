#include "runtime/core/memory.h"

#include <algorithm>

namespace tessera::runtime {

Status MemoryBudget::take(size_t bytes) {
  uint64_t limit = limit_.load(std::memory_order_relaxed);
  uint64_t used = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (limit == 0 || (bytes <= limit && used <= limit - bytes)) return ok();
  give(bytes);
  return fail(TSR_EOOM, bytes, " bytes more are needed; the limit is ", limit, " bytes, of which ", used,
              " are in use");
}

bool MemoryBudget::allows(size_t bytes) const {
  uint64_t limit = limit_.load(std::memory_order_relaxed);
  return limit == 0 || bytes <= limit;
}

Memory::~Memory() {
  if (!data_) return;
  source_->free(data_);
  if (source_->budget) source_->budget->give(size_);
}

Status Memory::allocate(MemorySource& source, size_t bytes) {
  { Memory former = std::move(*this); }
  if (source.budget) {
    if (Status status = source.budget->take(bytes); status.failed()) return status;
  }
  source_ = &source;
  size_ = bytes;
  Status status = source.allocate(bytes, &data_);
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
  return arena.allocate(source, bytes);
}

void ArenaPool::release(Memory arena) {
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(arena));
}

}  // namespace tessera::runtime
