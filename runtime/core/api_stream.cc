// The C interface: streams and events.

#include "runtime/core/context.h"

using namespace tessera::runtime;

namespace {

Status record(tsr_event& event, tsr_stream_t stream) {
  auto mark = std::make_shared<Mark>();
  {
    std::lock_guard lock(event.mutex);
    event.mark = mark;
  }
  if (!stream) {
    mark->pass();
    return ok();
  }
  if (stream->context != event.context) return invalid("the stream belongs to another context");
  stream->submit_always([mark] { mark->pass(); });
  return ok();
}

std::shared_ptr<Mark> mark_of(tsr_event& event) {
  std::lock_guard lock(event.mutex);
  return event.mark;
}

Status elapsed(tsr_event& start, tsr_event& end, float* milliseconds) {
  std::shared_ptr<Mark> first = mark_of(start);
  std::shared_ptr<Mark> second = mark_of(end);
  std::chrono::steady_clock::time_point from;
  std::chrono::steady_clock::time_point to;
  if (!first || !second || !first->passed(from) || !second->passed(to)) {
    return invalid("an event has not been passed yet; tsrSynchronizeEvent waits for it");
  }
  *milliseconds = std::chrono::duration<float, std::milli>(to - from).count();
  return ok();
}

}  // namespace

extern "C" {

tsr_status_t tsrCreateStream(tsr_context_t context, tsr_stream_t* stream) {
  return at_boundary([&] {
    if (!context || !stream) return invalid("the context or the place for the stream is NULL");
    auto made = std::make_unique<tsr_stream>(context);
    std::lock_guard lock(context->mutex);
    *stream = made.get();
    context->streams.emplace(made.get(), std::move(made));
    return ok();
  });
}

tsr_status_t tsrDestroyStream(tsr_stream_t stream) {
  return at_boundary([&] {
    if (!stream) return ok();
    std::unique_ptr<tsr_stream> doomed;
    std::lock_guard lock(stream->context->mutex);
    auto found = stream->context->streams.find(stream);
    doomed = std::move(found->second);
    stream->context->streams.erase(found);
    return ok();
  });
}

tsr_status_t tsrSynchronizeStream(tsr_stream_t stream, uint32_t milliseconds) {
  return at_boundary([&] { return stream ? stream->synchronize(milliseconds) : ok(); });
}

tsr_status_t tsrCreateEvent(tsr_context_t context, tsr_event_t* event) {
  return at_boundary([&] {
    if (!context || !event) return invalid("the context or the place for the event is NULL");
    auto made = std::make_unique<tsr_event>();
    made->context = context;
    std::lock_guard lock(context->mutex);
    *event = made.get();
    context->events.emplace(made.get(), std::move(made));
    return ok();
  });
}

tsr_status_t tsrDestroyEvent(tsr_event_t event) {
  return at_boundary([&] {
    if (!event) return ok();
    std::unique_ptr<tsr_event> doomed;
    std::lock_guard lock(event->context->mutex);
    auto found = event->context->events.find(event);
    doomed = std::move(found->second);
    event->context->events.erase(found);
    return ok();
  });
}

tsr_status_t tsrRecordEvent(tsr_event_t event, tsr_stream_t stream) {
  return at_boundary([&] {
    if (!event) return invalid("the event is NULL");
    return record(*event, stream);
  });
}

tsr_status_t tsrSynchronizeEvent(tsr_event_t event, uint32_t milliseconds) {
  return at_boundary([&] {
    if (!event) return invalid("the event is NULL");
    std::shared_ptr<Mark> mark = mark_of(*event);
    if (!mark || mark->wait(milliseconds)) return ok();
    return fail(TSR_ETIMEOUT, "the event was not passed within ", milliseconds, " ms");
  });
}

tsr_status_t tsrWaitEvent(tsr_stream_t stream, tsr_event_t event) {
  return at_boundary([&] {
    if (!event) return invalid("the event is NULL");
    std::shared_ptr<Mark> mark = mark_of(*event);
    if (!mark) return ok();
    auto wait = [mark] { mark->wait(TSR_FOREVER); };
    if (stream) {
      stream->submit_always(wait);
    } else {
      wait();
    }
    return ok();
  });
}

tsr_status_t tsrGetElapsedTime(tsr_event_t start, tsr_event_t end, float* milliseconds) {
  return at_boundary([&] {
    if (!start || !end || !milliseconds) return invalid("an event or the place is NULL");
    return elapsed(*start, *end, milliseconds);
  });
}

}  // extern "C"
