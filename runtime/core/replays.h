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
    bool is_refused = false;  ///< a recording was tried, and there is none
    std::shared_ptr<Recording> recording;
  };

  /// Whether a call of that kind came before; its recording, where there is one. Kinds that were used last are kept.
  bool find(const Frame& frame, const std::shared_ptr<const SizedPlan>& placement, Kind& found);
  void keep(Kind kind);

  std::mutex mutex_;
  std::list<Kind> kinds_;  ///< those used last first
};

}  // namespace tessera::runtime
