#include "runtime/core/limits.h"

#include <algorithm>

namespace tessera::runtime {

namespace {

/// A hundred years: what is added to the clock does not overflow it.
constexpr uint64_t longest = uint64_t(100) * 365 * 24 * 3600 * 1000;

}  // namespace

CallLimits::CallLimits(const tsr_limits_t& limits, const std::string& entry, Clock::duration taken)
    : limits_(limits), entry_(entry) {
  if (limits.milliseconds == 0) return;
  until_ = Clock::now() - taken + std::chrono::milliseconds(std::min(limits.milliseconds, longest));
}

Status CallLimits::take_step() {
  if (limits_.steps && ++steps_ > limits_.steps) {
    return fail(TSR_ETIMEOUT, entry_, ": it was ended after ", limits_.steps,
                " steps of its plan, the most that it was given");
  }
  return check_time();
}

Status CallLimits::check_time() const {
  bool is_over = limits_.milliseconds && Clock::now() >= until_;
  return is_over ? over() : ok();
}

Status CallLimits::over() const {
  return fail(TSR_ETIMEOUT, entry_, ": it was ended after ", limits_.milliseconds,
              " ms, the most that it was given");
}

}  // namespace tessera::runtime
