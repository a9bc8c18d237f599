#include "runtime/core/memory.h"

#include <algorithm>

namespace tessera::runtime {

Status Memory::allocate(MemorySource& source, size_t bytes) {
  { Memory former = std::move(*this); }
  source_ = &source;
  size_ = bytes;
  return source.allocate(bytes, &data_);
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
