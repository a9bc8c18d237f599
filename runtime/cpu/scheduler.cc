#include "runtime/cpu/scheduler.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <atomic>
#include <cstdlib>
#include <thread>

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
    size_ = (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
    memory_ = std::aligned_alloc(memory_alignment, size_);
    if (!memory_) size_ = 0;
    return memory_;
  }

 private:
  void* memory_ = nullptr;
  size_t size_ = 0;
};

thread_local Scratch scratch;

/// Runs programs [first, last) on this thread; false when there is no memory for their scratch.
bool run_programs(const Launch& launch, int64_t first, int64_t last) {
  void* memory = scratch.reserve(launch.scratch_bytes);
  if (!memory && launch.scratch_bytes != 0) return false;
  auto kernel = reinterpret_cast<KernelFunction>(launch.kernel);
  kernel(launch.buffers, launch.dims, first, last, memory);
  return true;
}

int processors() {
  unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : int(count);
}

}  // namespace

// TBB starts as many workers as there are processors; more are a limit to be raised.
Scheduler::Threads::Threads(int threads)
    : count(threads),
      control(oneapi::tbb::global_control::max_allowed_parallelism,
              size_t(std::max(threads, processors()))),
      arena(threads) {}

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
  bool has_memory = true;
  if (launch.programs == 1 || threads->count == 1) {
    has_memory = run_programs(launch, 0, launch.programs);
  } else {
    std::atomic<bool> failed = false;
    threads->arena.execute([&] {
      oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<int64_t>(0, launch.programs),
                                [&](const oneapi::tbb::blocked_range<int64_t>& range) {
                                  if (!run_programs(launch, range.begin(), range.end())) {
                                    failed.store(true, std::memory_order_relaxed);
                                  }
                                });
    });
    has_memory = !failed;
  }
  if (has_memory) return ok();
  return fail(TSR_EOOM, "out of memory for ", launch.scratch_bytes, " bytes of scratch a thread");
}

}  // namespace tessera::runtime
