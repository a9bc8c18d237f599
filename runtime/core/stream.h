#pragma once
// Streams of a device whose operations run on the calling thread: one that runs work at once, and
// one that is a queue with a thread of its own.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "runtime/core/device.h"
#include "runtime/handles/handles.h"

namespace tessera::runtime {

/// A stream that a program made.
struct ContextStream {
  explicit ContextStream(Context& owner) : context(owner) {}

  /// Waits for the work, unless the stream has ended.
  void drain();
  /// Ends the work, which is over, once nobody waits for it any more.
  void end();

  Context& context;
  std::unique_ptr<Stream> work;
  std::mutex draining;  ///< held by who waits for the work beside the one that ends it
  const Handle<tsr_stream_t> handle{this};
};

struct Event {
  explicit Event(Context& owner) : context(owner) {}

  Context& context;
  std::mutex mutex;
  std::shared_ptr<Mark> mark;  ///< null until recorded
  const Handle<tsr_event_t> handle{this};
};

class HostMark : public Mark {
 public:
  Status wait(uint32_t milliseconds) override;
  Status elapsed_since(Mark& start, float& milliseconds) override;
  void pass();

 private:
  bool wait_until(uint32_t milliseconds);
  bool passed(std::chrono::steady_clock::time_point& when);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool passed_ = false;
  std::chrono::steady_clock::time_point when_;
};

/// Runs work at once.
class DirectStream : public Stream {
 public:
  explicit DirectStream(Queue& queue) : queue_(queue) {}
  Status submit(Work work) override { return work(queue_); }
  Status synchronize(uint32_t) override { return ok(); }
  void drain() override {}
  Status record(std::shared_ptr<Mark>& mark) override;
  Status wait_for(std::shared_ptr<Mark> mark) override { return mark->wait(TSR_FOREVER); }
  Status notify(tsr_done_t done, void* user) override;

 private:
  Queue& queue_;
};

/// A queue of work with a thread of its own. After a failure, work is dropped until the failure
/// has been fetched; marks are passed all the same. What tsrCancel ended or dropped is a failure that drops nothing.
class ThreadStream : public Stream {
 public:
  explicit ThreadStream(Queue& queue);
  ThreadStream(const ThreadStream&) = delete;
  ThreadStream& operator=(const ThreadStream&) = delete;
  ~ThreadStream() override;

  bool is_beside() const override { return true; }
  Status submit(Work work) override;
  Status synchronize(uint32_t milliseconds) override;
  void drain() override;
  Status record(std::shared_ptr<Mark>& mark) override;
  Status wait_for(std::shared_ptr<Mark> mark) override;
  Status notify(tsr_done_t done, void* user) override;
  Status take_failure() override;

 private:
  void append(std::function<void()> work);
  /// Waits until all that is in the queue by now is over; false when the time is over before.
  bool wait(uint32_t milliseconds);
  void serve();
  void run(const Work& work, const Cancellation& cancellation);

  Queue& queue_;
  std::mutex mutex_;
  std::condition_variable changed_;  ///< there is work, or no more will come
  std::condition_variable passed_;   ///< work is over
  std::deque<std::function<void()>> waiting_;
  uint64_t put_ = 0, done_ = 0;  ///< how many pieces of work were put into the queue, and are over
  Status failure_;
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace tessera::runtime
