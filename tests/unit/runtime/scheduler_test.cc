// Threads where memory ends.

#include "runtime/cpu/scheduler.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <thread>

#include "runtime/core/guard_pages.h"
#include "unit/runtime/allocations.h"

using namespace tessera::runtime;

namespace {

thread_local int allocations_left = -1;  // the one after these fails; -1: none does

void count_programs(void* const* buffers, const int64_t*, int64_t first, int64_t last, void*) {
  *static_cast<std::atomic<int64_t>*>(buffers[0]) += last - first;
}

/// Who ran programs, and whose launch it was to them.
struct Runners {
  std::mutex mutex;
  std::set<std::pair<std::thread::id, std::string>> seen;
};

/// Waits until a second thread has come, or does not come.
void note_runner(void* const* buffers, const int64_t*, int64_t, int64_t, void*) {
  auto& runners = *static_cast<Runners*>(buffers[0]);
  for (int tries = 0; tries < 2000; ++tries) {
    {
      std::lock_guard lock(runners.mutex);
      const char* text = RunningLaunch::current();
      runners.seen.emplace(std::this_thread::get_id(), text ? text : "none");
      if (runners.seen.size() > 1) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

thread_local size_t tessera::test::allocations_made = 0;

void* operator new(size_t bytes) {
  ++tessera::test::allocations_made;
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

TEST_CASE("threads that share a launch know whose it is", "[runtime]") {
  Scheduler scheduler;
  scheduler.set_threads(4);
  for (const char* title : {"first", "second"}) {
    Runners runners;
    std::atomic<float> cost = 0;
    void* buffers[] = {&runners};
    Launch launch;
    launch.kernel = reinterpret_cast<void*>(&note_runner);
    launch.buffers = buffers;
    launch.programs = 1000;
    launch.cost = &cost;
    {
      RunningLaunch running(title);
      CHECK_FALSE(scheduler.run(launch).failed());
    }
    CHECK(RunningLaunch::current() == nullptr);
    CHECK(runners.seen.size() > 1);
    for (const auto& [thread, text] : runners.seen) CHECK(text == title);
  }
}
