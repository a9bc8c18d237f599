#pragma once
// Memory that frees itself, and memory for the temps of calls, kept from one call to the next.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
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
  /// Sets bytes aside that are to be allocated; fails with TSR_EOOM where the limit would be passed.
  Status take(size_t bytes);
  /// What was taken could not be allocated.
  void untake(size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// What was taken is allocated now.
  void hold(size_t bytes);
  /// It was freed.
  void give(size_t bytes);
  /// Whether so much alone is within the limit.
  bool allows(size_t bytes) const;

  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> limit_ = 0;
  std::atomic<uint64_t> taken_ = 0;  ///< what is used, and what is being allocated
  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> peak_ = 0;  ///< the most that was used at a time
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
  /// The same where the driver's stream is known whose work uses the memory.
  virtual Status allocate_on(void* /*stream*/, size_t bytes, void** memory) { return allocate(bytes, memory); }
  virtual void free_on(void* /*stream*/, void* memory) { free(memory); }
};

/// Memory that functions of the program give. May be used from several threads.
class ForeignMemory : public MemorySource {
 public:
  /// `flags` is the kind, as tsrAlloc takes it.
  ForeignMemory(const tsr_allocator_t& allocator, uint32_t flags) : allocator_(allocator), flags_(flags) {}

  Status allocate(size_t bytes, void** memory) override { return allocate_on(nullptr, bytes, memory); }
  void free(void* memory) override { free_on(nullptr, memory); }
  Status allocate_on(void* stream, size_t bytes, void** memory) override;
  void free_on(void* stream, void* memory) override;

 private:
  const tsr_allocator_t allocator_;
  const uint32_t flags_;
  std::mutex mutex_;
  std::map<void*, size_t> given_;  ///< bytes of what is in use
};

/// Memory of a source that frees itself.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(source_, other.source_);
    std::swap(stream_, other.stream_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Memory();

  /// Replaces what was held. `stream` is the driver's, whose work uses it; null: the default one, or it is not known.
  Status allocate(MemorySource& source, size_t bytes, void* stream = nullptr);
  char* data() const { return static_cast<char*>(data_); }
  size_t size() const { return size_; }
  const MemorySource* source() const { return source_; }

 private:
  MemorySource* source_ = nullptr;
  void* stream_ = nullptr;
  void* data_ = nullptr;
  size_t size_ = 0;
};

/// Arenas that no call uses at the moment. Concurrent calls get different ones.
class ArenaPool {
 public:
  /// `stream` is the driver's, whose work uses the arenas.
  explicit ArenaPool(void* stream = nullptr) : stream_(stream) {}

  /// An arena of at least that size.
  Status acquire(MemorySource& source, size_t bytes, Memory& arena);
  void release(Memory arena);
  /// Frees all that no call uses.
  void clear();

 private:
  void* const stream_;
  std::mutex mutex_;
  std::vector<Memory> free_;
};

}  // namespace tessera::runtime
