#pragma once
// Independent work on all processors.

#include <cstddef>
#include <functional>

namespace tessera {

/// Calls `work(i)` once for each i below `count`, on as many threads as there are processors, and returns when all
/// calls have. Which thread takes what is not fixed, so no result may depend on it. `work` must not throw.
void parallel_for(size_t count, const std::function<void(size_t)>& work);

}  // namespace tessera
