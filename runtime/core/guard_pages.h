#pragma once
// Memory of the host between pages that nobody may touch.
//
// An allocation ends at a page's end, so that the first byte past it faults; the page before its first
// is guarded, too. A fault there says on standard error which allocation it is beyond and what was
// running, and then goes on to whoever handled such faults before: without a debugger the process ends.

#include <map>
#include <mutex>

#include "runtime/core/memory.h"

namespace tessera::runtime {

class GuardedPages : public MemorySource {
 public:
  GuardedPages();
  Status allocate(size_t bytes, void** memory) override;
  void free(void* memory) override;

 private:
  struct Mapping {
    char* begin;
    size_t bytes;
    size_t slot;  ///< in the table that the handler reads
  };
  std::mutex mutex_;
  std::map<void*, Mapping> mappings_;
};

/// What a fault of this thread is said to be in, until the object goes. The text must stay.
class RunningLaunch {
 public:
  explicit RunningLaunch(const char* text);
  ~RunningLaunch();
  /// The text of this thread; null outside of a launch. Threads that share its work take it over.
  static const char* current();
  RunningLaunch(const RunningLaunch&) = delete;
  RunningLaunch& operator=(const RunningLaunch&) = delete;

 private:
  const char* former_;
};

}  // namespace tessera::runtime
