#pragma once
// One GPU: its driver, its primary context, and the limits that launches keep to.

#include <memory>

#include "runtime/cuda/driver.h"

namespace tessera::runtime::cuda {

/// Makes a context the thread's current one while it lives, as driver calls need. The thread may
/// have another one, of this library or of another library in the process.
class Current {
 public:
  Current(const Driver& driver, ContextHandle context)
      : driver_(driver), result_(driver.context_push.function(context)) {}
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    ContextHandle popped = nullptr;
    if (result_ == success) driver_.context_pop.function(&popped);
  }
  int result() const { return result_; }

 private:
  const Driver& driver_;
  int result_;
};

class Gpu {
 public:
  static Status open(int index, std::unique_ptr<Gpu>& gpu);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  const Driver& driver() const { return driver_; }

  /// Calls a function of the driver in this GPU's context.
  template <typename... Params, typename... Args>
  Status run(const DriverCall<Params...>& call, Args... args) const {
    Current current(driver_, context_);
    if (current.result() != success) {
      return driver_.error(driver_.context_push.symbol, current.result());
    }
    return driver_.run(call, args...);
  }
  /// The same; the driver's result.
  template <typename... Params, typename... Args>
  int result(const DriverCall<Params...>& call, Args... args) const {
    Current current(driver_, context_);
    return current.result() != success ? current.result() : call.function(args...);
  }

  ContextHandle context() const { return context_; }
  int index() const { return index_; }
  std::string name() const { return format::cat("cuda:", index_); }
  /// 90 for compute capability 9.0.
  int capability() const { return capability_; }
  /// "9.0".
  std::string capability_text() const;
  int multiprocessors() const { return multiprocessors_; }
  int max_threads() const { return max_threads_; }
  int max_shared_bytes() const { return max_shared_bytes_; }
  /// Whether kernels may start while the launch ahead of them ends, in recordings too.
  bool overlaps_launches() const { return overlaps_launches_; }

 private:
  Gpu(const Driver& driver, int index) : driver_(driver), index_(index) {}
  Status retain();
  Status read_limits();

  const Driver& driver_;
  int index_;
  DeviceHandle device_ = 0;
  ContextHandle context_ = nullptr;
  int capability_ = 0;
  int multiprocessors_ = 0;
  int max_threads_ = 0;
  int max_shared_bytes_ = 0;
  bool overlaps_launches_ = false;
};

}  // namespace tessera::runtime::cuda
