#pragma once
// Memory with canaries: bytes before and behind each allocation that nobody may write.

#include <functional>
#include <map>
#include <optional>

#include "runtime/core/memory.h"

namespace tessera::runtime {

/// A byte of a canary that was written.
struct Damage {
  const void* memory;  ///< what was allocated
  size_t bytes;        ///< and how much
  int64_t at;          ///< the byte, from the allocation's start: below 0, or `bytes` or more
};

class GuardedMemory : public MemorySource {
 public:
  /// Between host and memory of `inner`, done on return.
  using Copy = std::function<Status(void* to, const void* from, size_t bytes)>;

  /// `behind`: bytes of canary behind what rounding up to memory_alignment gives; a multiple of that.
  GuardedMemory(MemorySource& inner, Copy copy, size_t behind)
      : inner_(inner), copy_(std::move(copy)), behind_(behind) {}

  Status allocate(size_t bytes, void** memory) override { return allocate_on(nullptr, bytes, memory); }
  void free(void* memory) override { free_on(nullptr, memory); }
  Status allocate_on(void* stream, size_t bytes, void** memory) override;
  void free_on(void* stream, void* memory) override;
  /// The first damage in order of address, if there is any. Work that writes must be done.
  Status check(std::optional<Damage>& damage);

 private:
  Status check(char* memory, size_t bytes, std::optional<Damage>& damage) const;

  MemorySource& inner_;
  Copy copy_;
  size_t behind_;
  std::mutex mutex_;
  std::map<char*, size_t> allocations_;  ///< bytes by start
};

}  // namespace tessera::runtime
