// The C interface: contexts and memory.

#include "runtime/core/context.h"
#include "runtime/cpu/cpu_device.h"

using namespace tessera::runtime;

namespace {

constexpr uint32_t max_threads = 1024;
constexpr uint32_t all_memory_flags = TSR_DEVICE | TSR_HOST | TSR_PINNED;

Status create_context(std::string_view device, tsr_context_t* context) {
  if (!context) return invalid("the place for the context is NULL");
  *context = nullptr;
  if (device != "cpu") {
    return fail(TSR_EUNSUPPORTED, "the device ", tessera::format::in_quotes(device),
                " is not known; this build has 'cpu'");
  }
  auto made = std::make_unique<tsr_context>();
  made->device = make_cpu_device();
  made->device->set_threads(default_threads());
  *context = made.release();
  return ok();
}

Status allocate(tsr_context& context, size_t bytes, uint32_t flags, void** dptr) {
  if (!dptr) return invalid("the place for the pointer is NULL");
  *dptr = nullptr;
  if (flags == 0 || (flags & ~all_memory_flags) != 0) {
    return invalid("the flags ", flags, " are no combination of TSR_DEVICE, TSR_HOST, TSR_PINNED");
  }
  Memory memory;
  if (Status status = memory.allocate(*context.device, bytes); status.failed()) return status;
  void* data = memory.data();
  std::lock_guard lock(context.mutex);
  context.memory.emplace(data, std::move(memory));
  *dptr = data;
  return ok();
}

Status free_memory(tsr_context& context, void* dptr) {
  Memory memory;
  std::lock_guard lock(context.mutex);
  auto found = context.memory.find(dptr);
  if (found == context.memory.end()) {
    return invalid("the pointer is not one that tsrAlloc gave for this context");
  }
  memory = std::move(found->second);
  context.memory.erase(found);
  return ok();
}

}  // namespace

extern "C" {

tsr_status_t tsrCreateContext(tsr_context_t* context) {
  return at_boundary([&] { return create_context("cpu", context); });
}

tsr_status_t tsrCreateContextFor(const char* device, tsr_context_t* context) {
  return at_boundary([&] {
    if (!device) return invalid("the device's name is NULL");
    return create_context(device, context);
  });
}

tsr_status_t tsrDestroyContext(tsr_context_t context) {
  return at_boundary([&] {
    delete context;
    return ok();
  });
}

tsr_status_t tsrSetThreads(tsr_context_t context, uint32_t threads) {
  return at_boundary([&] {
    if (!context) return invalid("the context is NULL");
    if (threads > max_threads) return invalid(threads, " threads are more than ", max_threads);
    context->device->set_threads(threads == 0 ? default_threads() : int(threads));
    return ok();
  });
}

tsr_status_t tsrAlloc(tsr_context_t context, size_t bytes, uint32_t flags, void** dptr) {
  return at_boundary([&] {
    if (!context) return invalid("the context is NULL");
    return allocate(*context, bytes, flags, dptr);
  });
}

tsr_status_t tsrFree(tsr_context_t context, void* dptr) {
  return at_boundary([&] {
    if (!context) return invalid("the context is NULL");
    return dptr ? free_memory(*context, dptr) : ok();
  });
}

tsr_status_t tsrCopy(tsr_context_t context, tsr_stream_t stream, void* to, const void* from,
                     size_t bytes) {
  return at_boundary([&] {
    if (!context) return invalid("the context is NULL");
    if (bytes == 0) return ok();
    if (!to || !from) return invalid("a copy of ", bytes, " bytes has a NULL pointer");
    return context->enqueue(stream, [=] { return context->device->copy(to, from, bytes); });
  });
}

}  // extern "C"
