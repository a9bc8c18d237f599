// The C interface: contexts and memory.

#include <cstdlib>

#include "runtime/api/boundary.h"
#include "runtime/api/sized.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/files/threads.h"
#include "runtime/format/check_names.h"

using namespace tessera::runtime;

namespace {

constexpr uint32_t all_memory_flags = TSR_DEVICE | TSR_HOST | TSR_PINNED;

Status make_device(std::string_view name, std::unique_ptr<Device>& device) {
  if (name == "cpu") {
    device = make_cpu_device();
    return ok();
  }
  if (is_cuda_name(name)) return make_cuda_device(name, device);
  return fail(TSR_EUNSUPPORTED, "the device ", tessera::format::in_quotes(name),
              " is not known; there are 'cpu' and 'cuda:0', 'cuda:1' and so on");
}

/// TSR_DEVICE alone is memory of the device and TSR_HOST alone pageable memory of the host; all
/// else is page-locked memory of the host, which both can use.
MemoryKind memory_kind(uint32_t flags) {
  if (flags == TSR_DEVICE) return MemoryKind::Device;
  return flags == TSR_HOST ? MemoryKind::Host : MemoryKind::Pinned;
}

/// What the environment asks for.
Status environment_checks(uint32_t& checks) {
  const char* text = std::getenv("TSR_DEBUG");
  tessera::format::Result<uint32_t> named = tessera::format::parse_checks(text ? text : "");
  if (!named) return invalid("TSR_DEBUG: ", named.error().text);
  checks = *named;
  return ok();
}

Status set_threads(Device& device, uint32_t threads) {
  if (threads > uint32_t(most_threads)) return invalid(threads, " threads are more than ", uint32_t(most_threads));
  device.set_threads(threads == 0 ? default_threads() : int(threads));
  return ok();
}

bool wants_poison() {
  const char* value = std::getenv("TSR_POISON");
  return value && std::string_view(value) == "1";
}

Status create_context(const tsr_context_options_t* given, tsr_context_t* context) {
  if (!context) return invalid("the place for the context is NULL");
  *context = nullptr;
  tsr_context_options_t options;
  if (Status status = read_sized(given, options); status.failed()) return status;
  uint32_t checks = options.checks;
  auto made = std::make_unique<Context>();
  made->poisons = wants_poison();
  made->log = {options.log, options.log_user};
  if (const char* text = std::getenv("TSR_THREADS"); text && options.threads == 0 && !parse_threads(text)) {
    made->log.tell(TSR_LOG_WARNING, tessera::format::cat("TSR_THREADS is ", tessera::format::in_quotes(text),
                                                         ", which is not a number of threads, and is not used"));
  }
  if (checks & ~TSR_CHECK_ALL) return invalid("the checks ", checks, " are not a sum of TSR_CHECK_...");
  uint32_t more = 0;
  if (Status status = environment_checks(more); status.failed()) return status;
  made->checks = checks | more;
  std::string_view device = options.device ? options.device : "cpu";
  if (Status status = make_device(device, made->device); status.failed()) return status;
  if (options.allocator) {
    tsr_allocator_t allocator;
    if (Status status = read_sized(options.allocator, allocator); status.failed()) return status;
    if (!allocator.allocate || !allocator.free) return invalid("tsr_allocator_t: a function is NULL");
    made->device->take_memory_from(allocator);
    if ((made->checks & TSR_CHECK_GUARDS) && made->device->facts().is_host) {
      made->log.tell(TSR_LOG_WARNING, "with TSR_CHECK_GUARDS memory is followed by guard pages, and the program's "
                                      "allocator is not called");
    }
  }
  if (made->checks) {
    auto debug = std::make_unique<DebugDevice>(std::move(made->device), made->checks);
    made->debug = debug.get();
    made->device = std::move(debug);
  }
  for (MemoryKind kind : {MemoryKind::Device, MemoryKind::Host, MemoryKind::Pinned}) {
    made->device->memory(kind).budget = &made->budget;
  }
  Status status = set_threads(*made->device, options.threads);
  if (status.failed()) return status;
  status = made->device->make_default_stream(made->default_stream);
  if (status.failed()) return status;
  *context = made.release()->handle.get();
  return ok();
}

Status allocate(Context& context, size_t bytes, uint32_t flags, void** dptr) {
  if (!dptr) return invalid("the place for the pointer is NULL");
  *dptr = nullptr;
  if (flags == 0 || (flags & ~all_memory_flags) != 0) {
    return invalid("the flags ", flags, " are not a combination of TSR_DEVICE, TSR_HOST, TSR_PINNED");
  }
  Memory memory;
  if (Status status = memory.allocate(context.device->memory(memory_kind(flags)), bytes);
      status.failed())
    return status;
  void* data = memory.data();
  std::lock_guard lock(context.mutex);
  context.memory.emplace(data, std::move(memory));
  *dptr = data;
  return ok();
}

Status copy(Context& context, tsr_stream_t handle, void* to, const void* from, size_t bytes) {
  Stream* stream = nullptr;
  if (Status status = find_stream(context, handle, &stream); status.failed()) return status;
  if (bytes == 0) return ok();
  if (!to || !from) return invalid("a copy of ", bytes, " bytes has a NULL pointer");
  Status status = stream->submit([=](Queue& queue) { return queue.copy(to, from, bytes); });
  return status.failed() || handle ? status : stream->synchronize(TSR_FOREVER);
}

Status free_memory(Context& context, void* dptr) {
  auto memory = std::make_shared<Memory>();
  {
    std::lock_guard lock(context.mutex);
    auto found = context.memory.find(dptr);
    if (found == context.memory.end()) {
      return invalid("the pointer is not one that tsrAlloc gave for this context, or it was freed or exported");
    }
    *memory = std::move(found->second);
    context.memory.erase(found);
  }
  context.put_away(std::move(memory));
  return ok();
}

}  // namespace

extern "C" {

tsr_status_t tsrCreateContext(tsr_context_t* context) {
  return tsrCreateContextWith(nullptr, context);
}

tsr_status_t tsrCreateContextWith(const tsr_context_options_t* options, tsr_context_t* context) {
  return at_boundary([&] { return create_context(options, context); });
}

tsr_status_t tsrDestroyContext(tsr_context_t context) {
  return destroy(context, [](Context& ended) {
    ended.end();
    ended.release();
  });
}

tsr_status_t tsrSetThreads(tsr_context_t context, uint32_t threads) {
  return with(context, [&](Context& found) { return set_threads(*found.device, threads); });
}

tsr_status_t tsrSetLimits(tsr_context_t context, const tsr_limits_t* limits) {
  return with(context, [&](Context& found) {
    tsr_limits_t taken;
    Status status = read_sized(limits, taken);
    if (!status.failed()) found.set_limits(taken);
    return status;
  });
}

tsr_status_t tsrSetTrace(tsr_context_t context, tsr_trace_t trace, void* user) {
  return with_waiting(context, [&](Context& found) {
    found.trace = {trace, user};
    return ok();
  });
}

tsr_status_t tsrAlloc(tsr_context_t context, size_t bytes, uint32_t flags, void** dptr) {
  return with_waiting(context, [&](Context& found) { return allocate(found, bytes, flags, dptr); });
}

tsr_status_t tsrFree(tsr_context_t context, void* dptr) {
  return with(context, [&](Context& found) { return dptr ? free_memory(found, dptr) : ok(); });
}

tsr_status_t tsrGetMemoryInfo(tsr_context_t context, tsr_memory_info_t* info) {
  return with(context, [&](Context& found) {
    const MemoryBudget& budget = found.budget;
    return write_sized(info, {sizeof *info, budget.used(), budget.peak(), budget.limit()});
  });
}

tsr_status_t tsrCopy(tsr_context_t context, tsr_stream_t stream, void* to, const void* from,
                     size_t bytes) {
  return with_waiting(context, [&](Context& found) { return copy(found, stream, to, from, bytes); });
}

}  // extern "C"
