// The C interface: streams and events.

#include "runtime/api/boundary.h"
#include "runtime/api/sized.h"

using namespace tessera::runtime;

namespace {

std::shared_ptr<Mark> mark_of(Event& event) {
  std::lock_guard lock(event.mutex);
  return event.mark;
}

Status make_work(Device& device, const tsr_stream_options_t& options, std::unique_ptr<Stream>& work) {
  if (options.flags & ~TSR_STREAM_ADOPT) {
    return invalid("the flags ", options.flags, " are other than TSR_STREAM_ADOPT");
  }
  if (Status status = check_reserved<tsr_stream_options_t>(options.reserved); status.failed()) return status;
  if (options.flags & TSR_STREAM_ADOPT) return device.adopt_stream(options.native, work);
  if (options.native) return invalid("a stream of the driver is given without TSR_STREAM_ADOPT");
  return device.make_stream(work);
}

Status create_stream(Context& context, const tsr_stream_options_t* given, tsr_stream_t* stream) {
  if (!stream) return invalid("the place for the stream is NULL");
  tsr_stream_options_t options;
  if (Status status = read_sized(given, options); status.failed()) return status;
  auto made = std::make_shared<ContextStream>(context);
  if (Status status = make_work(*context.device, options, made->work); status.failed()) return status;
  context.adopt(context.streams, made);
  *stream = made->handle.get();
  return ok();
}

Status create_event(Context& context, tsr_event_t* event) {
  if (!event) return invalid("the place for the event is NULL");
  auto made = std::make_shared<Event>(context);
  context.adopt(context.events, made);
  *event = made->handle.get();
  return ok();
}

Status record(Event& event, tsr_stream_t handle) {
  Stream* stream = nullptr;
  std::shared_ptr<Mark> mark;
  if (Status status = find_stream(event.context, handle, &stream); status.failed()) return status;
  if (Status status = stream->record(mark); status.failed()) return status;
  std::lock_guard lock(event.mutex);
  event.mark.swap(mark);
  return ok();
}

Status wait_for(Event& event, tsr_stream_t handle) {
  Stream* stream = nullptr;
  if (Status status = find_stream(event.context, handle, &stream); status.failed()) return status;
  std::shared_ptr<Mark> mark = mark_of(event);
  return mark ? stream->wait_for(std::move(mark)) : ok();
}

Status elapsed(tsr_event_t start, tsr_event_t end, float* milliseconds) {
  Event *first = nullptr, *second = nullptr;
  if (Status status = find(start, &first, "the start event"); status.failed()) return status;
  if (Status status = find(end, &second, "the end event"); status.failed()) return status;
  if (!milliseconds) return invalid("the place for the milliseconds is NULL");
  if (&first->context != &second->context) return invalid("the end event belongs to another context than the start");
  std::shared_ptr<Mark> from = mark_of(*first), to = mark_of(*second);
  if (!from || !to) return invalid("the ", from ? "end" : "start", " event has not been recorded");
  return to->elapsed_since(*from, *milliseconds);
}

}  // namespace

extern "C" {

tsr_status_t tsrCreateStream(tsr_context_t context, const tsr_stream_options_t* options, tsr_stream_t* stream) {
  if (stream) *stream = nullptr;
  return with(context, [&](Context& found) { return create_stream(found, options, stream); });
}

tsr_status_t tsrDestroyStream(tsr_stream_t stream) {
  return destroy(stream, [](ContextStream& ended) {
    // It stays in the table while its work runs, so that who waits for all work waits for this.
    ended.work->drain();
    ended.context.tell_failure(*ended.work);
    // Who waits for all work may still hold it; what was adopted goes back to its owner when this returns.
    std::shared_ptr<ContextStream> dropped = ended.context.drop(ended.context.streams, ended);
    ended.end();
  });
}

tsr_status_t tsrSynchronize(tsr_context_t context, tsr_stream_t stream, uint32_t milliseconds) {
  return with_waiting(context, [&](Context& found) {
    Stream* waited_for = nullptr;
    Status status = find_stream(found, stream, &waited_for);
    return status.failed() ? std::move(status) : waited_for->synchronize(milliseconds);
  });
}

tsr_status_t tsrNotify(tsr_context_t context, tsr_stream_t stream, tsr_done_t done, void* user) {
  return with(context, [&](Context& found) {
    Stream* notified = nullptr;
    if (Status status = find_stream(found, stream, &notified); status.failed()) return status;
    return done ? notified->notify(done, user) : invalid("the function to be called is NULL");
  });
}

tsr_status_t tsrCancel(tsr_context_t context, tsr_stream_t stream) {
  return with(context, [&](Context& found) {
    Stream* cancelled = nullptr;
    Status status = find_stream(found, stream, &cancelled);
    if (!status.failed()) cancelled->cancel();
    return status;
  });
}

tsr_status_t tsrCreateEvent(tsr_context_t context, tsr_event_t* event) {
  if (event) *event = nullptr;
  return with(context, [&](Context& found) { return create_event(found, event); });
}

tsr_status_t tsrDestroyEvent(tsr_event_t event) {
  return destroy_anywhere(event, [](Event& ended) {
    Context& context = ended.context;
    context.put_away(context.drop(context.events, ended));
  });
}

tsr_status_t tsrRecordEvent(tsr_event_t event, tsr_stream_t stream) {
  return with(event, [&](Event& found) { return record(found, stream); });
}

tsr_status_t tsrWaitEvent(tsr_event_t event, tsr_stream_t stream) {
  return with_waiting(event, [&](Event& found) { return wait_for(found, stream); });
}

tsr_status_t tsrSynchronizeEvent(tsr_event_t event, uint32_t milliseconds) {
  return with_waiting(event, [&](Event& found) {
    std::shared_ptr<Mark> mark = mark_of(found);
    return mark ? mark->wait(milliseconds) : ok();
  });
}

tsr_status_t tsrGetElapsedTime(tsr_event_t start, tsr_event_t end, float* milliseconds) {
  return at_boundary([&] { return elapsed(start, end, milliseconds); });
}

}  // extern "C"
