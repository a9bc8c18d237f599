#include "runtime/core/context.h"

tsr_context::~tsr_context() {
  streams.clear();
  if (default_stream.work) default_stream.work->drain();
  events.clear();
  modules.clear();
  memory.clear();
  default_stream.work.reset();
}

void tsr_context::drain() {
  for (auto& [key, stream] : streams) stream->work->drain();
  default_stream.work->drain();
}

tessera::runtime::Status tsr_context::find_stream(tsr_stream* stream,
                                                  tessera::runtime::Stream** found) {
  if (!stream) stream = &default_stream;
  if (stream->context != this) {
    return tessera::runtime::invalid("the stream belongs to another context");
  }
  *found = stream->work.get();
  return tessera::runtime::ok();
}

tessera::runtime::Status tsr_context::enqueue(tsr_stream* stream, tessera::runtime::Work work) {
  tessera::runtime::Stream* found = nullptr;
  auto status = find_stream(stream, &found);
  return status.failed() ? status : found->submit(std::move(work));
}
