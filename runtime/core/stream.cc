#include "runtime/core/stream.h"

using tessera::runtime::fail;
using tessera::runtime::Mark;
using tessera::runtime::Status;
using tessera::runtime::Work;

namespace tessera::runtime {

void Mark::pass() {
  std::lock_guard lock(mutex_);
  passed_ = true;
  when_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

bool Mark::wait(uint32_t milliseconds) {
  std::unique_lock lock(mutex_);
  auto is_passed = [&] { return passed_; };
  if (milliseconds == TSR_FOREVER) {
    changed_.wait(lock, is_passed);
    return true;
  }
  return changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), is_passed);
}

bool Mark::passed(std::chrono::steady_clock::time_point& when) {
  std::lock_guard lock(mutex_);
  when = when_;
  return passed_;
}

}  // namespace tessera::runtime

tsr_stream::tsr_stream(tsr_context* owner) : context(owner), worker_([this] { serve(); }) {}

tsr_stream::~tsr_stream() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  worker_.join();
}

void tsr_stream::submit(Work work) {
  submit_always([this, work = std::move(work)] { run(work); });
}

void tsr_stream::submit_always(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  changed_.notify_all();
}

void tsr_stream::run(const Work& work) {
  {
    std::lock_guard lock(mutex_);
    if (failure_.failed()) return;
  }
  Status status;
  try {
    status = work();
  } catch (const std::bad_alloc&) {
    status = fail(TSR_EOOM, "out of memory");
  } catch (...) {
    status = fail(TSR_EINTERNAL, "internal error");
  }
  if (!status.failed()) return;
  std::lock_guard lock(mutex_);
  failure_ = std::move(status);
}

void tsr_stream::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

void tsr_stream::drain() {
  auto mark = std::make_shared<Mark>();
  submit_always([mark] { mark->pass(); });
  mark->wait(TSR_FOREVER);
}

Status tsr_stream::synchronize(uint32_t milliseconds) {
  auto mark = std::make_shared<Mark>();
  submit_always([mark] { mark->pass(); });
  if (!mark->wait(milliseconds)) {
    return fail(TSR_ETIMEOUT, "the stream was still busy after ", milliseconds, " ms");
  }
  std::lock_guard lock(mutex_);
  return std::exchange(failure_, Status());
}
