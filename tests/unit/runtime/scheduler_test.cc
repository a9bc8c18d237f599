// Threads where memory ends.

#include "runtime/cpu/scheduler.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

using namespace tessera::runtime;

namespace {

thread_local int allocations_left = -1;  // the one after these fails; -1: none does

void count_programs(void* const* buffers, const int64_t*, int64_t first, int64_t last, void*) {
  *static_cast<std::atomic<int64_t>*>(buffers[0]) += last - first;
}

}  // namespace

void* operator new(size_t bytes) {
  if (allocations_left == 0) {
    allocations_left = -1;
    throw std::bad_alloc();
  }
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

TEST_CASE("the threads that were stay where there is no memory for others", "[runtime]") {
  Scheduler scheduler;
  scheduler.set_threads(1);
  int refused = 0;
  for (int at = 0; at < 12; ++at) {
    try {
      allocations_left = at;
      scheduler.set_threads(3 + at);  // more than before: they are started to see whether they can be
    } catch (const std::bad_alloc&) {
      ++refused;
    }
    allocations_left = -1;
    std::atomic<int64_t> count = 0;
    std::atomic<float> cost = 0;
    void* buffers[] = {&count};
    Launch launch;
    launch.kernel = reinterpret_cast<void*>(&count_programs);
    launch.buffers = buffers;
    launch.programs = 1000;
    launch.cost = &cost;
    CHECK_FALSE(scheduler.run(launch).failed());
    CHECK(count == 1000);
  }
  CHECK(refused > 0);
}
