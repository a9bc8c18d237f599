// The C interface: streams and events.

#include "runtime/core/context.h"

using namespace tessera::runtime;

namespace {

Status record(tsr_event& event, tsr_stream_t stream) {
  Stream* found = nullptr;
  std::shared_ptr<Mark> mark;
  if (Status status = event.context->find_stream(stream, &found); status.failed()) return status;
  if (Status status = found->record(mark); status.failed()) return status;
  std::lock_guard lock(event.mutex);
  event.mark = std::move(mark);
  return ok();
}

std::shared_ptr<Mark> mark_of(tsr_event& event) {
  std::lock_guard lock(event.mutex);
  return event.mark;
}

Status wait_for(tsr_event& event, tsr_stream_t stream) {
  Stream* found = nullptr;
  if (Status status = event.context->find_stream(stream, &found); status.failed()) return status;
  std::shared_ptr<Mark> mark = mark_of(event);
  return mark ? found->wait_for(std::move(mark)) : ok();
}

Status elapsed(tsr_event& start, tsr_event& end, float* milliseconds) {
  if (start.context != end.context) return invalid("the events belong to different contexts");
  std::shared_ptr<Mark> first = mark_of(start);
  std::shared_ptr<Mark> second = mark_of(end);
  if (first && second) return second->elapsed_since(*first, *milliseconds);
  return invalid("an event has not been recorded");
}

}  // namespace

extern "C" {

tsr_status_t tsrCreateStream(tsr_context_t context, tsr_stream_t* stream) {
  return at_boundary([&] {
    if (!context || !stream) return invalid("the context or the place for the stream is NULL");
    auto made = std::make_unique<tsr_stream>();
    made->context = context;
    Status status = context->device->make_stream(made->work);
    if (status.failed()) return status;
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
  return at_boundary([&] { return stream ? stream->work->synchronize(milliseconds) : ok(); });
}

tsr_status_t tsrSynchronize(tsr_context_t context, uint32_t milliseconds) {
  return at_boundary([&] {
    if (!context) return invalid("the context is NULL");
    return context->default_stream.work->synchronize(milliseconds);
  });
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
    return mark ? mark->wait(milliseconds) : ok();
  });
}

tsr_status_t tsrWaitEvent(tsr_stream_t stream, tsr_event_t event) {
  return at_boundary([&] {
    if (!event) return invalid("the event is NULL");
    return wait_for(*event, stream);
  });
}

tsr_status_t tsrGetElapsedTime(tsr_event_t start, tsr_event_t end, float* milliseconds) {
  return at_boundary([&] {
    if (!start || !end || !milliseconds) return invalid("an event or the place is NULL");
    return elapsed(*start, *end, milliseconds);
  });
}

}  // extern "C"
