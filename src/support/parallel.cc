#include "support/parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace tessera {

void parallel_for(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next = 0;
  auto take = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  size_t processors = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> helpers;
  try {
    for (size_t i = 1; i < std::min(processors, count); ++i) helpers.emplace_back(take);
  } catch (const std::system_error&) {
    // The system gives no more threads: those that are there do the work.
  }
  take();
}

}  // namespace tessera
