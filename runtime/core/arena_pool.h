#pragma once
// Memory for the temps of calls, kept from one call to the next.

#include <mutex>
#include <vector>

#include "runtime/core/device.h"

namespace tessera::runtime {

/// Arenas that no call uses at the moment. Concurrent calls get different ones.
class ArenaPool {
 public:
  /// An arena of at least that size.
  Status acquire(Device& device, size_t bytes, Memory& arena);
  void release(Memory arena);
  /// Frees all that is not in use.
  void clear();

 private:
  std::mutex mutex_;
  std::vector<Memory> free_;
};

}  // namespace tessera::runtime
