#include "runtime/core/memory.h"

#include <algorithm>

#include "runtime/handles/callbacks.h"

namespace tessera::runtime {

Status MemoryBudget::take(size_t bytes) {
  uint64_t limit = limit_.load(std::memory_order_relaxed), most = limit ? limit : UINT64_MAX;
  uint64_t taken = taken_.load(std::memory_order_relaxed);
  do {
    if (bytes <= most && taken <= most - bytes) continue;
    if (limit == 0) return fail(TSR_EOOM, "out of memory for ", bytes, " bytes");
    return fail(TSR_EOOM, bytes, " bytes more are needed; the limit is ", limit, " bytes, of which ", taken,
                " are in use");
  } while (!taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  return ok();
}

void MemoryBudget::hold(size_t bytes) {
  uint64_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < used && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
}

void MemoryBudget::give(size_t bytes) {
  used_.fetch_sub(bytes, std::memory_order_relaxed);
  untake(bytes);
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
  auto give_back = [&] {
    InCallback called;
    allocator_.free(allocator_.user, given, wanted, flags_, stream);
  };
  if (reinterpret_cast<uintptr_t>(given) % memory_alignment != 0) {
    give_back();
    return invalid("the program's allocator gave memory that is not at a multiple of ", memory_alignment, " bytes");
  }
  try {
    std::lock_guard lock(mutex_);
    if (!given_.emplace(given, wanted).second) return invalid("the program's allocator gave memory that is in use");
  } catch (const std::bad_alloc&) {
    give_back();
    throw;
  }
  *memory = given;
  return ok();
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
  Status status;
  try {
    status = source.allocate_on(stream, bytes, &data_);
  } catch (...) {
    if (source.budget) source.budget->untake(bytes);
    throw;
  }
  if (!source.budget) return status;
  if (status.failed()) {
    source.budget->untake(bytes);
  } else {
    source.budget->hold(bytes);
  }
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

void ArenaPool::clear() {
  std::vector<Memory> ended;
  std::lock_guard lock(mutex_);
  ended.swap(free_);
}

void ArenaPool::release(Memory arena) {
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(arena));
}

}  // namespace tessera::runtime
