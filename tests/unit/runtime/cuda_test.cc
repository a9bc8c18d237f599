// Entries and kernels on a GPU, up to the driver: arguments, grids, tensor maps, memory, streams.

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <future>

#include "unit/runtime/cuda_sample.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// t = x * w; y = t + c, through a temp, a parameter, a constant, a copy and fills.
format::Plan steps_plan() {
  PlanBuilder b("steps");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t w = b.param("w", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t ones = b.output("ones", {"N"});
  uint32_t wide = b.output("wide", {"3"}, Dtype::I64);
  uint32_t tenths = b.output("tenths", {"2"});
  uint32_t t = b.temp({"1", "N"}, 0, 1);
  uint32_t constant = b.constant({0.5, 0.25});
  b.launch("scale", {x, w, t}, {"1", "N"});
  b.launch("add_one", {t, y}, {"N"});
  b.step(format::FillStep{ones, 4, 0x3f800000});
  b.step(format::FillStep{wide, 8, 0x0000000200000001});
  b.step(format::CopyStep{tenths, constant});
  return b.plan;
}

std::vector<float> count_up(size_t n) {
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = float(i);
  return out;
}

}  // namespace

TEST_CASE("an entry runs on a GPU", "[cuda]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{add_one_plan()}}.bytes());
  const char* target = nullptr;
  REQUIRE(tsrGetModuleTarget(loaded.module, &target) == TSR_SUCCESS);
  CHECK(std::string(target) == cuda_target);
  CudaTensor x(loaded.context, {40}, count_up(40));
  CudaTensor y(loaded.context, {40});
  REQUIRE(call(loaded.function("add_one"), {&x.tensor}, {&y.tensor}) == TSR_SUCCESS);
  std::vector<float> expected = count_up(40);
  for (float& value : expected) ++value;
  CHECK(y.values() == expected);
  REQUIRE(gpu.launches().size() == 1);
  FakeLaunch launch = gpu.launches()[0];
  CHECK(std::string(launch.kernel) == "add_one");
  CHECK(launch.grid == 3);
  CHECK(launch.block[0] == 128);
  CHECK(launch.cluster == 1);
  CHECK(launch.stream == nullptr);
}

TEST_CASE("kernels lie in objects of their own, and may share code", "[cuda]") {
  FakeGpu gpu;
  format::Plan twice = add_one_plan();
  twice.entry = "twin";
  twice.kernels = {"add_one.v1"};
  CudaBundle bundle{{add_one_plan(), twice}};
  bundle.has_parts = true;
  size_t own = bundle.kernels.size();
  format::KernelMeta twin = bundle.kernels[0];
  REQUIRE(twin.name == "add_one");
  twin.name = "add_one.v1";
  twin.code = "add_one";
  bundle.kernels.insert(bundle.kernels.begin() + 1, twin);
  CudaLoaded loaded(bundle.bytes());
  CHECK(gpu.counts().modules == int(own));
  for (const char* entry : {"add_one", "twin"}) {
    CudaTensor x(loaded.context, {40}, count_up(40));
    CudaTensor y(loaded.context, {40});
    REQUIRE(call(loaded.function(entry), {&x.tensor}, {&y.tensor}) == TSR_SUCCESS);
    CHECK(y.values()[39] == 40);
    CHECK(std::string(gpu.launches().back().kernel) == "add_one");
  }
}

TEST_CASE("objects of a cubin that the driver refuses leave none behind", "[cuda]") {
  FakeGpu gpu;
  CudaBundle bundle{{add_one_plan()}};
  bundle.has_parts = true;
  tsr_context_t context = nullptr;
  REQUIRE(create_on("cuda:0", &context) == TSR_SUCCESS);
  std::string bytes = bundle.bytes();
  gpu.fail("cuModuleLoadDataEx", 200, 2);
  tsr_module_t module = nullptr;
  CHECK(load_with(context, bytes, 0, &module) == TSR_EIMAGE);
  CHECK(gpu.counts().modules == 0);
  tsrDestroyContext(context);
}

TEST_CASE("all steps of a plan work in memory of the GPU", "[cuda]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{steps_plan()}}.bytes());
  CudaTensor x(loaded.context, {3}, {1, 2, 3});
  CudaTensor w(loaded.context, {3}, {10, 20, 30});
  CudaTensor y(loaded.context, {3});
  CudaTensor ones(loaded.context, {3});
  CudaTensor wide(loaded.context, {3}, Dtype::I64);
  CudaTensor tenths(loaded.context, {2});
  const char* names[] = {"w"};
  const tsr_tensor_t* tensors[] = {&w.tensor};
  REQUIRE(tsrBindParameters(loaded.module, names, tensors, 1) == TSR_SUCCESS);
  tsr_status_t status = call(loaded.function("steps"), {&x.tensor},
                             {&y.tensor, &ones.tensor, &wide.tensor, &tenths.tensor});
  INFO(last_error());
  REQUIRE(status == TSR_SUCCESS);
  CHECK(y.values() == std::vector<float>{11, 41, 91});
  CHECK(ones.values() == std::vector<float>{1, 1, 1});
  CHECK(tenths.values() == std::vector<float>{0.5, 0.25});
  int64_t numbers[3];
  wide.read(numbers);
  for (int64_t number : numbers) CHECK(number == 0x0000000200000001);
}

TEST_CASE("a branch waits for the value that it reads", "[cuda]") {
  PlanBuilder b("branch");
  uint32_t x = b.input("x", {"1"});
  uint32_t y = b.output("y", {"1"});
  uint32_t flag = b.temp({}, 0, 1, Dtype::Bool);
  b.launch("is_positive", {x, flag}, {});
  b.step(format::IfStep{flag, 1, 1});
  b.launch("add_one", {x, y}, {"1"});
  b.step(format::FillStep{y, 4, 0});
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{b.plan}}.bytes());
  CudaTensor positive(loaded.context, {1}, {5});
  CudaTensor negative(loaded.context, {1}, {-5});
  CudaTensor out(loaded.context, {1}, {7});
  tsr_function_t branch = loaded.function("branch");
  REQUIRE(call(branch, {&positive.tensor}, {&out.tensor}) == TSR_SUCCESS);
  CHECK(out.values()[0] == 6);
  REQUIRE(call(branch, {&negative.tensor}, {&out.tensor}) == TSR_SUCCESS);
  CHECK(out.values()[0] == 0);
}

TEST_CASE("scalars may be in memory of the host, and seeds omitted", "[cuda]") {
  PlanBuilder b("scalars");
  uint32_t n = b.input("n", {}, Dtype::I32);
  uint32_t seed = b.input("seed", {}, Dtype::U64);
  b.scalar_dim("N", n);
  uint32_t y = b.output("y", {"N"});
  uint32_t copy = b.output("copy", {}, Dtype::U64);
  b.step(format::FillStep{y, 4, 0x3f800000});
  b.launch("copy_seed", {seed, copy}, {});
  FakeGpu gpu;
  CudaBundle bundle{{b.plan}};
  bundle.facts["scalars"].seeds = {"seed"};
  CudaLoaded loaded(bundle.bytes());
  tsr_function_t function = loaded.function("scalars");
  HostTensor count({}, Dtype::I32);
  int32_t three = 3;
  std::memcpy(count.tensor.data, &three, 4);
  HostTensor number({}, Dtype::U64);
  uint64_t seven = 0x700000007;
  std::memcpy(number.tensor.data, &seven, 8);
  CudaTensor out(loaded.context, {3});
  CudaTensor copied(loaded.context, {}, Dtype::U64);
  REQUIRE(call(function, {&count.tensor, &number.tensor}, {&out.tensor, &copied.tensor}) ==
          TSR_SUCCESS);
  uint64_t read = 0;
  copied.read(&read);
  CHECK(read == seven);
  CHECK(out.values() == std::vector<float>{1, 1, 1});
  REQUIRE(call(function, {&count.tensor, nullptr}, {&out.tensor, &copied.tensor}) == TSR_SUCCESS);
  copied.read(&read);
  CHECK(read == 0);

  SECTION("a dim's scalar in memory of the GPU is fetched") {
    CudaTensor device_count(loaded.context, {}, Dtype::I32);
    REQUIRE(tsrCopy(loaded.context, nullptr, device_count.tensor.data, &three, 4) == TSR_SUCCESS);
    REQUIRE(call(function, {&device_count.tensor, nullptr}, {&out.tensor, &copied.tensor}) ==
            TSR_SUCCESS);
    int64_t shape = 0;
    int32_t ndim = 0;
    const tsr_tensor_t* inputs[] = {&device_count.tensor, nullptr};
    REQUIRE(tsrGetOutputShape(function, 0, inputs, 2, &shape, 1, &ndim) == TSR_SUCCESS);
    CHECK(shape == 3);
  }
}

TEST_CASE("persistent kernels get as many clusters as fit or are needed", "[cuda]") {
  FakeKnobs knobs;
  knobs.multiprocessors = 3;
  FakeGpu gpu(knobs);  // 6 blocks at a time
  CudaLoaded loaded(CudaBundle{}.bytes());
  tsr_kernel_t kernel = nullptr;
  REQUIRE(tsrGetKernel(loaded.module, "add_one_persistent", &kernel) == TSR_SUCCESS);
  auto grid_for = [&](uint32_t n) {
    CudaTensor x(loaded.context, {n}, count_up(n));
    CudaTensor y(loaded.context, {n});
    void* args[] = {&x.tensor.data, &y.tensor.data, &n};
    REQUIRE(tsrLaunch(kernel, nullptr, {}, args, 3) == TSR_SUCCESS);
    CHECK(y.values().back() == float(n));
    FakeLaunch launch = gpu.launches().back();
    CHECK(launch.cluster == 2);
    CHECK(launch.overlaps);
    CHECK(launch.shared_bytes == 100 << 10);
    return launch.grid;
  };
  CHECK(grid_for(16) == 2);
  CHECK(grid_for(48) == 4);
  CHECK(grid_for(16 * 100) == 6);
}

TEST_CASE("kernels start while the launch ahead ends where they wait for it and the driver can", "[cuda]") {
  struct {
    const char* kernel;
    int version;
    bool overlaps;
  } const cases[] = {
      {"add_one_persistent", 12030, true}, {"add_one_persistent", 12020, false}, {"add_one", 13000, false}};
  for (const auto& [name, version, overlaps] : cases) {
    INFO(name << " with CUDA " << version);
    FakeKnobs knobs;
    knobs.version = version;
    FakeGpu gpu(knobs);
    CudaLoaded loaded(CudaBundle{}.bytes());
    tsr_kernel_t kernel = nullptr;
    REQUIRE(tsrGetKernel(loaded.module, name, &kernel) == TSR_SUCCESS);
    uint32_t n = 16;
    CudaTensor x(loaded.context, {n}, count_up(n));
    CudaTensor y(loaded.context, {n});
    void* args[] = {&x.tensor.data, &y.tensor.data, &n};
    REQUIRE(tsrLaunch(kernel, nullptr, {}, args, 3) == TSR_SUCCESS);
    CHECK(y.values().back() == float(n));
    CHECK(gpu.launches().back().overlaps == overlaps);
  }
}

TEST_CASE("blocks that start early have an even share of each multiprocessor's memory", "[cuda]") {
  FakeKnobs knobs;
  knobs.multiprocessors = 4;
  CudaBundle bundle;
  auto kernel = std::ranges::find(bundle.kernels, "add_one", &format::KernelMeta::name);
  auto shared_for = [&](uint32_t blocks, int64_t bytes, bool waits) {
    kernel->smem_per_cta = bytes;
    kernel->waits = waits;
    FakeGpu gpu(knobs);
    CudaLoaded loaded(bundle.bytes());
    tsr_kernel_t loaded_kernel = nullptr;
    REQUIRE(tsrGetKernel(loaded.module, "add_one", &loaded_kernel) == TSR_SUCCESS);
    uint32_t n = 16 * blocks;
    CudaTensor x(loaded.context, {n}, count_up(n));
    CudaTensor y(loaded.context, {n});
    void* args[] = {&x.tensor.data, &y.tensor.data, &n};
    REQUIRE(tsrLaunch(loaded_kernel, nullptr, {}, args, 3) == TSR_SUCCESS);
    CHECK(gpu.launches().back().grid == blocks);
    return gpu.launches().back().shared_bytes;
  };
  // 228 KiB are shared, of which each block takes 1 more than it asks for.
  CHECK(shared_for(3, 20 << 10, true) == 227 << 10);
  CHECK(shared_for(4, 20 << 10, true) == 227 << 10);
  CHECK(shared_for(5, 20 << 10, true) == 113 << 10);
  CHECK(shared_for(12, 20 << 10, true) == 75 << 10);
  CHECK(shared_for(400, 20 << 10, true) == 20 << 10);  // as many as fit
  CHECK(shared_for(5, 20 << 10, false) == 20 << 10);
  CHECK(shared_for(5, 8 << 10, true) == 8 << 10);  // the cache beside it is worth more
}

TEST_CASE("tensor maps describe the buffers and are kept", "[cuda]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{}.bytes());
  tsr_kernel_t kernel = nullptr;
  REQUIRE(tsrGetKernel(loaded.module, "copy_boxes", &kernel) == TSR_SUCCESS);
  CudaTensor x(loaded.context, {2, 8}, count_up(16));
  CudaTensor y(loaded.context, {2, 8});
  uint32_t m = 2;
  uint32_t n = 8;
  void* args[] = {&x.tensor.data, &y.tensor.data, &m, &n};
  REQUIRE(tsrLaunch(kernel, nullptr, {}, args, 4) == TSR_SUCCESS);
  CHECK(y.values() == count_up(16));
  FakeTensorMap map = gpu.last_map();
  CHECK(map.address == uint64_t(y.tensor.data));
  CHECK(map.type == 7);
  CHECK(map.rank == 2);
  CHECK(map.extents[0] == 8);
  CHECK(map.extents[1] == 2);
  CHECK(map.strides[0] == 32);
  CHECK(map.box[0] == 32);
  CHECK(map.box[1] == 64);
  CHECK(map.swizzle == 3);
  CHECK(gpu.counts().encoded_maps == 2);
  REQUIRE(tsrLaunch(kernel, nullptr, {}, args, 4) == TSR_SUCCESS);
  CHECK(gpu.counts().encoded_maps == 2);
  CHECK(gpu.launches()[0].cluster == 1);

  SECTION("other pointers and other dims have other maps; the oldest go") {
    for (uint32_t rows = 1; rows <= 70; ++rows) {
      CudaTensor from(loaded.context, {rows, 8}, count_up(8 * rows));
      CudaTensor to(loaded.context, {rows, 8});
      void* other[] = {&from.tensor.data, &to.tensor.data, &rows, &n};
      REQUIRE(tsrLaunch(kernel, nullptr, {}, other, 4) == TSR_SUCCESS);
      CHECK(to.values() == count_up(8 * rows));
    }
    CHECK(gpu.counts().encoded_maps == 2 + 140);
  }
  SECTION("strides and addresses that a map cannot have are named") {
    n = 6;
    CHECK(tsrLaunch(kernel, nullptr, {}, args, 4) == TSR_EINVAL);
    CHECK(last_error() ==
          "kernel 'copy_boxes': the tensor map of 'x': the stride 4*N = 24 bytes is not a multiple "
          "of 16");
  }
  SECTION("an empty tensor has no map") {
    n = 0;
    void* nothing = nullptr;
    void* empty[] = {&nothing, &nothing, &m, &n};
    CHECK(tsrLaunch(kernel, nullptr, {}, empty, 4) == TSR_SUCCESS);
    CHECK(gpu.counts().encoded_maps == 2);
    CHECK(tsrSynchronize(loaded.context, nullptr, TSR_FOREVER) == TSR_SUCCESS);
  }
}

TEST_CASE("a tensor map that leaves its buffer is refused", "[cuda]") {
  FakeGpu gpu;
  CudaBundle bundle;
  format::KernelMeta& boxes = bundle.kernels[3];
  boxes.descriptors[0].dims[1] = *format::parse_expr("M + 1", boxes.dims);
  CudaLoaded loaded(bundle.bytes());
  tsr_kernel_t kernel = nullptr;
  REQUIRE(tsrGetKernel(loaded.module, "copy_boxes", &kernel) == TSR_SUCCESS);
  CudaTensor x(loaded.context, {2, 8});
  uint32_t m = 2;
  uint32_t n = 8;
  void* args[] = {&x.tensor.data, &x.tensor.data, &m, &n};
  CHECK(tsrLaunch(kernel, nullptr, {}, args, 4) == TSR_EIMAGE);
  CHECK(last_error() ==
        "kernel 'copy_boxes': the tensor map of 'x': it reaches beyond the buffer for these dims");
}

namespace {

/// Work of another thread, once, while somebody waits for the GPU.
struct Meanwhile {
  std::function<void()> work;
  bool is_done = false;
  std::future<void> done;

  static void run(void* self) {
    auto& meanwhile = *static_cast<Meanwhile*>(self);
    if (!meanwhile.work) return;
    meanwhile.done = std::async(std::launch::async, std::exchange(meanwhile.work, nullptr));
    meanwhile.is_done = meanwhile.done.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  }
};

}  // namespace

TEST_CASE("who waits for the GPU to use memory again holds up nobody", "[cuda]") {
  Meanwhile meanwhile;
  FakeKnobs knobs;
  knobs.meanwhile = Meanwhile::run;
  knobs.meanwhile_with = &meanwhile;
  FakeGpu gpu(knobs);
  tsr_context_t context = nullptr;
  REQUIRE(create_on("cuda:0", &context) == TSR_SUCCESS);
  constexpr size_t bytes = 100000;
  void *blocks[3], *other = nullptr;
  for (void*& block : blocks) REQUIRE(tsrAlloc(context, bytes, TSR_DEVICE, &block) == TSR_SUCCESS);
  for (void* block : {blocks[0], blocks[1]}) REQUIRE(tsrFree(context, block) == TSR_SUCCESS);
  tsr_status_t freed = TSR_EINTERNAL, allocated = TSR_EINTERNAL;
  meanwhile.work = [&] {
    freed = tsrFree(context, blocks[2]);
    allocated = tsrAlloc(context, 5 * bytes, TSR_DEVICE, &other);
  };
  int waits = gpu.counts().context_waits;
  void* again = nullptr;
  REQUIRE(tsrAlloc(context, bytes, TSR_DEVICE, &again) == TSR_SUCCESS);
  CHECK(meanwhile.is_done);
  CHECK(freed == TSR_SUCCESS);
  CHECK(allocated == TSR_SUCCESS);
  CHECK(again == blocks[1]);
  CHECK(gpu.counts().context_waits == waits + 1);
  // What was freed after the wait had begun is waited for; what was freed before is not.
  REQUIRE(tsrAlloc(context, bytes, TSR_DEVICE, &again) == TSR_SUCCESS);
  CHECK(again == blocks[2]);
  CHECK(gpu.counts().context_waits == waits + 2);
  REQUIRE(tsrAlloc(context, bytes, TSR_DEVICE, &again) == TSR_SUCCESS);
  CHECK(again == blocks[0]);
  CHECK(gpu.counts().context_waits == waits + 2);
  // A wait that fails leaves the block for another time.
  REQUIRE(tsrFree(context, again) == TSR_SUCCESS);
  gpu.fail("cuCtxSynchronize", 999);
  void* refused = nullptr;
  CHECK(tsrAlloc(context, bytes, TSR_DEVICE, &refused) == TSR_EINTERNAL);
  CHECK(refused == nullptr);
  REQUIRE(tsrAlloc(context, bytes, TSR_DEVICE, &refused) == TSR_SUCCESS);
  CHECK(refused == again);
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
}

TEST_CASE("memory is kept and given out again only when the GPU is done with it", "[cuda]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{add_one_plan()}}.bytes());
  void* first = nullptr;
  void* second = nullptr;
  REQUIRE(tsrAlloc(loaded.context, 100000, TSR_DEVICE, &first) == TSR_SUCCESS);
  int waits = gpu.counts().context_waits;
  int mallocs = gpu.counts().mallocs;
  REQUIRE(tsrFree(loaded.context, first) == TSR_SUCCESS);
  CHECK(gpu.counts().context_waits == waits);
  REQUIRE(tsrAlloc(loaded.context, 99000, TSR_DEVICE, &second) == TSR_SUCCESS);
  CHECK(second == first);
  CHECK(gpu.counts().context_waits == waits + 1);
  CHECK(gpu.counts().mallocs == mallocs);

  SECTION("kept memory of other sizes is returned when a request needs it") {
    void* large = nullptr;
    REQUIRE(tsrFree(loaded.context, second) == TSR_SUCCESS);
    REQUIRE(tsrAlloc(loaded.context, 40 << 20, TSR_DEVICE, &large) == TSR_SUCCESS);
    REQUIRE(tsrFree(loaded.context, large) == TSR_SUCCESS);
    REQUIRE(tsrAlloc(loaded.context, 50 << 20, TSR_DEVICE, &large) == TSR_SUCCESS);
    CHECK(tsrAlloc(loaded.context, 50 << 20, TSR_DEVICE, &large) == TSR_EOOM);
    CHECK(last_error().find("out of memory for 54525952 bytes on cuda:0, which has ") == 0);
    CHECK(last_error().find("; cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory)") !=
          std::string::npos);
  }
  SECTION("memory of the host is reachable by the host") {
    void* pinned = nullptr;
    void* pageable = nullptr;
    REQUIRE(tsrAlloc(loaded.context, 8, TSR_PINNED, &pinned) == TSR_SUCCESS);
    REQUIRE(tsrAlloc(loaded.context, 8, TSR_HOST, &pageable) == TSR_SUCCESS);
    CHECK(gpu.counts().pinned == 1);
    std::memset(pinned, 1, 8);
    REQUIRE(tsrCopy(loaded.context, nullptr, pageable, pinned, 8) == TSR_SUCCESS);
    CHECK(static_cast<char*>(pageable)[7] == 1);
  }
}

TEST_CASE("calls of a stream share temporaries, those of different streams do not", "[cuda]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{steps_plan()}}.bytes());
  CudaTensor w(loaded.context, {3}, {1, 1, 1});
  const char* names[] = {"w"};
  const tsr_tensor_t* tensors[] = {&w.tensor};
  REQUIRE(tsrBindParameters(loaded.module, names, tensors, 1) == TSR_SUCCESS);
  CudaTensor x(loaded.context, {3}, {1, 2, 3});
  CudaTensor more(loaded.context, {3}, {4, 5, 6});
  CudaTensor y(loaded.context, {3});
  CudaTensor z(loaded.context, {3});
  CudaTensor ones(loaded.context, {3});
  CudaTensor wide(loaded.context, {3}, Dtype::I64);
  CudaTensor tenths(loaded.context, {2});
  tsr_stream_t streams[2];
  for (tsr_stream_t& stream : streams) {
    REQUIRE(tsrCreateStream(loaded.context, nullptr, &stream) == TSR_SUCCESS);
  }
  tsr_function_t steps = loaded.function("steps");
  auto run = [&](CudaTensor& in, CudaTensor& out, tsr_stream_t stream) {
    REQUIRE(call(steps, {&in.tensor}, {&out.tensor, &ones.tensor, &wide.tensor, &tenths.tensor},
                 stream) == TSR_SUCCESS);
  };
  int mallocs = gpu.counts().mallocs;
  run(x, y, streams[0]);
  run(x, y, streams[0]);
  CHECK(gpu.counts().mallocs == mallocs + 1);
  run(more, z, streams[1]);
  CHECK(gpu.counts().mallocs == mallocs + 2);
  REQUIRE(tsrSynchronize(loaded.context, streams[0], TSR_FOREVER) == TSR_SUCCESS);
  REQUIRE(tsrSynchronize(loaded.context, streams[1], 1000) == TSR_SUCCESS);
  CHECK(y.values() == std::vector<float>{2, 3, 4});
  CHECK(z.values() == std::vector<float>{5, 6, 7});
  CHECK(gpu.launches()[0].stream != gpu.launches().back().stream);
  REQUIRE(tsrDestroyStream(streams[0]) == TSR_SUCCESS);
}

TEST_CASE("events order streams and measure time", "[cuda]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{add_one_plan()}}.bytes());
  CudaTensor x(loaded.context, {3}, {1, 2, 3});
  CudaTensor y(loaded.context, {3});
  CudaTensor z(loaded.context, {3});
  tsr_stream_t first = nullptr;
  tsr_stream_t second = nullptr;
  tsr_event_t start = nullptr;
  tsr_event_t end = nullptr;
  REQUIRE(tsrCreateStream(loaded.context, nullptr, &first) == TSR_SUCCESS);
  REQUIRE(tsrCreateStream(loaded.context, nullptr, &second) == TSR_SUCCESS);
  REQUIRE(tsrCreateEvent(loaded.context, &start) == TSR_SUCCESS);
  REQUIRE(tsrCreateEvent(loaded.context, &end) == TSR_SUCCESS);
  tsr_function_t add = loaded.function("add_one");
  REQUIRE(tsrRecordEvent(start, first) == TSR_SUCCESS);
  REQUIRE(call(add, {&x.tensor}, {&y.tensor}, first) == TSR_SUCCESS);
  REQUIRE(tsrRecordEvent(end, first) == TSR_SUCCESS);
  REQUIRE(tsrWaitEvent(end, second) == TSR_SUCCESS);
  REQUIRE(call(add, {&y.tensor}, {&z.tensor}, second) == TSR_SUCCESS);
  float milliseconds = 0;
  CHECK(tsrGetElapsedTime(start, end, &milliseconds) == TSR_EINVAL);
  CHECK(last_error() == "an event has not been passed yet; tsrSynchronizeEvent waits for it");
  REQUIRE(tsrSynchronize(loaded.context, second, TSR_FOREVER) == TSR_SUCCESS);
  CHECK(z.values() == std::vector<float>{3, 4, 5});
  REQUIRE(tsrSynchronizeEvent(end, 1000) == TSR_SUCCESS);
  REQUIRE(tsrGetElapsedTime(start, end, &milliseconds) == TSR_SUCCESS);
  CHECK(milliseconds == 2);
  REQUIRE(tsrRecordEvent(end, first) == TSR_SUCCESS);
  REQUIRE(tsrDestroyEvent(start) == TSR_SUCCESS);
}

TEST_CASE("a stream of another library becomes one of the context", "[cuda]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{add_one_plan()}}.bytes());
  void* theirs = gpu.create_stream(100);  // of the context that the runtime has, too
  void* elsewhere = gpu.create_stream(101);
  auto adopt = [&](void* native, tsr_stream_t* stream) {
    auto options = sized<tsr_stream_options_t>();
    options.flags = TSR_STREAM_ADOPT;
    options.native = native;
    return tsrCreateStream(loaded.context, &options, stream);
  };
  tsr_stream_t stream = nullptr;
  CHECK(adopt(elsewhere, &stream) == TSR_EINVAL);
  CHECK(last_error() == "the stream to be adopted belongs to another context of the driver than cuda:0's own");
  CHECK(adopt(reinterpret_cast<void*>(2), &stream) == TSR_EINVAL);
  CHECK(last_error() ==
        "the stream to be adopted is the driver's default stream of a thread: which one it is depends on the thread "
        "that uses it");
  int streams = gpu.counts().streams;
  for (void* native : {theirs, static_cast<void*>(nullptr)}) {
    REQUIRE(adopt(native, &stream) == TSR_SUCCESS);
    CudaTensor x(loaded.context, {3}, {1, 2, 3}), y(loaded.context, {3});
    REQUIRE(call(loaded.function("add_one"), {&x.tensor}, {&y.tensor}, stream) == TSR_SUCCESS);
    CHECK(gpu.launches().back().stream == native);
    REQUIRE(tsrSynchronize(loaded.context, stream, TSR_FOREVER) == TSR_SUCCESS);
    CHECK(y.values() == std::vector<float>{2, 3, 4});
    REQUIRE(tsrDestroyStream(stream) == TSR_SUCCESS);
  }
  CHECK(gpu.counts().streams == streams);  // it goes on
  for (void* native : {theirs, elsewhere}) gpu.destroy_stream(native);
}

TEST_CASE("the driver calls back when the work of a stream is over", "[cuda]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{add_one_plan()}}.bytes());
  tsr_stream_t stream = nullptr;
  REQUIRE(tsrCreateStream(loaded.context, nullptr, &stream) == TSR_SUCCESS);
  int calls = 0;
  auto count = [](void* user, tsr_status_t status) { *static_cast<int*>(user) += status == TSR_SUCCESS ? 1 : 100; };
  for (tsr_stream_t each : {static_cast<tsr_stream_t>(nullptr), stream}) {
    calls = 0;
    REQUIRE(tsrNotify(loaded.context, each, count, &calls) == TSR_SUCCESS);
    CHECK(calls == 0);
    REQUIRE(tsrSynchronize(loaded.context, each, TSR_FOREVER) == TSR_SUCCESS);
    CHECK(calls == 1);
  }
  gpu.fail("cuLaunchHostFunc", 2);
  CHECK(tsrNotify(loaded.context, stream, count, &calls) == TSR_EOOM);
  CHECK(calls == 1);
}

TEST_CASE("what a callback of the driver frees goes with the next call from elsewhere", "[cuda]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{add_one_plan()}}.bytes());
  struct Kept {
    tsr_context_t context;
    void* memory = nullptr;
    tsr_event_t event = nullptr;
    tsr_status_t freed = TSR_EINTERNAL, destroyed = TSR_EINTERNAL;
    int pinned = 0, events = 0;
    const FakeGpu& gpu;
  } kept{loaded.context, nullptr, nullptr, TSR_EINTERNAL, TSR_EINTERNAL, 0, 0, gpu};
  REQUIRE(tsrAlloc(loaded.context, 64, TSR_PINNED, &kept.memory) == TSR_SUCCESS);
  REQUIRE(tsrCreateEvent(loaded.context, &kept.event) == TSR_SUCCESS);
  REQUIRE(tsrRecordEvent(kept.event, nullptr) == TSR_SUCCESS);
  FakeCounts before = gpu.counts();
  auto let_go = [](void* user, tsr_status_t) {
    auto& own = *static_cast<Kept*>(user);
    own.freed = tsrFree(own.context, own.memory);
    own.destroyed = tsrDestroyEvent(own.event);
    own.pinned = own.gpu.counts().pinned;
    own.events = own.gpu.counts().events;
  };
  REQUIRE(tsrNotify(loaded.context, nullptr, let_go, &kept) == TSR_SUCCESS);
  REQUIRE(tsrSynchronize(loaded.context, nullptr, TSR_FOREVER) == TSR_SUCCESS);
  CHECK(kept.freed == TSR_SUCCESS);
  CHECK(kept.destroyed == TSR_SUCCESS);
  CHECK(kept.pinned == before.pinned);
  CHECK(kept.events == before.events);
  CHECK(tsrFree(loaded.context, kept.memory) == TSR_EINVAL);
  REQUIRE(tsrSynchronize(loaded.context, nullptr, TSR_FOREVER) == TSR_SUCCESS);
  CHECK(gpu.counts().pinned == before.pinned - 1);
  CHECK(gpu.counts().events == before.events - 1);
  // A function that ends something is such a call, too.
  tsr_stream_t stream = nullptr;
  REQUIRE(tsrCreateStream(loaded.context, nullptr, &stream) == TSR_SUCCESS);
  REQUIRE(tsrAlloc(loaded.context, 64, TSR_PINNED, &kept.memory) == TSR_SUCCESS);
  REQUIRE(tsrNotify(loaded.context, nullptr, let_go, &kept) == TSR_SUCCESS);
  REQUIRE(tsrSynchronize(loaded.context, nullptr, TSR_FOREVER) == TSR_SUCCESS);
  CHECK(kept.freed == TSR_SUCCESS);
  CHECK(gpu.counts().pinned == before.pinned);
  REQUIRE(tsrDestroyStream(stream) == TSR_SUCCESS);
  CHECK(gpu.counts().pinned == before.pinned - 1);
}

TEST_CASE("waiting for a busy GPU ends with the time", "[cuda]") {
  FakeKnobs knobs;
  knobs.is_busy = true;
  FakeGpu gpu(knobs);
  CudaLoaded loaded(CudaBundle{{add_one_plan()}}.bytes());
  tsr_stream_t stream = nullptr;
  tsr_event_t event = nullptr;
  REQUIRE(tsrCreateStream(loaded.context, nullptr, &stream) == TSR_SUCCESS);
  REQUIRE(tsrCreateEvent(loaded.context, &event) == TSR_SUCCESS);
  REQUIRE(tsrRecordEvent(event, stream) == TSR_SUCCESS);
  CHECK(tsrSynchronize(loaded.context, stream, 2) == TSR_ETIMEOUT);
  CHECK(last_error() == "the stream was still busy after 2 ms");
  CHECK(tsrSynchronize(loaded.context, nullptr, 1) == TSR_ETIMEOUT);
  CHECK(tsrSynchronizeEvent(event, 2) == TSR_ETIMEOUT);
  CHECK(last_error() == "the event was not passed within 2 ms");
  CHECK(tsrSynchronize(loaded.context, stream, TSR_FOREVER) == TSR_SUCCESS);
}

TEST_CASE("the best target of the GPU's architecture is taken", "[cuda]") {
  auto target_on = [](int capability) -> std::string {
    FakeKnobs knobs;
    knobs.capability = capability;
    FakeGpu gpu(knobs);
    CudaBundle bundle;
    bundle.targets = {"cuda:sm_80", "cuda:sm_90", "cuda:sm_90a", "cuda:sm_100a"};
    bundle.has_cubin = false;
    std::string bytes = bundle.bytes();
    tsr_context_t context = nullptr;
    tsr_module_t module = nullptr;
    const char* target = "";
    REQUIRE(create_on("cuda:0", &context) == TSR_SUCCESS);
    tsr_status_t status =
        load_with(context, bytes, TSR_ALLOW_JIT, &module);
    if (status == TSR_SUCCESS) tsrGetModuleTarget(module, &target);
    std::string out = status == TSR_SUCCESS ? target : last_error();
    tsrDestroyContext(context);
    return out;
  };
  CHECK(target_on(80) == "cuda:sm_80");
  CHECK(target_on(86) == "cuda:sm_80");
  CHECK(target_on(90) == "cuda:sm_90a");
  CHECK(target_on(100) == "cuda:sm_100a");
  CHECK(target_on(120) == "cuda:sm_90");
  CHECK(target_on(75) ==
        "this device can run none of the bundle's targets: cuda:sm_80 needs compute capability "
        "8.0 or higher (cuda:0 has 7.5); cuda:sm_90 needs compute capability 9.0 or higher (cuda:0 "
        "has 7.5); cuda:sm_90a needs compute capability 9.0 (cuda:0 has 7.5); cuda:sm_100a needs "
        "compute capability 10.0 (cuda:0 has 7.5); take another device, or compile for this one (tesserac --help "
        "lists targets)");
}
