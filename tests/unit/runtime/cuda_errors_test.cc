// What goes wrong with a GPU is said by name, and nothing is left behind.

#include <catch2/catch.hpp>
#include <cstdlib>

#include "unit/runtime/cuda_sample.h"

using namespace tessera;
using namespace tessera::test;

namespace {

/// The failure of loading a bundle; "" when it loads.
std::string load_error(const CudaBundle& bundle, uint32_t flags = 0,
                       tsr_status_t expected = TSR_SUCCESS) {
  std::string bytes = bundle.bytes();
  tsr_context_t context = nullptr;
  tsr_module_t module = nullptr;
  REQUIRE(create_on("cuda:0", &context) == TSR_SUCCESS);
  tsr_status_t status = load_with(context, bytes, flags, &module);
  CHECK(status == expected);
  std::string text = status == TSR_SUCCESS ? "" : last_error();
  tsrDestroyContext(context);
  return text;
}

}  // namespace

TEST_CASE("a machine without a driver or a GPU says so", "[cuda]") {
  tsr_context_t context = nullptr;
  SECTION("no driver") {
    ::setenv("TESSERA_CUDA_DRIVER", "/absent/libcuda.so.1", 1);
    CHECK(create_on("cuda:0", &context) == TSR_EUNSUPPORTED);
    CHECK(last_error() ==
          "cuda:0: there is no CUDA driver here: /absent/libcuda.so.1: cannot open shared object "
          "file: No such file or directory");
    ::unsetenv("TESSERA_CUDA_DRIVER");
  }
  SECTION("a library that is no driver") {
    ::setenv("TESSERA_CUDA_DRIVER", "libc.so.6", 1);
    CHECK(create_on("cuda:0", &context) == TSR_EUNSUPPORTED);
    CHECK(last_error() ==
          "cuda:0: the CUDA driver has no cuInit; CUDA 11.4 is the oldest that "
          "works");
    ::unsetenv("TESSERA_CUDA_DRIVER");
  }
  SECTION("no such GPU") {
    FakeGpu gpu;
    CHECK(create_on("cuda:1", &context) == TSR_EUNSUPPORTED);
    CHECK(last_error() == "cuda:1: this machine has 1 CUDA device, numbered from 0");
  }
  SECTION("a context that cannot be had") {
    FakeGpu gpu;
    gpu.fail("cuDevicePrimaryCtxRetain", 2);
    CHECK(create_on("cuda:0", &context) == TSR_EOOM);
    CHECK(last_error() ==
          "cuda:0: cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
    gpu.fail("cuDeviceGetAttribute", 999);
    CHECK(create_on("cuda:0", &context) == TSR_EINTERNAL);
    CHECK(last_error() == "cuda:0: cuDeviceGetAttribute: error 999");
  }
  SECTION("a name of no device") {
    for (const char* name : {"cuda:", "cuda:x", "cuda:-1", "cuda:12345", "cuda0", "gpu"}) {
      CHECK(create_on(name, &context) == TSR_EUNSUPPORTED);
      CHECK(last_error() == std::string("the device '") + name +
                                "' is not known; there are 'cpu' and 'cuda:0', 'cuda:1' and so on");
    }
  }
  CHECK(context == nullptr);
}

TEST_CASE("code that cannot be loaded is refused with the reason", "[cuda]") {
  FakeGpu gpu;
  CudaBundle bundle{{add_one_plan()}};
  SECTION("PTX without leave") {
    bundle.has_cubin = false;
    CHECK(load_error(bundle, 0, TSR_EUNSUPPORTED) ==
          "the bundle has cuda:sm_90a as PTX only, which the driver would have to compile: "
          "tesserac --cubin stores machine code, tsr --allow-jit (the load flag TSR_ALLOW_JIT) "
          "lets the driver");
    CHECK(load_error(bundle, TSR_ALLOW_JIT) == "");
    CHECK(load_error(bundle, 4, TSR_EINVAL) ==
          "the flags 4 are other than TSR_ALLOW_JIT and TSR_NO_CODE");
  }
  SECTION("PTX that the driver does not take") {
    bundle.has_cubin = false;
    bundle.ptx_head = ".nonsense\n";
    CHECK(load_error(bundle, TSR_ALLOW_JIT, TSR_EIMAGE) ==
          "the bundle's kernels/cuda-sm_90a/kernels.ptx: cuModuleLoadDataEx: "
          "CUDA_ERROR_INVALID_PTX: line 1: no version");
  }
  SECTION("a cubin for another architecture") {
    bundle.cubin_target = ".target sm_80\n";
    CHECK(load_error(bundle, 0, TSR_EUNSUPPORTED) ==
          "the bundle's kernels/cuda-sm_90a/kernels.cubin: cuModuleLoadDataEx: "
          "CUDA_ERROR_NO_BINARY_FOR_GPU; cuda:0 has compute capability 9.0: compile for it with "
          "tesserac --target, or let the driver compile the bundle's PTX with tsr --allow-jit (the "
          "load flag TSR_ALLOW_JIT)");
    CHECK(load_error(bundle, TSR_ALLOW_JIT) == "");
  }
  SECTION("no code") {
    bundle.has_cubin = false;
    bundle.has_ptx = false;
    CHECK(load_error(bundle, 0, TSR_EIMAGE) ==
          "the bundle has neither kernels/cuda-sm_90a/kernels.cubin nor "
          "kernels/cuda-sm_90a/kernels.ptx");
  }
  SECTION("a kernel that the code lacks") {
    gpu.fail("cuModuleGetFunction", 500);
    CHECK(load_error(bundle, 0, TSR_EIMAGE) ==
          "kernel 'add_one': cuModuleGetFunction: CUDA_ERROR_NOT_FOUND");
  }
  SECTION("more shared memory than there is") {
    bundle.kernels[1].smem_per_cta = 228 << 10;
    CHECK(load_error(bundle, 0, TSR_EUNSUPPORTED) ==
          "kernel 'add_one_persistent': it needs 233472 bytes of shared memory; cuda:0 has "
          "232448");
  }
  SECTION("scratch memory") {
    bundle.kernels[0].scratch = format::const_expr(4);
    CHECK(load_error(bundle, 0, TSR_EIMAGE) ==
          "kernel 'add_one': scratch memory is for kernels of a CPU");
  }
  SECTION("each call on the way may fail") {
    PlanBuilder b("constant");
    uint32_t y = b.output("y", {"3"});
    b.step(format::CopyStep{y, b.constant({1, 2, 3})});
    bundle.plans.push_back(b.plan);
    for (const char* symbol :
         {"cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncGetAttribute", "cuFuncSetAttribute",
          "cuOccupancyMaxActiveClusters", "cuMemAlloc_v2"}) {
      gpu.fail(symbol, 1);
      std::string text = load_error(bundle, 0, TSR_EINTERNAL);
      CHECK(text.find(std::string(symbol) + ": CUDA_ERROR_INVALID_VALUE") != std::string::npos);
    }
  }
}

TEST_CASE("tensors that a GPU cannot use are named", "[cuda]") {
  FakeGpu gpu;
  format::Plan plan = add_one_plan();
  plan.buffers[0].alignment = 4;  // less than a GPU needs
  CudaLoaded loaded(CudaBundle{{plan}}.bytes());
  tsr_function_t add = loaded.function("add_one");
  CudaTensor x(loaded.context, {8}, std::vector<float>(8));
  CudaTensor y(loaded.context, {8});
  HostTensor host({8});
  CHECK(call(add, {&host.tensor}, {&y.tensor}) == TSR_EINVAL);
  CHECK(last_error() ==
        "add_one: input 'x': expected memory of cuda:0, got memory of the CPU; tsrAlloc with "
        "TSR_DEVICE and tsrCopy put it there");
  tsr_tensor_t elsewhere = x.tensor;
  elsewhere.device = {2, 1};
  CHECK(call(add, {&elsewhere}, {&y.tensor}) == TSR_EINVAL);
  CHECK(last_error() == "add_one: input 'x': expected memory of cuda:0, got memory of cuda:1");
  elsewhere.device = {10, 0};
  CHECK(call(add, {&elsewhere}, {&y.tensor}) == TSR_EINVAL);
  CHECK(last_error() == "add_one: input 'x': expected memory of cuda:0, got DLPack device type 10");
  tsr_tensor_t shifted = x.tensor;
  int64_t seven = 7;
  shifted.byte_offset = 4;
  shifted.shape = &seven;
  CHECK(call(add, {&shifted}, {&y.tensor}) == TSR_EINVAL);
  CHECK(last_error() ==
        "add_one: input 'x': its data must be at a multiple of 16 bytes; tsrAlloc gives such "
        "memory");
  tsr_tensor_t strided = x.tensor;
  int64_t two = 2;
  strided.strides = &two;
  CHECK(call(add, {&strided}, {&y.tensor}) == TSR_EINVAL);
  CHECK(last_error() ==
        "add_one: input 'x', axis 0: expected stride 1, got 2; only dense row-major tensors are "
        "accepted");
  CHECK(call(add, {&x.tensor}, {&host.tensor}) == TSR_EINVAL);
  CHECK(gpu.launches().empty());
}

TEST_CASE("failures of a launch name the kernel and the call", "[cuda]") {
  FakeGpu gpu;
  PlanBuilder b("fault");
  uint32_t x = b.input("x", {"1"});
  uint32_t flag = b.output("flag", {}, Dtype::Bool);
  b.launch("trap", {x, flag}, {});
  CudaLoaded loaded(CudaBundle{{add_one_plan(), b.plan}}.bytes());
  CudaTensor one(loaded.context, {1}, {1});
  CudaTensor out(loaded.context, {1});
  CudaTensor flag_out(loaded.context, {}, Dtype::Bool);
  tsr_function_t add = loaded.function("add_one");
  SECTION("at the launch") {
    gpu.fail("cuLaunchKernel", 1);
    CHECK(call(add, {&one.tensor}, {&out.tensor}) == TSR_EINTERNAL);
    CHECK(last_error() == "kernel 'add_one': cuLaunchKernel: CUDA_ERROR_INVALID_VALUE");
    CHECK(call(add, {&one.tensor}, {&out.tensor}) == TSR_SUCCESS);
  }
  SECTION("later") {
    REQUIRE(call(loaded.function("fault"), {&one.tensor}, {&flag_out.tensor}) == TSR_SUCCESS);
    CHECK(tsrSynchronize(loaded.context, nullptr, TSR_FOREVER) == TSR_EINTERNAL);
    CHECK(last_error() ==
          "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was "
          "encountered); the last kernel of the stream was 'trap'; TSR_SYNC=1 waits for each");
    CHECK(call(add, {&one.tensor}, {&out.tensor}) == TSR_EINTERNAL);
  }
  SECTION("in the middle of a call") {
    gpu.fail("cuStreamSynchronize", 2);
    float value = 0;
    CHECK(tsrCopy(loaded.context, nullptr, &value, one.tensor.data, 4) == TSR_EOOM);
  }
  SECTION("streams and events") {
    tsr_stream_t stream = nullptr;
    tsr_event_t event = nullptr;
    gpu.fail("cuStreamCreate", 2);
    CHECK(tsrCreateStream(loaded.context, nullptr, &stream) == TSR_EOOM);
    REQUIRE(tsrCreateStream(loaded.context, nullptr, &stream) == TSR_SUCCESS);
    REQUIRE(tsrCreateEvent(loaded.context, &event) == TSR_SUCCESS);
    for (const char* symbol : {"cuEventCreate", "cuEventRecord"}) {
      gpu.fail(symbol, 2);
      CHECK(tsrRecordEvent(event, stream) == TSR_EOOM);
      CHECK(last_error() == std::string(symbol) + ": CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
    }
  }
}

TEST_CASE("TSR_SYNC=1 finds the kernel at fault", "[cuda]") {
  ::setenv("TSR_SYNC", "1", 1);
  {
    FakeGpu gpu;
    CudaLoaded loaded(CudaBundle{}.bytes());
    tsr_kernel_t kernel = nullptr;
    REQUIRE(tsrGetKernel(loaded.module, "trap", &kernel) == TSR_SUCCESS);
    CudaTensor x(loaded.context, {4}, std::vector<float>(4));
    void* args[] = {&x.tensor.data, &x.tensor.data};
    CHECK(tsrLaunch(kernel, nullptr, {}, args, 2) == TSR_EINTERNAL);
    CHECK(last_error() ==
          "kernel 'trap': cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory "
          "access was encountered)");
  }
  ::unsetenv("TSR_SYNC");
}

TEST_CASE("a launch's own figures must be the kernel's", "[cuda]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{}.bytes());
  tsr_kernel_t kernel = nullptr;
  CudaTensor x(loaded.context, {64}, std::vector<float>(64));
  CudaTensor y(loaded.context, {64}, std::vector<float>(64));
  uint32_t n = 64;
  void* args[] = {&x.tensor.data, &y.tensor.data, &n};
  REQUIRE(tsrGetKernel(loaded.module, "add_one", &kernel) == TSR_SUCCESS);
  CHECK(tsrLaunch(kernel, nullptr, {1, 1, 1, 64, 1, 1, 0}, args, 3) == TSR_EINVAL);
  CHECK(last_error() ==
        "add_one: the block has 64 threads along axis 0; the kernel was compiled for 128");
  CHECK(tsrLaunch(kernel, nullptr, {1, 1, 1, 128, 1, 1, 16}, args, 3) == TSR_EINVAL);
  CHECK(last_error() == "add_one: 16 bytes of shared memory; the kernel uses 0");
  REQUIRE(tsrLaunch(kernel, nullptr, {2, 1, 1, 128, 1, 1, 0}, args, 3) == TSR_SUCCESS);
  CHECK(y.values()[31] == 1);
  CHECK(y.values()[32] == 0);
  REQUIRE(tsrGetKernel(loaded.module, "add_one_persistent", &kernel) == TSR_SUCCESS);
  CHECK(tsrLaunch(kernel, nullptr, {2, 1, 1, 0, 0, 0, 0}, args, 3) == TSR_EINVAL);
  CHECK(last_error() ==
        "add_one_persistent: a persistent kernel runs all of its 4 programs; the grid has 2");
}

TEST_CASE("donated inputs must be memory of the GPU", "[cuda]") {
  PlanBuilder b("step");
  uint32_t state = b.input("state", {}, Dtype::U64);
  uint32_t next = b.output("next", {}, Dtype::U64);
  b.step(format::AliasStep{next, state, b.expr("0")});
  FakeGpu gpu;
  CudaBundle bundle{{b.plan}};
  bundle.facts["step"].donated["next"] = "state";
  CudaLoaded loaded(bundle.bytes());
  HostTensor host({}, Dtype::U64);
  CudaTensor device(loaded.context, {}, Dtype::U64);
  tsr_tensor_t out = device.tensor;
  out.data = nullptr;
  CHECK(call(loaded.function("step"), {&host.tensor}, {&out}) == TSR_EINVAL);
  CHECK(last_error() == "step: input 'state' is donated: it must be memory of cuda:0");
  REQUIRE(call(loaded.function("step"), {&device.tensor}, {&out}) == TSR_SUCCESS);
  CHECK(out.data == device.tensor.data);
}

TEST_CASE("PTX and cubins without a bundle are loaded, and launched as the launch says", "[cuda]") {
  FakeGpu gpu;
  const std::string ptx = ".version 8.0\n.target sm_90\n.visible .entry add_one(\n";
  tsr_context_t context = nullptr;
  REQUIRE(create_on("cuda:0", &context) == TSR_SUCCESS);
  tsr_module_t module = nullptr;
  CHECK(load_with(context, ptx, 0, &module) == TSR_EUNSUPPORTED);
  CHECK(last_error() ==
        "the image is PTX, which the driver would have to compile; the load flag TSR_ALLOW_JIT lets it");
  CHECK(load_with(context, ptx, TSR_ALLOW_JIT | TSR_NO_CODE, &module) == TSR_EINVAL);
  CHECK(load_with(context, "// no version\n", TSR_ALLOW_JIT, &module) == TSR_EIMAGE);
  CHECK(last_error().find("the image: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX") == 0);
  CHECK(load_with(context, "\x7f" "ELF and no more", 0, &module) == TSR_EIMAGE);
  CHECK(last_error() == "the image is not a cubin");
  std::string cubin;
  auto keep = [&](format::Manifest&, std::map<std::string, std::string>& files) {
    cubin = files.at("kernels/cuda-sm_90a/kernels.cubin");
  };
  changed_bundle(CudaBundle{{add_one_plan()}}.bytes(), keep);
  for (const std::string& image : {ptx, "\n  /* by hand */\n" + ptx, cubin}) {
    REQUIRE(load_with(context, image, TSR_ALLOW_JIT, &module) == TSR_SUCCESS);
    size_t count = 0;
    CHECK(tsrGetFunctionCount(module, &count) == TSR_SUCCESS);
    CHECK(count == 0);
    CHECK(tsrGetKernelCount(module, &count) == TSR_EUNSUPPORTED);
    const char* target = nullptr;
    REQUIRE(tsrGetModuleTarget(module, &target) == TSR_SUCCESS);
    CHECK(target == std::string(image == cubin ? "cubin" : "PTX"));
    tsr_kernel_t kernel = nullptr, again = nullptr;
    CHECK(tsrGetKernel(module, "none", &kernel) == TSR_ENOTFOUND);
    CHECK(last_error().find("the image has no kernel 'none': cuModuleGetFunction") == 0);
    REQUIRE(tsrGetKernel(module, "add_one", &kernel) == TSR_SUCCESS);
    REQUIRE(tsrGetKernel(module, "add_one", &again) == TSR_SUCCESS);
    CHECK(kernel == again);
    CudaTensor x(context, {3}, {1, 2, 3}), y(context, {3});
    uint32_t n = 3;
    void* args[] = {&x.tensor.data, &y.tensor.data, &n};
    CHECK(tsrLaunch(kernel, nullptr, {1, 1, 1, 32, 0, 1, 0}, args, 3) == TSR_EINVAL);
    CHECK(last_error() == "add_one: block_y is 0; code without a bundle does not say what it is to be");
    CHECK(tsrLaunch(kernel, nullptr, {1, 1, 1, 32, 1, 1, 0}, args, 2) == TSR_EINVAL);
    CHECK(last_error() == "kernel 'add_one': expected 3 arguments, got 2");
    REQUIRE(tsrLaunch(kernel, nullptr, {1, 1, 1, 32, 1, 1, 128}, args, 3) == TSR_SUCCESS);
    CHECK(gpu.launches().back().block[0] == 32);
    CHECK(gpu.launches().back().shared_bytes == 128);
    CHECK(y.values() == std::vector<float>{2, 3, 4});
    CHECK(tsrUnloadModule(module) == TSR_SUCCESS);
  }
  tsrDestroyContext(context);
}
