#include "runtime/core/stream.h"

#include "runtime/handles/callbacks.h"

namespace tessera::runtime {

void HostMark::pass() {
  std::lock_guard lock(mutex_);
  passed_ = true;
  when_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

bool HostMark::wait_until(uint32_t milliseconds) {
  std::unique_lock lock(mutex_);
  auto is_passed = [&] { return passed_; };
  if (milliseconds == TSR_FOREVER) {
    changed_.wait(lock, is_passed);
    return true;
  }
  return changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), is_passed);
}

Status HostMark::wait(uint32_t milliseconds) {
  if (wait_until(milliseconds)) return ok();
  return fail(TSR_ETIMEOUT, "the event was not passed within ", milliseconds, " ms");
}

bool HostMark::passed(std::chrono::steady_clock::time_point& when) {
  std::lock_guard lock(mutex_);
  when = when_;
  return passed_;
}

Status HostMark::elapsed_since(Mark& start, float& milliseconds) {
  std::chrono::steady_clock::time_point from;
  std::chrono::steady_clock::time_point to;
  if (!static_cast<HostMark&>(start).passed(from) || !passed(to)) {
    return invalid("an event has not been passed yet; tsrSynchronizeEvent waits for it");
  }
  milliseconds = std::chrono::duration<float, std::milli>(to - from).count();
  return ok();
}

void ContextStream::drain() {
  std::lock_guard lock(draining);
  if (work) work->drain();
}

void ContextStream::end() {
  std::lock_guard lock(draining);
  work.reset();
}

Status DirectStream::record(std::shared_ptr<Mark>& mark) {
  auto made = std::make_shared<HostMark>();
  made->pass();
  mark = std::move(made);
  return ok();
}

ThreadStream::ThreadStream(Queue& queue) : queue_(queue), worker_([this] { serve(); }) {}

ThreadStream::~ThreadStream() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  worker_.join();
}

void ThreadStream::append(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  ++put_;
  changed_.notify_all();
}

Status ThreadStream::submit(Work work) {
  append([this, work = std::move(work), cancellation = cancellation()] { run(work, cancellation); });
  return ok();
}

Status ThreadStream::record(std::shared_ptr<Mark>& mark) {
  auto made = std::make_shared<HostMark>();
  append([made] { made->pass(); });
  mark = std::move(made);
  return ok();
}

Status ThreadStream::wait_for(std::shared_ptr<Mark> mark) {
  append([mark = std::move(mark)] { (void)mark->wait(TSR_FOREVER); });
  return ok();
}

Status DirectStream::notify(tsr_done_t done, void* user) {
  InCallback called;
  done(user, TSR_SUCCESS);
  return ok();
}

Status ThreadStream::notify(tsr_done_t done, void* user) {
  append([this, done, user] {
    tsr_status_t status = TSR_SUCCESS;
    {
      std::lock_guard lock(mutex_);
      status = failure_.code;
    }
    InCallback called;
    done(user, status);
  });
  return ok();
}

Status ThreadStream::take_failure() {
  std::lock_guard lock(mutex_);
  return std::exchange(failure_, Status());
}

void ThreadStream::run(const Work& work, const Cancellation& cancellation) {
  {
    std::lock_guard lock(mutex_);
    // What was cancelled holds back nothing that came later.
    if (failure_.failed() && failure_.code != TSR_ECANCELED) return;
    if (cancellation.is()) {
      if (!failure_.failed()) failure_ = fail(TSR_ECANCELED, "work of the stream was dropped by tsrCancel");
      return;
    }
  }
  Status status;
  try {
    status = work(queue_);
  } catch (const std::bad_alloc&) {
    status = fail(TSR_EOOM, "out of memory");
  } catch (...) {
    status = fail(TSR_EINTERNAL, "internal error");
  }
  if (!status.failed()) return;
  std::lock_guard lock(mutex_);
  bool is_first = !failure_.failed() || status.code != TSR_ECANCELED;
  if (is_first) failure_ = std::move(status);
}

void ThreadStream::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::function<void()> work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
    ++done_;
    passed_.notify_all();
  }
}

bool ThreadStream::wait(uint32_t milliseconds) {
  std::unique_lock lock(mutex_);
  auto is_past = [this, all = put_] { return done_ >= all; };
  if (milliseconds != TSR_FOREVER) return passed_.wait_for(lock, std::chrono::milliseconds(milliseconds), is_past);
  passed_.wait(lock, is_past);
  return true;
}

void ThreadStream::drain() { (void)wait(TSR_FOREVER); }

Status ThreadStream::synchronize(uint32_t milliseconds) {
  if (!wait(milliseconds)) return fail(TSR_ETIMEOUT, "the stream was still busy after ", milliseconds, " ms");
  return take_failure();
}

}  // namespace tessera::runtime
