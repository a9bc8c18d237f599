#include "runtime/core/replays.h"

#include <algorithm>

namespace tessera::runtime {

namespace {

/// Kinds kept per function: a server sees few sizes at a time, each with a few places for its tensors.
constexpr size_t most_kinds = 64;

}  // namespace

Replays::Kind& Replays::kind_of(const Frame& frame, const std::shared_ptr<const SizedPlan>& placement) {
  auto it = std::ranges::find_if(kinds_, [&](const Kind& kind) {
    return kind.placement == placement && kind.buffers == frame.buffers;
  });
  if (it != kinds_.end()) {
    kinds_.splice(kinds_.begin(), kinds_, it);
  } else {
    kinds_.push_front({placement, frame.buffers});
    if (kinds_.size() > most_kinds) kinds_.pop_back();
  }
  return kinds_.front();
}

Status Replays::run(Frame& frame, const std::shared_ptr<const SizedPlan>& placement, Queue& queue) {
  std::shared_ptr<Recording> recording;
  bool records = false;
  {
    std::lock_guard lock(mutex_);
    Kind& kind = kind_of(frame, placement);
    recording = kind.recording;
    records = ++kind.calls == 2;
  }
  if (records) {
    Frame recorded = frame;
    bool is_cancelled = false;
    recording = queue.record([&](Queue& into) {
      Status status = interpret(recorded, into);
      is_cancelled = status.code == TSR_ECANCELED;
      return status;
    });
    std::lock_guard lock(mutex_);
    Kind& kind = kind_of(frame, placement);
    kind.recording = recording;
    if (is_cancelled) kind.calls = 1;  // the next one is recorded
  }
  return recording ? queue.replay(*recording, frame.plan.entry) : interpret(frame, queue);
}

}  // namespace tessera::runtime
