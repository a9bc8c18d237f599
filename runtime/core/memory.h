#pragma once
// Memory that frees itself, and memory for the temps of calls, kept from one call to the next.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/core/status.h"

namespace tessera::runtime {

/// Alignment of all memory that the runtime hands out or gives to kernels.
inline constexpr size_t memory_alignment = 64;

/// How many bytes a context holds, and how many it may.
class MemoryBudget {
 public:
  /// 0: as many as there are.
  void set_limit(uint64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }
  /// Fails with TSR_EOOM where the limit would be passed.
  Status take(size_t bytes);
  void give(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// Whether so much alone is within the limit.
  bool allows(size_t bytes) const;

 private:
  std::atomic<uint64_t> limit_ = 0;
  std::atomic<uint64_t> used_ = 0;
};

/// Where memory of one kind comes from. It outlives what it gave.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// What Memory of this source counts against; none when it is null.
  MemoryBudget* budget = nullptr;
  /// Memory at a multiple of memory_alignment; 0 bytes give a valid pointer.
  virtual Status allocate(size_t bytes, void** memory) = 0;
  /// Work that has been queued may still use the memory; it is not given out before that is done.
  virtual void free(void* memory) = 0;
};

/// Memory of a source that frees itself.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(source_, other.source_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Memory();

  /// Replaces what was held.
  Status allocate(MemorySource& source, size_t bytes);
  char* data() const { return static_cast<char*>(data_); }
  size_t size() const { return size_; }

 private:
  MemorySource* source_ = nullptr;
  void* data_ = nullptr;
  size_t size_ = 0;
};

/// Arenas that no call uses at the moment. Concurrent calls get different ones.
class ArenaPool {
 public:
  /// An arena of at least that size.
  Status acquire(MemorySource& source, size_t bytes, Memory& arena);
  void release(Memory arena);

 private:
  std::mutex mutex_;
  std::vector<Memory> free_;
};

}  // namespace tessera::runtime
