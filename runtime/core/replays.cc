#include "runtime/core/replays.h"

#include <algorithm>

namespace tessera::runtime {

namespace {

/// Kinds kept per function: a server sees few sizes at a time, each with a few places for its tensors.
constexpr size_t most_kinds = 64;

}  // namespace

bool Replays::find(const Frame& frame, const std::shared_ptr<const SizedPlan>& placement, Kind& found) {
  std::lock_guard lock(mutex_);
  auto it = std::ranges::find_if(kinds_, [&](const Kind& kind) {
    return kind.placement == placement && kind.buffers == frame.buffers;
  });
  bool is_known = it != kinds_.end();
  if (is_known) {
    kinds_.splice(kinds_.begin(), kinds_, it);
  } else {
    kinds_.push_front({placement, frame.buffers, false, nullptr});
    if (kinds_.size() > most_kinds) kinds_.pop_back();
  }
  found = kinds_.front();
  return is_known;
}

void Replays::keep(Kind kind) {
  std::lock_guard lock(mutex_);
  for (Kind& known : kinds_) {
    if (known.placement == kind.placement && known.buffers == kind.buffers) known = std::move(kind);
  }
}

Status Replays::run(Frame& frame, const std::shared_ptr<const SizedPlan>& placement, Queue& queue) {
  Kind kind;
  bool is_known = find(frame, placement, kind);
  if (is_known && !kind.recording && !kind.is_refused) {
    Frame recorded = frame;
    kind.recording = queue.record([&](Queue& into) { return interpret(recorded, into); });
    kind.is_refused = !kind.recording;
    keep(kind);
  }
  if (!kind.recording) return interpret(frame, queue);
  return queue.replay(*kind.recording, frame.plan.entry);
}

}  // namespace tessera::runtime
