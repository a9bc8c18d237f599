#pragma once
// What one call may take: steps of its plan and time.

#include <chrono>
#include <string>

#include "runtime/core/status.h"

namespace tessera::runtime {

class CallLimits {
 public:
  using Clock = std::chrono::steady_clock;

  /// The time begins now; `taken` of it is over already.
  CallLimits(const tsr_limits_t& limits, const std::string& entry, Clock::duration taken = {});

  /// Counts a step that is about to run; fails with TSR_ETIMEOUT when it may not.
  Status take_step();
  /// Fails with TSR_ETIMEOUT when the time is over.
  Status check_time() const;
  /// When the time is over.
  Clock::time_point until() const { return until_; }
  /// What a call says whose time is over.
  Status over() const;

 private:
  const tsr_limits_t limits_;
  const std::string& entry_;
  uint64_t steps_ = 0;
  Clock::time_point until_ = Clock::time_point::max();
};

}  // namespace tessera::runtime
