#pragma once
// Calls that come again: what a call puts into the queue of a device is recorded, and put there at once by later
// calls that have the same sizes and the same memory. Without it every launch of a plan costs the host microseconds,
// and small kernels wait for it.

#include <list>
#include <memory>
#include <mutex>

#include "runtime/core/interpret.h"

namespace tessera::runtime {

/// The recordings of one function. May be used from several threads.
class Replays {
 public:
  /// Puts all steps into the queue, as interpret() does. The first call of its kind is followed step by step, the
  /// second one is recorded, and from then on a call is one operation of the queue.
  Status run(Frame& frame, const std::shared_ptr<const SizedPlan>& placement, Queue& queue);

 private:
  /// Calls of the same sizes with all buffers at the same addresses.
  struct Kind {
    std::shared_ptr<const SizedPlan> placement;
    std::vector<void*> buffers;
    uint64_t calls = 0;
    std::shared_ptr<Recording> recording{};  ///< from the second call on, where one could be made
  };

  /// The call's kind, known or new; those that were used last are kept. The mutex is held.
  Kind& kind_of(const Frame& frame, const std::shared_ptr<const SizedPlan>& placement);

  std::mutex mutex_;
  std::list<Kind> kinds_;  ///< those used last first
};

}  // namespace tessera::runtime
