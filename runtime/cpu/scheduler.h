#pragma once
// Splitting a kernel's grid over threads.

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <memory>
#include <mutex>

#include "runtime/core/device.h"

namespace tessera::runtime {

using KernelFunction = void (*)(void* const* buffers, const int64_t* dims, int64_t first,
                                int64_t last, void* scratch);

/// Threads of one context. Programs of a grid are independent, so how they are split changes no
/// result.
class Scheduler {
 public:
  /// Takes effect for the launches after it.
  void set_threads(int threads);
  Status run(const Launch& launch);

 private:
  struct Threads {
    int count;  ///< fewer than were asked for where the system gives no more
    oneapi::tbb::global_control control;
    oneapi::tbb::task_arena arena;
    explicit Threads(int threads);
  };
  std::mutex mutex_;
  std::shared_ptr<Threads> threads_;
};

}  // namespace tessera::runtime
