// A launch of a few microseconds is over before another thread has woken up. Each kernel remembers
// what one of its programs cost when it last ran; a launch that should be short by that measure
// runs on the calling thread, and goes over to all threads when it turns out not to be. Only the
// time depends on this: programs are independent.

#include "runtime/cpu/scheduler.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/core/guard_pages.h"
#include "runtime/cpu/host_memory.h"
#include "runtime/files/per_thread.h"

namespace tessera::runtime {

namespace {

/// Scratch of one thread: it grows to the largest request and stays for the next launch.
class Scratch {
 public:
  ~Scratch() { std::free(memory_); }

  /// Null when memory ran out (or for 0 bytes).
  void* reserve(size_t bytes) {
    if (bytes <= size_) return memory_;
    std::free(memory_);
    memory_ = allocate_host(bytes);
    size_ = memory_ ? bytes : 0;
    return memory_;
  }

 private:
  void* memory_ = nullptr;
  size_t size_ = 0;
};

PerThread<Scratch> scratch;

/// Below this many nanoseconds a launch is not worth waking other threads for.
constexpr double serial_nanoseconds = 4000;

using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

enum class Ran { All, NoMemory, NoTime };

bool has_limit(const Launch& launch) {
  return launch.until != Clock::time_point::max();
}

/// Pieces that a launch with a limit is run in, between which the time is looked at.
constexpr int64_t pieces = 256;

/// Runs programs [first, last) on this thread.
Ran run_programs(const Launch& launch, int64_t first, int64_t last) {
  Scratch* own = launch.scratch_bytes != 0 ? scratch.get() : nullptr;
  void* memory = own ? own->reserve(launch.scratch_bytes) : nullptr;
  if (!memory && launch.scratch_bytes != 0) return Ran::NoMemory;
  auto kernel = reinterpret_cast<KernelFunction>(launch.kernel);
  int64_t piece = has_limit(launch) ? std::max<int64_t>(1, launch.programs / pieces) : last - first;
  for (int64_t at = first; at < last;) {
    if (has_limit(launch) && Clock::now() >= launch.until) return Ran::NoTime;
    int64_t end = last - at > piece ? at + piece : last;
    kernel(launch.buffers, launch.dims, at, end, memory);
    at = end;
  }
  return Ran::All;
}

void note_cost(const Launch& launch, double nanoseconds, int64_t programs) {
  launch.cost->store(float(nanoseconds / double(programs)), std::memory_order_relaxed);
}

/// Runs programs on this thread while the launch stays as short as its cost promised. `next` is
/// the first program that was not run.
Ran run_short_launch(const Launch& launch, int64_t& next) {
  float cost = launch.cost->load(std::memory_order_relaxed);
  if (cost <= 0 || cost * double(launch.programs) > serial_nanoseconds) return Ran::All;
  auto begin = Clock::now();
  int64_t piece = std::max<int64_t>(1, launch.programs / 2);
  double taken = 0;
  while (next < launch.programs && taken < 2 * serial_nanoseconds) {
    int64_t end = std::min(launch.programs, next + piece);
    if (Ran ran = run_programs(launch, next, end); ran != Ran::All) return ran;
    next = end;
    taken = nanoseconds_since(begin);
  }
  note_cost(launch, taken, next);
  return Ran::All;
}

/// Splits the programs from `first` on over the threads of the arena.
Ran run_parallel(const Launch& launch, int64_t first) {
  using Range = oneapi::tbb::blocked_range<int64_t>;
  std::atomic<Ran> all = Ran::All;
  const char* text = RunningLaunch::current();
  oneapi::tbb::parallel_for(Range(first, launch.programs), [&, text](const Range& range) {
    RunningLaunch running(text);
    bool is_sample = range.begin() == first;
    auto begin = is_sample ? Clock::now() : Clock::time_point();
    Ran ran = run_programs(launch, range.begin(), range.end());
    if (ran != Ran::All) all.store(ran, std::memory_order_relaxed);
    if (is_sample) note_cost(launch, nanoseconds_since(begin), int64_t(range.size()));
  });
  return all;
}

int processors() {
  unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : int(count);
}

/// Lets threads end that wait for it, whatever ends its scope.
struct Release {
  std::atomic<bool>& may_end;
  ~Release() {
    may_end = true;
    may_end.notify_all();
  }
};

/// How many threads, this one among them, the system lets run at a time, up to `wanted`: as many are started.
int count_startable(int wanted) {
  std::atomic<bool> may_end = false;
  std::vector<std::jthread> others;
  Release release{may_end};
  others.reserve(size_t(wanted));
  try {
    while (int(others.size()) + 1 < wanted) others.emplace_back([&] { may_end.wait(false); });
  } catch (const std::system_error&) {
    // That is as many as there are.
  }
  return int(others.size()) + 1;
}

/// The same, looked for once in a process, and again only for more threads than before. TBB would end the process
/// where one of its workers cannot start.
int startable_threads(int wanted) {
  static std::mutex mutex;
  static int asked = 1, found = 1;
  std::lock_guard lock(mutex);
  if (wanted > asked) {
    found = count_startable(wanted);
    asked = wanted;
  }
  return std::min(wanted, found);
}

}  // namespace

// TBB starts as many workers as there are processors; more are a limit to be raised.
Scheduler::Threads::Threads(int threads)
    : count(startable_threads(threads)),
      control(oneapi::tbb::global_control::max_allowed_parallelism,
              size_t(std::max(threads, processors()))),
      arena(count) {}

void Scheduler::set_threads(int threads) {
  auto made = std::make_shared<Threads>(threads);
  std::lock_guard lock(mutex_);
  threads_ = std::move(made);
}

Status Scheduler::run(const Launch& launch) {
  std::shared_ptr<Threads> threads;
  {
    std::lock_guard lock(mutex_);
    threads = threads_;
  }
  Ran ran = Ran::All;
  int64_t next = 0;
  if (launch.programs == 1 || threads->count == 1) {
    ran = run_programs(launch, 0, launch.programs);
    next = launch.programs;
  } else {
    ran = run_short_launch(launch, next);
  }
  if (ran == Ran::All && next < launch.programs) {
    threads->arena.execute([&] { ran = run_parallel(launch, next); });
  }
  if (ran == Ran::All) return ok();
  if (ran == Ran::NoTime) return fail(TSR_ETIMEOUT, "the time that was given is over");
  return fail(TSR_EOOM, "out of memory for ", launch.scratch_bytes, " bytes of scratch a thread");
}

}  // namespace tessera::runtime
