#include "runtime/core/context.h"

#include "runtime/handles/callbacks.h"

namespace tessera::runtime {

void Context::tell_failure(Stream& stream) const {
  Status left = stream.take_failure();
  if (!left.failed()) return;
  log.tell(TSR_LOG_WARNING, format::cat("a stream ended with a failure that nobody had waited for: ", left.text));
}

void Context::end() {
  for (const auto& [key, stream] : streams) {
    if (!stream->work) continue;
    stream->work->drain();
    tell_failure(*stream->work);
  }
  streams.clear();
  if (default_stream) default_stream->drain();
  clear_left();
  events.clear();
  modules.clear();
  taken.clear();
  memory.clear();
  default_stream.reset();
  if (device) device->release_arenas();
}

void Context::put_away(std::shared_ptr<void> thing) {
  if (!InCallback::is() || device->facts().is_host) return;
  std::lock_guard lock(mutex);
  left_.push_back(std::move(thing));
  has_left_.store(true, std::memory_order_relaxed);
}

void Context::clear_left() {
  std::vector<std::shared_ptr<void>> ended;
  std::lock_guard lock(mutex);
  ended.swap(left_);
  has_left_.store(false, std::memory_order_relaxed);
}

void Context::set_limits(const tsr_limits_t& limits) {
  most_steps.store(limits.steps, std::memory_order_relaxed);
  most_milliseconds.store(limits.milliseconds, std::memory_order_relaxed);
  budget.set_limit(limits.memory);
}

tsr_limits_t Context::call_limits() const {
  return {sizeof(tsr_limits_t), most_steps.load(std::memory_order_relaxed),
          most_milliseconds.load(std::memory_order_relaxed), 0};
}

void Context::drain() {
  std::vector<std::shared_ptr<ContextStream>> all;
  {
    std::lock_guard lock(mutex);
    for (const auto& [key, stream] : streams) all.push_back(stream);
  }
  for (const auto& stream : all) stream->drain();
  default_stream->drain();
}

}  // namespace tessera::runtime
