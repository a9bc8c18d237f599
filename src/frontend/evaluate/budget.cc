#include "frontend/evaluate/budget.h"

#include <algorithm>
#include <limits>

namespace tessera::frontend {

Budget::Verdict Budget::spend(size_t steps, size_t bytes) {
  if (spent_) return Verdict::Spent;
  spending().steps += steps;
  constexpr size_t most = std::numeric_limits<int64_t>::max() / 2;
  bool is_long = this->steps() > most_steps_;
  bool is_large = bytes > most || this->bytes() + int64_t(bytes) > int64_t(std::min(room_, most));
  if (!is_long && !is_large) return Verdict::Within;
  spent_ = true;
  return is_large ? Verdict::OutOfMemory : Verdict::OutOfSteps;
}

void Budget::pause() {
  constexpr size_t share_of_kernels = 5;
  most_steps_ = std::max(limits_.steps, limits_.steps * (1 + share_of_kernels));  // the product may not fit
  earlier_ = {bytes(), steps()};
  start_ = spending();
}

}  // namespace tessera::frontend
