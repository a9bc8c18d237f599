#pragma once
// Which token follows: by the scores that a model gives, and a random number.

#include <cstdint>
#include <vector>

namespace tessera::tool::train {

struct Sampling {
  double temperature = 1;  ///< 0: the token with the highest score
  int64_t top_k = 0;       ///< only so many of the highest scores count; 0: all
  double top_p = 1;        ///< only the fewest tokens count that have this probability together
};

/// The number of the token. Of equal scores the one with the lower number is taken for the higher. -1 where a score is
/// NaN, or none is finite.
int64_t choose_token(const std::vector<double>& scores, const Sampling& sampling, uint64_t random);

}  // namespace tessera::tool::train
