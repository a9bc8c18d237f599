#include "runtime/core/context.h"

#include <sched.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace tessera::runtime {

int default_threads() {
  if (const char* text = std::getenv("TSR_THREADS")) {
    int threads = 0;
    auto [end, status] = std::from_chars(text, text + std::strlen(text), threads);
    if (status == std::errc() && *end == '\0' && threads >= 1 && threads <= 1024) return threads;
  }
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    int count = CPU_COUNT(&allowed);
    if (count > 0) return count;
  }
  unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : int(count);
}

}  // namespace tessera::runtime

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
