#include "runtime/tsr/stopwatch.h"

#include <chrono>

#include "runtime/tsr/command.h"

namespace tessera::tool {

namespace {

constexpr size_t queued_calls = 10;

}  // namespace

Stopwatch::~Stopwatch() {
  for (tsr_event_t event : events_) tsrDestroyEvent(event);
}

int Stopwatch::time(const Call& prepare, const Call& call, std::vector<double>& seconds) {
  if (has_events_) return time_queued(prepare, call, seconds);
  using Clock = std::chrono::steady_clock;
  if (tsr_status_t status = prepare(); status != TSR_SUCCESS) return fail_status(status);
  auto begin = Clock::now();
  if (tsr_status_t status = call(); status != TSR_SUCCESS) return fail_status(status);
  seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  return exit_ok;
}

int Stopwatch::make_events() {
  while (events_.size() < 2 * queued_calls) {
    tsr_event_t event = nullptr;
    tsr_status_t status = tsrCreateEvent(context_, &event);
    if (status != TSR_SUCCESS) return fail_status(status);
    events_.push_back(event);
  }
  return exit_ok;
}

int Stopwatch::time_queued(const Call& prepare, const Call& call, std::vector<double>& seconds) {
  if (int code = make_events()) return code;
  tsr_status_t status = TSR_SUCCESS;
  for (size_t i = 0; i < queued_calls && status == TSR_SUCCESS; ++i) {
    status = prepare();
    if (status == TSR_SUCCESS) status = tsrRecordEvent(events_[2 * i], nullptr);
    if (status == TSR_SUCCESS) status = call();
    if (status == TSR_SUCCESS) status = tsrRecordEvent(events_[2 * i + 1], nullptr);
  }
  if (status == TSR_SUCCESS) status = tsrSynchronize(context_, nullptr, TSR_FOREVER);
  for (size_t i = 0; i < queued_calls && status == TSR_SUCCESS; ++i) {
    float milliseconds = 0;
    status = tsrGetElapsedTime(events_[2 * i], events_[2 * i + 1], &milliseconds);
    seconds.push_back(double(milliseconds) / 1000);
  }
  return status == TSR_SUCCESS ? exit_ok : fail_status(status);
}

}  // namespace tessera::tool
