#pragma once
// Streams: queues of work, each with a thread of its own, and events, which mark places in them.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/core/status.h"

struct tsr_context;

namespace tessera::runtime {

using Work = std::function<Status()>;

/// A place in a stream that is passed once.
class Mark {
 public:
  void pass();
  /// False when the time is over before the place is passed.
  bool wait(uint32_t milliseconds);
  bool passed(std::chrono::steady_clock::time_point& when);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool passed_ = false;
  std::chrono::steady_clock::time_point when_;
};

}  // namespace tessera::runtime

struct tsr_stream {
 public:
  explicit tsr_stream(tsr_context* owner);
  tsr_stream(const tsr_stream&) = delete;
  tsr_stream& operator=(const tsr_stream&) = delete;
  /// Waits for all work.
  ~tsr_stream();

  /// Appends work. After a failure, work is dropped until the failure has been fetched.
  void submit(tessera::runtime::Work work);
  /// Appends work that runs even after a failure (events must be passed).
  void submit_always(std::function<void()> work);
  /// Waits, and returns the first failure since the last time.
  tessera::runtime::Status synchronize(uint32_t milliseconds);
  /// Waits without fetching a failure.
  void drain();

  tsr_context* const context;

 private:
  void serve();
  void run(const tessera::runtime::Work& work);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  tessera::runtime::Status failure_;
  bool stopping_ = false;
  std::thread worker_;
};

struct tsr_event {
  tsr_context* context;
  std::mutex mutex;
  std::shared_ptr<tessera::runtime::Mark> mark;  ///< null until recorded
};
