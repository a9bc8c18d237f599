// The functions of the fake driver. Handles are pointers to the objects here. One mutex guards all:
// the driver may be called from any thread.

#include "unit/runtime/cuda/fake_driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "runtime/cuda/driver_types.h"
#include "unit/runtime/cuda/fake_kernels.h"
#include "unit/runtime/cuda/fake_memory.h"

using namespace tessera::test;
using namespace tessera::runtime::cuda;

namespace {

constexpr int invalid_value = 1;
constexpr int invalid_context = 201;
constexpr int illegal_address = 700;
constexpr int not_supported = 801;

using Waiting = std::deque<std::function<void()>>;

/// What becomes a graph: pieces of work, and for each those that it depends on.
struct Graph {
  Waiting work;
  std::vector<std::vector<size_t>> depends;
};

struct Stream {
  Waiting waiting;
  bool is_captured = false;  ///< what waits is to become a graph
  std::vector<std::vector<size_t>> depends = {};  ///< then: beside `waiting`, as far as it is known
  std::vector<size_t> next = {};                  ///< and what comes next depends on
  ContextHandle context = nullptr;
};

/// Work that was captured meanwhile depends on what it was to depend on, and each piece on the one before.
void take_captured(Stream& stream) {
  while (stream.depends.size() < stream.waiting.size()) {
    stream.depends.push_back(stream.next);
    stream.next = {stream.depends.size() - 1};
  }
}

/// The work in an order that the dependences allow, as far from that of the program as they do.
Waiting reordered(const Graph& graph) {
  Waiting ordered;
  std::vector<bool> is_done(graph.work.size());
  while (ordered.size() < graph.work.size()) {
    size_t chosen = graph.work.size();
    for (size_t i = 0; i < graph.work.size(); ++i) {
      auto done = [&](size_t other) { return bool(is_done[other]); };
      if (!is_done[i] && std::all_of(graph.depends[i].begin(), graph.depends[i].end(), done)) chosen = i;
    }
    is_done[chosen] = true;
    ordered.push_back(graph.work[chosen]);
  }
  return ordered;
}

struct Event {
  Stream* stream = nullptr;
  bool is_passed = false;
  double milliseconds = 0;
};

struct Function {
  const FakeKernel* kernel;  ///< null: it is found, and cannot be launched
  int shared_limit = 48 << 10;
};

struct Module {
  std::string text;
  std::list<Function> functions;
};

struct Failure {
  std::string symbol;
  int result;
  int skip;
};

struct Machine {
  std::recursive_mutex mutex;
  FakeKnobs knobs;
  FakeCounts counts{};
  FakeMemory memory;
  Stream default_stream;
  std::set<Stream*> streams;
  std::list<Failure> failures;
  std::vector<FakeLaunch> launches;
  FakeTensorMap last_map{};
  int sticky = success;  ///< what a kernel did wrong
  double clock = 0;      ///< milliseconds; each piece of work takes one
};

Machine& machine() {
  static Machine& made = *new Machine();
  return made;
}

thread_local std::vector<ContextHandle> current;

/// The failure that waits for this call, or that there is no context, or that of a kernel.
int enter(const char* symbol, bool needs_context = true) {
  for (auto it = machine().failures.begin(); it != machine().failures.end(); ++it) {
    if (it->symbol != symbol || it->skip-- != 0) continue;
    int result = it->result;
    machine().failures.erase(it);
    return result;
  }
  if (needs_context && current.empty()) return invalid_context;
  return needs_context ? machine().sticky : success;
}

void run_all(Stream& stream) {
  if (stream.is_captured) return;
  while (!stream.waiting.empty()) {
    auto work = std::move(stream.waiting.front());
    stream.waiting.pop_front();
    machine().clock += 1;
    work();
  }
}

void run_everything() {
  run_all(machine().default_stream);
  for (Stream* stream : machine().streams) run_all(*stream);
}

Stream& stream_of(StreamHandle handle) {
  return handle ? *reinterpret_cast<Stream*>(handle) : machine().default_stream;
}

void copy_bytes(Address to, Address from, size_t bytes) {
  char* target = machine().memory.translate(to, bytes);
  char* source = machine().memory.translate(from, bytes);
  if (!target || !source) {
    machine().sticky = illegal_address;
  } else {
    std::memmove(target, source, bytes);
  }
}

template <typename T>
int fill(const char* symbol, Address to, T value, size_t count, StreamHandle stream) {
  if (int result = enter(symbol)) return result;
  if (to % sizeof(T) != 0 || !machine().memory.is_device(to)) return invalid_value;
  stream_of(stream).waiting.push_back([=] {
    char* at = machine().memory.translate(to, count * sizeof(T));
    if (!at) machine().sticky = illegal_address;
    for (size_t i = 0; at && i < count; ++i) std::memcpy(at + i * sizeof(T), &value, sizeof(T));
  });
  return success;
}

void read_params(const FakeKernel& kernel, void** params, FakeArguments& arguments) {
  for (const char* kind = kernel.params; *kind; ++kind, ++params) {
    if (*kind == 'p') {
      std::memcpy(&arguments.pointers.emplace_back(), *params, 8);
    } else if (*kind == 'd') {
      std::memcpy(&arguments.dims.emplace_back(), *params, 4);
    } else {
      static_assert(sizeof(FakeTensorMap) <= sizeof(TensorMap));
      std::memcpy(&arguments.maps.emplace_back(), *params, sizeof(FakeTensorMap));
    }
  }
}

int launch(const LaunchConfig& config, unsigned cluster, FunctionHandle handle, void** params, bool overlaps) {
  auto& function = *reinterpret_cast<Function*>(handle);
  if (!function.kernel) return not_supported;
  bool is_sound = config.grid_x > 0 && config.grid_y == 1 && config.grid_z == 1 &&
                  config.grid_x % cluster == 0 && config.block_x * config.block_y <= 1024 &&
                  int(config.shared_bytes) <= function.shared_limit;
  if (!is_sound) return invalid_value;
  FakeLaunch record{};
  std::snprintf(record.kernel, sizeof record.kernel, "%s", function.kernel->name);
  record.grid = config.grid_x;
  record.block[0] = config.block_x;
  record.block[1] = config.block_y;
  record.block[2] = config.block_z;
  record.cluster = cluster;
  record.overlaps = overlaps;
  record.shared_bytes = config.shared_bytes;
  record.stream = config.stream;
  machine().launches.push_back(record);
  FakeArguments arguments{machine().memory, config.grid_x, {}, {}, {}};
  read_params(*function.kernel, params, arguments);
  stream_of(config.stream).waiting.push_back([arguments, kernel = function.kernel] {
    if (!kernel->run(arguments)) machine().sticky = illegal_address;
  });
  return success;
}

/// Does the image declare the entry? Its name ends at a parenthesis, as in PTX, or with the line.
bool has_entry(const std::string& text, const std::string& name) {
  std::string declared = ".entry " + name;
  for (size_t at = text.find(declared); at != std::string::npos; at = text.find(declared, at + 1)) {
    size_t end = text.find_first_not_of(" \t", at + declared.size());
    if (end != std::string::npos && (text[end] == '(' || text[end] == '\n')) return true;
  }
  return false;
}

using Lock = std::lock_guard<std::recursive_mutex>;

}  // namespace

extern "C" {

void fake_reset(const FakeKnobs* knobs) {
  Lock lock(machine().mutex);
  machine().knobs = *knobs;
  machine().counts = {};
  machine().failures.clear();
  machine().launches.clear();
  machine().default_stream.waiting.clear();
  machine().sticky = success;
}

void fake_fail(const char* symbol, int result, int skip) {
  Lock lock(machine().mutex);
  machine().failures.push_back({symbol, result, skip});
}

void fake_counts(FakeCounts* counts) {
  Lock lock(machine().mutex);
  *counts = machine().counts;
  counts->allocations = int(machine().memory.count());
}

size_t fake_launch_count(void) {
  return machine().launches.size();
}

void fake_launch(size_t index, FakeLaunch* record) {
  *record = machine().launches.at(index);
}

void fake_last_map(FakeTensorMap* map) {
  *map = machine().last_map;
}

int cuDriverGetVersion(int* version) {
  Lock lock(machine().mutex);
  *version = machine().knobs.version;
  return enter("cuDriverGetVersion", false);
}

int cuInit(unsigned) {
  Lock lock(machine().mutex);
  if (int result = enter("cuInit", false)) return result;
  return machine().knobs.devices == 0 ? error_no_device : success;
}

int cuGetErrorName(int error, const char** text) {
  *text = error == error_out_of_memory       ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == error_no_device         ? "CUDA_ERROR_NO_DEVICE"
          : error == illegal_address         ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == invalid_value           ? "CUDA_ERROR_INVALID_VALUE"
          : error == error_invalid_ptx       ? "CUDA_ERROR_INVALID_PTX"
          : error == error_no_binary_for_gpu ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : error == error_not_found         ? "CUDA_ERROR_NOT_FOUND"
                                             : nullptr;
  return *text ? success : invalid_value;
}

int cuGetErrorString(int error, const char** text) {
  *text = error == error_out_of_memory ? "out of memory"
          : error == illegal_address   ? "an illegal memory access was encountered"
                                       : nullptr;
  return *text ? success : invalid_value;
}

int cuDeviceGetCount(int* count) {
  Lock lock(machine().mutex);
  *count = machine().knobs.devices;
  return enter("cuDeviceGetCount", false);
}

int cuDeviceGet(DeviceHandle* device, int index) {
  *device = 100 + index;
  return index < machine().knobs.devices ? success : error_invalid_device;
}

int cuDeviceGetName(char* name, int size, DeviceHandle device) {
  std::snprintf(name, size_t(size), "fake GPU %d", device - 100);
  return enter("cuDeviceGetName", false);
}

int cuDeviceTotalMem_v2(size_t* bytes, DeviceHandle) {
  *bytes = machine().knobs.memory;
  return enter("cuDeviceTotalMem_v2", false);
}

int cuDeviceGetAttribute(int* value, int attribute, DeviceHandle) {
  Lock lock(machine().mutex);
  const FakeKnobs& knobs = machine().knobs;
  *value = attribute == device_capability_major        ? knobs.capability / 10
           : attribute == device_capability_minor      ? knobs.capability % 10
           : attribute == device_multiprocessors       ? knobs.multiprocessors
           : attribute == device_max_threads_per_block ? 1024
           : attribute == device_max_shared_optin      ? 227 << 10
                                                       : -1;
  return *value < 0 ? invalid_value : enter("cuDeviceGetAttribute", false);
}

int cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceHandle device) {
  Lock lock(machine().mutex);
  if (int result = enter("cuDevicePrimaryCtxRetain", false)) return result;
  ++machine().counts.contexts;
  *context = reinterpret_cast<ContextHandle>(intptr_t(device));
  return success;
}

int cuDevicePrimaryCtxRelease_v2(DeviceHandle) {
  Lock lock(machine().mutex);
  --machine().counts.contexts;
  return success;
}

int cuCtxPushCurrent_v2(ContextHandle context) {
  current.push_back(context);
  return success;
}

int cuCtxPopCurrent_v2(ContextHandle* context) {
  if (current.empty()) return invalid_context;
  if (context) *context = current.back();
  current.pop_back();
  return success;
}

int cuCtxSynchronize(void) {
  FakeKnobs knobs;
  {
    Lock lock(machine().mutex);
    knobs = machine().knobs;
  }
  if (knobs.meanwhile) knobs.meanwhile(knobs.meanwhile_with);
  Lock lock(machine().mutex);
  if (int result = enter("cuCtxSynchronize")) return result;
  ++machine().counts.context_waits;
  run_everything();
  return machine().sticky;
}

int cuMemGetInfo_v2(size_t* available, size_t* total) {
  Lock lock(machine().mutex);
  *total = machine().knobs.memory;
  *available = *total - machine().memory.used();
  return enter("cuMemGetInfo_v2");
}

int cuMemAlloc_v2(Address* address, size_t bytes) {
  Lock lock(machine().mutex);
  if (int result = enter("cuMemAlloc_v2")) return result;
  *address = machine().memory.allocate(bytes, machine().knobs.memory);
  if (*address == 0) return error_out_of_memory;
  ++machine().counts.mallocs;
  return success;
}

int cuMemFree_v2(Address address) {
  Lock lock(machine().mutex);
  if (current.empty()) return invalid_context;
  run_everything();
  return machine().memory.free(address) ? success : invalid_value;
}

int cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  Lock lock(machine().mutex);
  if (int result = enter("cuMemHostAlloc")) return result;
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  ++machine().counts.pinned;
  return success;
}

int cuMemFreeHost(void* memory) {
  Lock lock(machine().mutex);
  std::free(memory);
  --machine().counts.pinned;
  return success;
}

int cuMemcpy(Address to, Address from, size_t bytes) {
  Lock lock(machine().mutex);
  if (int result = enter("cuMemcpy")) return result;
  run_all(machine().default_stream);
  copy_bytes(to, from, bytes);
  return machine().sticky;
}

int cuMemcpyAsync(Address to, Address from, size_t bytes, StreamHandle stream) {
  Lock lock(machine().mutex);
  if (int result = enter("cuMemcpyAsync")) return result;
  FakeMemory& memory = machine().memory;
  if (memory.is_device(to) && memory.is_device(from)) {
    stream_of(stream).waiting.push_back([=] { copy_bytes(to, from, bytes); });
    return success;
  }
  if (!memory.is_device(to)) {  // to memory of the host: all before it has to be done
    run_all(stream_of(stream));
    copy_bytes(to, from, bytes);
    return machine().sticky;
  }
  std::string staged(reinterpret_cast<const char*>(from), bytes);
  stream_of(stream).waiting.push_back(
      [=] { copy_bytes(to, reinterpret_cast<Address>(staged.data()), bytes); });
  return success;
}

int cuMemsetD8Async(Address to, unsigned char value, size_t count, StreamHandle stream) {
  Lock lock(machine().mutex);
  return fill("cuMemsetD8Async", to, value, count, stream);
}

int cuMemsetD16Async(Address to, unsigned short value, size_t count, StreamHandle stream) {
  Lock lock(machine().mutex);
  return fill("cuMemsetD16Async", to, value, count, stream);
}

int cuMemsetD32Async(Address to, unsigned value, size_t count, StreamHandle stream) {
  Lock lock(machine().mutex);
  return fill("cuMemsetD32Async", to, value, count, stream);
}

int cuStreamDestroy_v2(StreamHandle handle);

int cuStreamCreate(StreamHandle* handle, unsigned) {
  Lock lock(machine().mutex);
  if (int result = enter("cuStreamCreate")) return result;
  auto* made = new Stream();
  made->context = current.back();
  machine().streams.insert(made);
  ++machine().counts.streams;
  *handle = reinterpret_cast<StreamHandle>(made);
  return success;
}

void* fake_create_stream(intptr_t context) {
  cuCtxPushCurrent_v2(reinterpret_cast<ContextHandle>(context));
  StreamHandle stream = nullptr;
  cuStreamCreate(&stream, 0);
  cuCtxPopCurrent_v2(nullptr);
  return stream;
}

void fake_destroy_stream(void* stream) {
  cuStreamDestroy_v2(static_cast<StreamHandle>(stream));
}

int cuStreamGetCtx(StreamHandle handle, ContextHandle* context) {
  Lock lock(machine().mutex);
  *context = stream_of(handle).context;
  return enter("cuStreamGetCtx");
}

int cuStreamDestroy_v2(StreamHandle handle) {
  Lock lock(machine().mutex);
  auto* doomed = reinterpret_cast<Stream*>(handle);
  machine().streams.erase(doomed);
  delete doomed;
  --machine().counts.streams;
  return success;
}

int cuLaunchHostFunc(StreamHandle stream, void (*function)(void*), void* user) {
  Lock lock(machine().mutex);
  if (int result = enter("cuLaunchHostFunc")) return result;
  stream_of(stream).waiting.push_back([=] { function(user); });
  return success;
}

int cuStreamSynchronize(StreamHandle handle) {
  Lock lock(machine().mutex);
  if (int result = enter("cuStreamSynchronize")) return result;
  run_all(stream_of(handle));
  return machine().sticky;
}

int cuStreamQuery(StreamHandle handle) {
  Lock lock(machine().mutex);
  if (int result = enter("cuStreamQuery")) return result;
  if (machine().knobs.is_busy) return error_not_ready;
  run_all(stream_of(handle));
  return machine().sticky;
}

int cuStreamWaitEvent(StreamHandle handle, EventHandle event, unsigned) {
  Lock lock(machine().mutex);
  if (int result = enter("cuStreamWaitEvent")) return result;
  auto* waited = reinterpret_cast<Event*>(event);
  Stream* other = waited->is_passed ? nullptr : waited->stream;
  stream_of(handle).waiting.push_back([other] {
    if (other) run_all(*other);
  });
  return success;
}

int cuStreamBeginCapture_v2(StreamHandle handle, int) {
  Lock lock(machine().mutex);
  if (int result = enter("cuStreamBeginCapture_v2")) return result;
  if (!handle || stream_of(handle).is_captured) return invalid_value;
  run_all(stream_of(handle));
  stream_of(handle).is_captured = true;
  return success;
}

int cuStreamGetCaptureInfo_v2(StreamHandle handle, int* state, unsigned long long*, GraphHandle*,
                              const GraphNodeHandle** last, size_t* count) {
  Lock lock(machine().mutex);
  if (int result = enter("cuStreamGetCaptureInfo_v2")) return result;
  Stream& stream = stream_of(handle);
  if (!stream.is_captured) return invalid_value;
  take_captured(stream);
  static thread_local std::vector<GraphNodeHandle> nodes;
  nodes.clear();
  for (size_t number : stream.next) nodes.push_back(reinterpret_cast<GraphNodeHandle>(number + 1));
  *state = 1;
  *last = nodes.data();
  *count = nodes.size();
  return success;
}

int cuStreamUpdateCaptureDependencies(StreamHandle handle, const GraphNodeHandle* nodes, size_t count, unsigned flags) {
  Lock lock(machine().mutex);
  if (int result = enter("cuStreamUpdateCaptureDependencies")) return result;
  Stream& stream = stream_of(handle);
  if (!stream.is_captured || flags != capture_set_dependencies) return invalid_value;
  take_captured(stream);
  stream.next.clear();
  for (size_t i = 0; i < count; ++i) stream.next.push_back(reinterpret_cast<size_t>(nodes[i]) - 1);
  return success;
}

int cuStreamEndCapture(StreamHandle handle, GraphHandle* graph) {
  Lock lock(machine().mutex);
  if (int result = enter("cuStreamEndCapture")) return result;
  Stream& stream = stream_of(handle);
  if (!stream.is_captured) return invalid_value;
  ++machine().counts.graphs;
  take_captured(stream);
  *graph = reinterpret_cast<GraphHandle>(new Graph{std::move(stream.waiting), std::move(stream.depends)});
  stream.waiting.clear();
  stream.depends.clear();
  stream.next.clear();
  stream.is_captured = false;
  return success;
}

int cuGraphInstantiateWithFlags(GraphCallHandle* handle, GraphHandle graph, unsigned long long) {
  Lock lock(machine().mutex);
  if (int result = enter("cuGraphInstantiateWithFlags")) return result;
  ++machine().counts.graphs;
  *handle = reinterpret_cast<GraphCallHandle>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return success;
}

int cuGraphLaunch(GraphCallHandle handle, StreamHandle stream) {
  Lock lock(machine().mutex);
  if (int result = enter("cuGraphLaunch")) return result;
  ++machine().counts.graph_launches;
  for (const auto& work : reordered(*reinterpret_cast<Graph*>(handle))) stream_of(stream).waiting.push_back(work);
  return success;
}

int cuGraphDestroy(GraphHandle graph) {
  Lock lock(machine().mutex);
  --machine().counts.graphs;
  delete reinterpret_cast<Graph*>(graph);
  return success;
}

int cuGraphExecDestroy(GraphCallHandle graph) {
  return cuGraphDestroy(reinterpret_cast<GraphHandle>(graph));
}

int cuEventCreate(EventHandle* handle, unsigned) {
  Lock lock(machine().mutex);
  if (int result = enter("cuEventCreate")) return result;
  ++machine().counts.events;
  *handle = reinterpret_cast<EventHandle>(new Event());
  return success;
}

int cuEventDestroy_v2(EventHandle handle) {
  Lock lock(machine().mutex);
  auto* event = reinterpret_cast<Event*>(handle);
  if (event->stream && !event->is_passed) run_all(*event->stream);
  delete event;
  --machine().counts.events;
  return success;
}

int cuEventRecord(EventHandle handle, StreamHandle stream) {
  Lock lock(machine().mutex);
  if (int result = enter("cuEventRecord")) return result;
  auto* event = reinterpret_cast<Event*>(handle);
  event->stream = &stream_of(stream);
  event->stream->waiting.push_back([event] {
    event->is_passed = true;
    event->milliseconds = machine().clock;
  });
  return success;
}

int cuEventSynchronize(EventHandle handle) {
  Lock lock(machine().mutex);
  if (int result = enter("cuEventSynchronize")) return result;
  auto* event = reinterpret_cast<Event*>(handle);
  if (event->stream) run_all(*event->stream);
  return machine().sticky;
}

int cuEventQuery(EventHandle handle) {
  Lock lock(machine().mutex);
  return machine().knobs.is_busy ? error_not_ready : cuEventSynchronize(handle);
}

int cuEventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  Lock lock(machine().mutex);
  if (int result = enter("cuEventElapsedTime")) return result;
  auto* first = reinterpret_cast<Event*>(start);
  auto* second = reinterpret_cast<Event*>(end);
  if (!first->is_passed || !second->is_passed) return error_not_ready;
  *milliseconds = float(second->milliseconds - first->milliseconds);
  return success;
}

/// An image is PTX, or text with ".entry NAME" lines; a cubin has an ELF header before it and a line
/// ".target sm_NN".
int cuModuleLoadDataEx(ModuleHandle* handle, const void* image, unsigned count, int* options,
                       void** values) {
  Lock lock(machine().mutex);
  if (int result = enter("cuModuleLoadDataEx")) return result;
  auto* text = static_cast<const char*>(image);
  bool is_cubin = text[0] == '\x7f';
  auto made = std::make_unique<Module>();
  made->text = is_cubin ? text + 64 : text;
  std::string target = ".target sm_" + std::to_string(machine().knobs.capability);
  if (is_cubin && made->text.find(target) == std::string::npos) return error_no_binary_for_gpu;
  if (!is_cubin && made->text.find(".version") == std::string::npos) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == jit_error_log_buffer) {
        std::strcpy(static_cast<char*>(values[i]), "line 1: no version\n");
      }
    }
    return error_invalid_ptx;
  }
  ++machine().counts.modules;
  *handle = reinterpret_cast<ModuleHandle>(made.release());
  return success;
}

int cuFuncGetParamInfo(FunctionHandle handle, size_t index, size_t*, size_t*) {
  return index < std::strlen(reinterpret_cast<Function*>(handle)->kernel->params) ? success : invalid_value;
}

int cuModuleUnload(ModuleHandle handle) {
  Lock lock(machine().mutex);
  run_everything();
  delete reinterpret_cast<Module*>(handle);
  --machine().counts.modules;
  return success;
}

int cuModuleGetFunction(FunctionHandle* handle, ModuleHandle module, const char* name) {
  Lock lock(machine().mutex);
  if (int result = enter("cuModuleGetFunction")) return result;
  auto& owner = *reinterpret_cast<Module*>(module);
  const FakeKernel* kernel = find_fake_kernel(name);
  if (!has_entry(owner.text, name)) return error_not_found;
  owner.functions.push_back({kernel});
  *handle = reinterpret_cast<FunctionHandle>(&owner.functions.back());
  return success;
}

int cuFuncGetAttribute(int* value, int attribute, FunctionHandle) {
  Lock lock(machine().mutex);
  *value = attribute == function_max_threads_per_block ? 1024 : 0;
  return enter("cuFuncGetAttribute");
}

int cuFuncSetAttribute(FunctionHandle handle, int attribute, int value) {
  Lock lock(machine().mutex);
  if (attribute == function_max_dynamic_shared_bytes) {
    reinterpret_cast<Function*>(handle)->shared_limit = value;
  }
  return enter("cuFuncSetAttribute");
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count, FunctionHandle, int, size_t) {
  Lock lock(machine().mutex);
  *count = machine().knobs.blocks_per_multiprocessor;
  return enter("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

int cuOccupancyMaxActiveClusters(int* count, FunctionHandle, const LaunchConfig* config) {
  Lock lock(machine().mutex);
  const FakeKnobs& knobs = machine().knobs;
  int cluster = int(config->attributes[0].value.cluster.x);
  *count = knobs.blocks_per_multiprocessor * knobs.multiprocessors / cluster;
  return enter("cuOccupancyMaxActiveClusters");
}

int cuLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   StreamHandle stream, void** params, void**) {
  Lock lock(machine().mutex);
  if (int result = enter("cuLaunchKernel")) return result;
  return launch(
      {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, nullptr, 0}, 1,
      function, params, false);
}

int cuLaunchKernelEx(const LaunchConfig* config, FunctionHandle function, void** params, void**) {
  Lock lock(machine().mutex);
  if (int result = enter("cuLaunchKernelEx")) return result;
  unsigned cluster = 1;
  bool overlaps = false;
  for (unsigned i = 0; i < config->attribute_count; ++i) {
    const LaunchAttribute& attribute = config->attributes[i];
    switch (attribute.id) {
      case LaunchAttribute::cluster_dimension: cluster = attribute.value.cluster.x; break;
      case LaunchAttribute::programmatic_serialization: overlaps = attribute.value.holds == 1; break;
      default: return invalid_value;
    }
  }
  return launch(*config, cluster, function, params, overlaps);
}

int cuTensorMapEncodeIm2col(TensorMap* map, int type, uint32_t rank, void* address, const uint64_t* extents,
                            const uint64_t* strides, const int* lower, const int* upper, uint32_t channels,
                            uint32_t windows, const uint32_t* steps, int, int swizzle, int, int) {
  Lock lock(machine().mutex);
  if (int result = enter("cuTensorMapEncodeIm2col")) return result;
  FakeTensorMap made{};
  made.address = reinterpret_cast<uint64_t>(address);
  made.type = uint32_t(type);
  made.rank = rank;
  made.swizzle = uint32_t(swizzle);
  made.box[0] = channels;
  made.box[1] = windows;
  if (rank < 3 || rank > 5 || made.address % 16 != 0 || channels == 0 || windows == 0) return invalid_value;
  for (uint32_t i = 0; i < rank; ++i) {
    made.extents[i] = extents[i];
    if (extents[i] == 0 || steps[i] < 1 || steps[i] > 8) return invalid_value;
    if (i + 2 < rank) {
      made.lower[i] = int8_t(lower[i]);
      made.upper[i] = int8_t(upper[i]);
      made.steps[i] = uint8_t(steps[i + 1]);
    }
    if (i + 1 == rank) continue;
    made.strides[i] = strides[i];
    if (strides[i] % 16 != 0) return invalid_value;
  }
  std::memcpy(map, &made, sizeof made);
  machine().last_map = made;
  ++machine().counts.encoded_maps;
  return success;
}

int cuTensorMapEncodeTiled(TensorMap* map, int type, uint32_t rank, void* address,
                           const uint64_t* extents, const uint64_t* strides, const uint32_t* box,
                           const uint32_t* steps, int, int swizzle, int, int) {
  Lock lock(machine().mutex);
  if (int result = enter("cuTensorMapEncodeTiled")) return result;
  FakeTensorMap made{};
  made.address = reinterpret_cast<uint64_t>(address);
  made.type = uint32_t(type);
  made.rank = rank;
  made.swizzle = uint32_t(swizzle);
  if (rank < 1 || rank > 5 || made.address % 16 != 0) return invalid_value;
  for (uint32_t i = 0; i < rank; ++i) {
    made.extents[i] = extents[i];
    made.box[i] = box[i];
    if (extents[i] == 0 || box[i] == 0 || box[i] > 256 || steps[i] != 1) return invalid_value;
    if (i + 1 == rank) continue;
    made.strides[i] = strides[i];
    if (strides[i] % 16 != 0) return invalid_value;
  }
  std::memcpy(map, &made, sizeof made);
  machine().last_map = made;
  ++machine().counts.encoded_maps;
  return success;
}

}  // extern "C"
