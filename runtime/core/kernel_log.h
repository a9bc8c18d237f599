#pragma once
// The log of a checked kernel: accesses that would have gone outside of their memory.
//
// The kernel takes the log as one buffer more. Its first u64 counts entries, its second is the number
// of entries there is room for; entries of 64 bytes follow from byte 64 on, six i64 each: site,
// program, axis (-1: of the whole buffer), first element, number of elements, extent.

#include <functional>
#include <span>
#include <string>

#include "runtime/core/device.h"

namespace tessera::runtime {

class KernelLog {
 public:
  /// Memory for the log, empty. Kept for the next launch.
  Status clear(MemorySource& source, Queue& queue);
  void* data() const { return memory_.data(); }

  /// Waits for the launch; fails with what its entries say, if there are any. `where` begins the
  /// sentence; `title` names a buffer of the kernel; `dims` are the kernel's.
  Status read(Queue& queue, const format::KernelMeta& meta, std::span<const int64_t> dims,
              const std::string& where, const std::function<std::string(size_t)>& title);

 private:
  Memory memory_;
};

}  // namespace tessera::runtime
