// What a program may ask of devices, memory and modules, and memory that it gives itself.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>

#include "unit/runtime/cuda_sample.h"
#include "unit/runtime/sample.h"

using namespace tessera::test;

namespace {

/// An allocator that counts, fails at one of its calls, and says where it is wrong.
struct Counting {
  static void* allocate(void* user, size_t bytes, uint32_t flags, void* stream) {
    auto& self = *static_cast<Counting*>(user);
    std::lock_guard lock(self.mutex);
    if (++self.calls == self.fails_at) return nullptr;
    void* memory = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
    self.last_stream = stream;
    self.last_flags = flags;
    self.in_use[static_cast<char*>(memory) + self.shift] = bytes;
    return static_cast<char*>(memory) + self.shift;
  }
  static void free(void* user, void* memory, size_t bytes, uint32_t, void*) {
    auto& self = *static_cast<Counting*>(user);
    std::lock_guard lock(self.mutex);
    auto found = self.in_use.find(memory);
    self.is_wrong |= found == self.in_use.end() || found->second != bytes;
    if (found == self.in_use.end()) return;
    self.in_use.erase(found);
    std::free(static_cast<char*>(memory) - self.shift);
  }

  tsr_status_t create(const char* device, tsr_context_t* context) {
    tsr_allocator_t allocator{sizeof allocator, this, allocate, free};
    auto options = sized<tsr_context_options_t>();
    options.device = device;
    options.allocator = &allocator;
    return tsrCreateContextWith(&options, context);
  }

  std::mutex mutex;
  std::map<void*, size_t> in_use;
  int calls = 0, fails_at = 0;
  size_t shift = 0;
  bool is_wrong = false;
  void* last_stream = nullptr;
  uint32_t last_flags = 0;
};

/// y = x + 1 + 1 through a temporary, plus a constant that nothing reads.
std::string twice_bundle() {
  PlanBuilder b("twice");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t t = b.temp({"N"}, 0, 1);
  uint32_t c = b.constant({1, 2, 3});
  uint32_t u = b.temp({"3"}, 2, 2);
  b.launch("add_one", {x, t}, {"N"});
  b.launch("add_one", {t, y}, {"N"});
  b.step(format::CopyStep{u, c});
  return make_bundle({b.plan});
}

/// All that uses memory: the first failure.
tsr_status_t use(tsr_context_t context, const std::string& bundle, std::vector<float>& values) {
  tsr_module_t module = nullptr;
  tsr_function_t function = nullptr;
  tsr_stream_t stream = nullptr;
  void* memory = nullptr;
  HostTensor x({3}, {1, 2, 3}), y({3});
  tsr_status_t status = tsrLoadModule(context, bundle.data(), bundle.size(), &module);
  if (status == TSR_SUCCESS) status = tsrGetFunction(module, "twice", &function);
  if (status == TSR_SUCCESS) status = tsrAlloc(context, 0, TSR_HOST, &memory);
  if (status == TSR_SUCCESS) status = tsrCreateStream(context, nullptr, &stream);
  if (status == TSR_SUCCESS) status = call(function, {&x.tensor}, {&y.tensor}, stream);
  if (status == TSR_SUCCESS) status = tsrSynchronize(context, stream, TSR_FOREVER);
  if (status == TSR_SUCCESS) status = tsrFree(context, memory);
  tsrDestroyStream(stream);
  values = y.values();
  return status;
}

}  // namespace

TEST_CASE("an allocator that fails at its n-th call fails what needed it, and nothing is left", "[runtime][devices]") {
  std::string bundle = twice_bundle();
  int failures = 0;
  for (int n = 1;; ++n) {
    Counting counting;
    counting.fails_at = n;
    tsr_context_t context = nullptr;
    REQUIRE(counting.create(nullptr, &context) == TSR_SUCCESS);
    std::vector<float> values;
    tsr_status_t status = use(context, bundle, values);
    if (status != TSR_SUCCESS) {
      CHECK(status == TSR_EOOM);
      CHECK(last_error().find("the program's allocator has no ") != std::string::npos);
      ++failures;
      // It goes on as if nothing had been.
      REQUIRE(use(context, bundle, values) == TSR_SUCCESS);
    }
    CHECK(values == std::vector<float>{3, 4, 5});
    CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
    CHECK(counting.in_use.empty());
    CHECK_FALSE(counting.is_wrong);
    if (status == TSR_SUCCESS) break;
  }
  CHECK(failures >= 3);
}

TEST_CASE("an allocator that is wrong is told so", "[runtime][devices]") {
  Counting counting;
  counting.shift = 32;
  tsr_context_t context = nullptr;
  REQUIRE(counting.create("cpu", &context) == TSR_SUCCESS);
  void* memory = nullptr;
  CHECK(tsrAlloc(context, 100, TSR_HOST, &memory) == TSR_EINVAL);
  CHECK(last_error() == "the program's allocator gave memory that is not at a multiple of 64 bytes");
  CHECK(counting.in_use.empty());
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
  tsr_allocator_t half{sizeof half, nullptr, Counting::allocate, nullptr};
  auto options = sized<tsr_context_options_t>();
  options.allocator = &half;
  CHECK(tsrCreateContextWith(&options, &context) == TSR_EINVAL);
  CHECK(last_error() == "tsr_allocator_t: a function is NULL");
}

TEST_CASE("an allocator's functions are callbacks", "[runtime][devices]") {
  static tsr_context_t context = nullptr;
  static tsr_status_t inside = TSR_SUCCESS;
  auto allocate = [](void*, size_t bytes, uint32_t, void*) {
    inside = tsrSynchronize(context, nullptr, 0);
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  };
  auto give_back = [](void*, void* memory, size_t, uint32_t, void*) { std::free(memory); };
  tsr_allocator_t allocator{sizeof allocator, nullptr, allocate, give_back};
  auto options = sized<tsr_context_options_t>();
  options.allocator = &allocator;
  REQUIRE(tsrCreateContextWith(&options, &context) == TSR_SUCCESS);
  void* memory = nullptr;
  REQUIRE(tsrAlloc(context, 1, TSR_HOST, &memory) == TSR_SUCCESS);
  CHECK(inside == TSR_EINVAL);
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
}

TEST_CASE("an allocator of a GPU learns the stream and the kind", "[cuda][devices]") {
  FakeGpu gpu;
  Counting counting;
  tsr_context_t context = nullptr;
  REQUIRE(counting.create("cuda:0", &context) == TSR_SUCCESS);
  void* memory = nullptr;
  REQUIRE(tsrAlloc(context, 100, TSR_DEVICE, &memory) == TSR_SUCCESS);
  CHECK(counting.last_flags == TSR_DEVICE);
  REQUIRE(tsrFree(context, memory) == TSR_SUCCESS);
  REQUIRE(tsrAlloc(context, 100, TSR_DEVICE | TSR_HOST, &memory) == TSR_SUCCESS);
  CHECK(counting.last_flags == TSR_PINNED);
  CHECK(gpu.counts().mallocs == 0);
  CHECK(gpu.counts().pinned == 0);
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
  CHECK(counting.in_use.empty());
}

TEST_CASE("a context says what memory it holds", "[runtime][devices]") {
  Loaded loaded(twice_bundle());
  auto info = sized<tsr_memory_info_t>();
  REQUIRE(tsrGetMemoryInfo(loaded.context, &info) == TSR_SUCCESS);
  uint64_t before = info.used;
  void* memory = nullptr;
  REQUIRE(tsrAlloc(loaded.context, 1000, TSR_HOST, &memory) == TSR_SUCCESS);
  REQUIRE(tsrGetMemoryInfo(loaded.context, &info) == TSR_SUCCESS);
  CHECK(info.used == before + 1000);
  CHECK(info.limit == 0);
  REQUIRE(tsrFree(loaded.context, memory) == TSR_SUCCESS);
  auto limits = sized<tsr_limits_t>();
  limits.memory = 5000;
  REQUIRE(tsrSetLimits(loaded.context, &limits) == TSR_SUCCESS);
  CHECK(tsrAlloc(loaded.context, 6000, TSR_HOST, &memory) == TSR_EOOM);  // which does not count
  REQUIRE(tsrGetMemoryInfo(loaded.context, &info) == TSR_SUCCESS);
  CHECK(info.used == before);
  CHECK(info.peak == before + 1000);
  CHECK(info.limit == 5000);
}

TEST_CASE("the devices of a machine are told", "[cuda][devices]") {
  FakeKnobs knobs;
  knobs.devices = 2;
  FakeGpu gpu(knobs);
  size_t count = 0;
  REQUIRE(tsrGetDeviceCount(&count) == TSR_SUCCESS);
  CHECK(count == 3);
  auto info = sized<tsr_device_info_t>();
  REQUIRE(tsrGetDeviceInfo(0, &info) == TSR_SUCCESS);
  CHECK(info.name == std::string("cpu"));
  CHECK(info.device.device_type == 1);
  CHECK(info.memory > 0);
  CHECK(info.processors > 0);
  CHECK(info.capability == 0);
  REQUIRE(tsrGetDeviceInfo(2, &info) == TSR_SUCCESS);
  CHECK(info.name == std::string("cuda:1"));
  CHECK(info.description == std::string("fake GPU 1"));
  CHECK(info.device.device_type == 2);
  CHECK(info.device.device_id == 1);
  CHECK(info.memory == knobs.memory);
  CHECK(info.processors == uint32_t(knobs.multiprocessors));
  CHECK(info.capability == 90);
  CHECK(tsrGetDeviceInfo(3, &info) == TSR_ENOTFOUND);
  CHECK(last_error() == "there are 3 devices");
  gpu.fail("cuDeviceGetCount", 999);
  REQUIRE(tsrGetDeviceCount(&count) == TSR_SUCCESS);
  CHECK(count == 1);
  CHECK(tsrGetDeviceCount(nullptr) == TSR_EINVAL);
}

TEST_CASE("a module tells its kernels", "[runtime][devices]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  size_t count = 0;
  REQUIRE(tsrGetKernelCount(loaded.module, &count) == TSR_SUCCESS);
  CHECK(count == sample_kernels().size());
  for (size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    tsr_kernel_t kernel = nullptr;
    auto info = sized<tsr_kernel_info_t>();
    REQUIRE(tsrGetKernelName(loaded.module, i, &name) == TSR_SUCCESS);
    REQUIRE(tsrGetKernel(loaded.module, name, &kernel) == TSR_SUCCESS);
    REQUIRE(tsrGetKernelInfo(kernel, &info) == TSR_SUCCESS);
    format::KernelMeta meta = sample_kernel(name);
    CHECK(info.name == meta.name);
    REQUIRE(info.parameters + info.results == meta.buffers.size());
    for (size_t k = 0; k < meta.buffers.size(); ++k) {
      CHECK(info.buffers[k] == meta.buffers[k].name);
      CHECK((k >= info.parameters) == meta.buffers[k].result);
    }
    REQUIRE(info.free_dims == meta.dims.size());
    for (size_t k = 0; k < meta.dims.size(); ++k) CHECK(info.dims[k] == meta.dims[k]);
    CHECK(info.block_x == 1);
  }
  const char* name = nullptr;
  CHECK(tsrGetKernelName(loaded.module, count, &name) == TSR_ENOTFOUND);
}

TEST_CASE("an allocator gets back what a stream's work used while the stream is there", "[cuda][devices]") {
  FakeGpu gpu;
  tsr_context_t owner = nullptr, context = nullptr;
  REQUIRE(create_on("cuda:0", &owner) == TSR_SUCCESS);
  struct Given {
    const FakeGpu& gpu;
    std::vector<void*> blocks;
    void* allocated_on = nullptr;
    void* freed_on = nullptr;
    int streams_then = 0;
  } given{gpu, {}, nullptr, nullptr, 0};
  for (int i = 0; i < 4; ++i) {
    REQUIRE(tsrAlloc(owner, 4096, TSR_DEVICE, &given.blocks.emplace_back()) == TSR_SUCCESS);
  }
  auto allocate = [](void* user, size_t, uint32_t, void* stream) {
    auto& self = *static_cast<Given*>(user);
    if (stream) self.allocated_on = stream;
    void* block = self.blocks.back();
    self.blocks.pop_back();
    return block;
  };
  auto give_back = [](void* user, void* memory, size_t, uint32_t, void* stream) {
    auto& self = *static_cast<Given*>(user);
    self.blocks.push_back(memory);
    if (!stream) return;
    self.freed_on = stream;
    self.streams_then = self.gpu.counts().streams;
  };
  tsr_allocator_t allocator{sizeof allocator, &given, allocate, give_back};
  auto options = sized<tsr_context_options_t>();
  options.device = "cuda:0";
  options.allocator = &allocator;
  REQUIRE(tsrCreateContextWith(&options, &context) == TSR_SUCCESS);
  PlanBuilder b("twice");
  b.dim("N");
  uint32_t x = b.input("x", {"N"}), y = b.output("y", {"N"}), t = b.temp({"N"}, 0, 1);
  b.launch("add_one", {x, t}, {"N"});
  b.launch("add_one", {t, y}, {"N"});
  tsr_module_t module = nullptr;
  tsr_function_t function = nullptr;
  tsr_stream_t stream = nullptr;
  REQUIRE(load_with(context, CudaBundle{{b.plan}}.bytes(), 0, &module) == TSR_SUCCESS);
  REQUIRE(tsrGetFunction(module, "twice", &function) == TSR_SUCCESS);
  REQUIRE(tsrCreateStream(context, nullptr, &stream) == TSR_SUCCESS);
  {
    CudaTensor in(owner, {3}, {1, 2, 3}), out(owner, {3});
    REQUIRE(call(function, {&in.tensor}, {&out.tensor}, stream) == TSR_SUCCESS);
    REQUIRE(tsrSynchronize(context, stream, TSR_FOREVER) == TSR_SUCCESS);
    CHECK(out.values() == std::vector<float>{3, 4, 5});
  }
  CHECK(given.allocated_on != nullptr);
  CHECK(given.freed_on == nullptr);
  REQUIRE(tsrDestroyStream(stream) == TSR_SUCCESS);
  CHECK(given.freed_on == given.allocated_on);
  CHECK(given.streams_then == 1);
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
  CHECK(given.blocks.size() == 4);
  CHECK(tsrDestroyContext(owner) == TSR_SUCCESS);
}

TEST_CASE("only memory that was there counts for the peak", "[runtime][devices]") {
  Counting counting;
  tsr_context_t context = nullptr;
  REQUIRE(counting.create(nullptr, &context) == TSR_SUCCESS);
  void* memory = nullptr;
  counting.fails_at = counting.calls + 1;
  CHECK(tsrAlloc(context, 1000, TSR_HOST, &memory) == TSR_EOOM);
  auto info = sized<tsr_memory_info_t>();
  REQUIRE(tsrGetMemoryInfo(context, &info) == TSR_SUCCESS);
  CHECK(info.used == 0);
  CHECK(info.peak == 0);
  REQUIRE(tsrDestroyContext(context) == TSR_SUCCESS);
  REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
  REQUIRE(tsrAlloc(context, 64, TSR_HOST, &memory) == TSR_SUCCESS);
  void* more = nullptr;
  CHECK(tsrAlloc(context, SIZE_MAX, TSR_HOST, &more) == TSR_EOOM);
  CHECK(tsrAlloc(context, SIZE_MAX - 100, TSR_HOST, &more) == TSR_EOOM);
  REQUIRE(tsrGetMemoryInfo(context, &info) == TSR_SUCCESS);
  CHECK(info.used == 64);
  CHECK(info.peak == 64);
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
}

TEST_CASE("a context that ended keeps no temporaries for what was exported", "[runtime][devices]") {
  Counting counting;
  tsr_context_t context = nullptr;
  REQUIRE(counting.create(nullptr, &context) == TSR_SUCCESS);
  tsr_module_t module = nullptr;
  tsr_function_t function = nullptr;
  std::string bundle = twice_bundle();
  REQUIRE(tsrLoadModule(context, bundle.data(), bundle.size(), &module) == TSR_SUCCESS);
  REQUIRE(tsrGetFunction(module, "twice", &function) == TSR_SUCCESS);
  HostTensor x({3}, {1, 2, 3}), y({3});
  REQUIRE(call(function, {&x.tensor}, {&y.tensor}) == TSR_SUCCESS);
  void* memory = nullptr;
  REQUIRE(tsrAlloc(context, 12, TSR_HOST, &memory) == TSR_SUCCESS);
  tsr_tensor_t tensor = x.tensor;
  tensor.data = memory;
  tsr_managed_tensor_t* managed = nullptr;
  REQUIRE(tsrTensorToDLPack(context, &tensor, nullptr, &managed) == TSR_SUCCESS);
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
  CHECK(counting.in_use.size() == 1);
  managed->deleter(managed);
  CHECK(counting.in_use.empty());
}

TEST_CASE("an allocator learns the stream of a copy and, with checks, of temporaries", "[cuda][devices]") {
  FakeGpu gpu;
  for (uint32_t checks : {0u, TSR_CHECK_CANARIES}) {
    struct Given {
      tsr_context_t owner = nullptr;
      void* stream = nullptr;
      static void* allocate(void* user, size_t bytes, uint32_t flags, void* stream) {
        auto& own = *static_cast<Given*>(user);
        own.stream = stream;
        void* memory = nullptr;
        own.memory = std::async(std::launch::async, [&] {
                       return tsrAlloc(own.owner, bytes, flags, &memory) == TSR_SUCCESS ? memory : nullptr;
                     }).get();
        return own.memory;
      }
      static void free(void* user, void* memory, size_t, uint32_t, void*) {
        tsrFree(static_cast<Given*>(user)->owner, memory);
      }
      void* memory = nullptr;
    } given;
    REQUIRE(create_on("cuda:0", &given.owner) == TSR_SUCCESS);
    tsr_allocator_t allocator{sizeof allocator, &given, Given::allocate, Given::free};
    auto options = sized<tsr_context_options_t>();
    options.device = "cuda:0";
    options.allocator = &allocator;
    options.checks = checks;
    tsr_context_t context = nullptr;
    tsr_stream_t stream = nullptr;
    REQUIRE(tsrCreateContextWith(&options, &context) == TSR_SUCCESS);
    REQUIRE(tsrCreateStream(context, nullptr, &stream) == TSR_SUCCESS);
    HostTensor x({3}, {1, 2, 3});
    tsr_managed_tensor_t managed{x.tensor, nullptr, nullptr};
    tsr_import_options_t copy{sizeof copy, TSR_IMPORT_COPY, 0};
    tsr_tensor_t* taken = nullptr;
    REQUIRE(tsrTensorFromDLPack(context, stream, &managed, &copy, &taken) == TSR_SUCCESS);
    CHECK(given.stream != nullptr);
    CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
    CHECK(tsrDestroyContext(given.owner) == TSR_SUCCESS);
  }
}

TEST_CASE("what no allocator is asked for is told or not needed", "[runtime][devices]") {
  Counting counting;
  std::vector<std::string> messages;
  tsr_allocator_t allocator{sizeof allocator, &counting, Counting::allocate, Counting::free};
  auto options = sized<tsr_context_options_t>();
  options.allocator = &allocator;
  options.log_user = &messages;
  options.log = [](void* user, const tsr_log_message_t* message) {
    if (message->kind == TSR_LOG_WARNING) static_cast<std::vector<std::string>*>(user)->push_back(message->text);
  };
  tsr_context_t context = nullptr;
  tsr_module_t module = nullptr;
  REQUIRE(tsrCreateContextWith(&options, &context) == TSR_SUCCESS);
  std::string bundle = make_bundle({add_one_plan()});
  REQUIRE(tsrLoadModule(context, bundle.data(), bundle.size(), &module) == TSR_SUCCESS);
  CHECK(counting.calls == 0);  // the entry has no constants
  CHECK(messages.empty());
  REQUIRE(tsrDestroyContext(context) == TSR_SUCCESS);
  options.checks = TSR_CHECK_GUARDS;
  REQUIRE(tsrCreateContextWith(&options, &context) == TSR_SUCCESS);
  CHECK(messages == std::vector<std::string>{"with TSR_CHECK_GUARDS memory is followed by guard pages, and the "
                                             "program's allocator is not called"});
  REQUIRE(tsrDestroyContext(context) == TSR_SUCCESS);
  CHECK(create_on("cuda", &context) == TSR_EUNSUPPORTED);
  CHECK(last_error() == "the device 'cuda' is not known; there are 'cpu' and 'cuda:0', 'cuda:1' and so on");
}
