// Kernels launched directly, memory, and the C99 host flow.

#include <catch2/catch.hpp>
#include <cstdlib>

#include "unit/runtime/sample.h"

using namespace tessera::test;

extern "C" tsr_status_t run_host_flow(const void* image, size_t image_size, const char* name,
                                      float* A, float* B, float* C, uint32_t M, uint32_t N,
                                      uint32_t K);

TEST_CASE("the host flow of the architecture document runs", "[runtime]") {
  std::string bundle = make_bundle({});
  HostTensor a({2, 3}, {1, 2, 3, 4, 5, 6});
  HostTensor b({3, 2}, {1, 0, 0, 1, 1, 1});
  HostTensor c({2, 2});
  REQUIRE(run_host_flow(bundle.data(), bundle.size(), "tile_linear", a.floats(), b.floats(),
                        c.floats(), 2, 2, 3) == TSR_SUCCESS);
  CHECK(c.values() == std::vector<float>{4, 5, 10, 11});
}

TEST_CASE("a launch is checked against the kernel's metadata", "[runtime]") {
  Loaded loaded(make_bundle({}));
  tsr_kernel_t kernel = nullptr;
  CHECK(tsrGetKernel(loaded.module, "absent", &kernel) == TSR_ENOTFOUND);
  CHECK(last_error() == "the bundle has no kernel 'absent' for cpu:x86-64-v3");
  REQUIRE(tsrGetKernel(loaded.module, "add_one", &kernel) == TSR_SUCCESS);
  HostTensor x({20}, std::vector<float>(20, 1.0f));
  HostTensor y({20});
  float* in = x.floats();
  float* out = y.floats();
  uint32_t n = 20;
  void* args[] = {&in, &out, &n};
  CHECK(tsrLaunch(kernel, nullptr, {2, 1, 1, 0, 0, 0, 0}, args, 2) == TSR_EINVAL);
  CHECK(last_error() == "add_one: expected 3 arguments (2 pointers and 1 dims), got 2");
  CHECK(tsrLaunch(kernel, nullptr, {3, 1, 1, 0, 0, 0, 0}, args, 3) == TSR_EINVAL);
  CHECK(last_error() ==
        "add_one: the grid 3 x 1 x 1 has more than the 2 programs of the kernel for these dims");
  CHECK(tsrLaunch(kernel, nullptr, {UINT32_MAX, UINT32_MAX, 1, 0, 0, 0, 0}, args, 3) == TSR_EINVAL);
  CHECK(tsrLaunch(kernel, nullptr, {UINT32_MAX, UINT32_MAX, UINT32_MAX, 0, 0, 0, 0}, args, 3) == TSR_EINVAL);
  REQUIRE(tsrLaunch(kernel, nullptr, {1, 1, 1, 64, 1, 1, 4096}, args, 3) == TSR_SUCCESS);
  CHECK(out[15] == 2);
  CHECK(out[16] == 0);
  REQUIRE(tsrLaunch(kernel, nullptr, {}, args, 3) == TSR_SUCCESS);
  CHECK(out[19] == 2);
  float* unaligned = reinterpret_cast<float*>(reinterpret_cast<char*>(in) + 1);
  void* wrong[] = {&unaligned, &out, &n};
  CHECK(tsrLaunch(kernel, nullptr, {}, wrong, 3) == TSR_EINVAL);
  CHECK(last_error() ==
        "add_one: 'x' must be at a multiple of 4 bytes; tsrAlloc gives such memory");
  float* none = nullptr;
  void* missing[] = {&in, &none, &n};
  CHECK(tsrLaunch(kernel, nullptr, {}, missing, 3) == TSR_EINVAL);
  CHECK(last_error() == "add_one: the pointer for 'y' is NULL");
  n = 0;
  CHECK(tsrLaunch(kernel, nullptr, {}, missing, 3) == TSR_SUCCESS);
}

TEST_CASE("memory is aligned, copied in stream order and freed once", "[runtime]") {
  Loaded loaded(make_bundle({}));
  void* a = nullptr;
  void* empty = nullptr;
  CHECK(tsrAlloc(loaded.context, 100, 0, &a) == TSR_EINVAL);
  REQUIRE(tsrAlloc(loaded.context, 100, TSR_DEVICE | TSR_PINNED, &a) == TSR_SUCCESS);
  REQUIRE(tsrAlloc(loaded.context, 0, TSR_HOST, &empty) == TSR_SUCCESS);
  CHECK(reinterpret_cast<uintptr_t>(a) % 64 == 0);
  CHECK(empty != nullptr);
  const char text[] = "tile";
  char back[5] = {};
  REQUIRE(tsrCopy(loaded.context, nullptr, a, text, 5) == TSR_SUCCESS);
  REQUIRE(tsrCopy(loaded.context, nullptr, back, a, 5) == TSR_SUCCESS);
  CHECK(std::string(back) == "tile");
  CHECK(tsrCopy(loaded.context, nullptr, nullptr, a, 5) == TSR_EINVAL);
  CHECK(tsrFree(loaded.context, a) == TSR_SUCCESS);
  CHECK(tsrFree(loaded.context, a) == TSR_EINVAL);
  CHECK(last_error() == "the pointer is not one that tsrAlloc gave for this context, or it was freed or exported");
  void* huge = nullptr;
  CHECK(tsrAlloc(loaded.context, SIZE_MAX - 1, TSR_HOST, &huge) == TSR_EOOM);
  CHECK(huge == nullptr);
}

TEST_CASE("a device that this build lacks is named", "[runtime]") {
  tsr_context_t context = nullptr;
  CHECK(create_on("tpu:0", &context) == TSR_EUNSUPPORTED);
  CHECK(last_error() ==
        "the device 'tpu:0' is not known; there are 'cpu' and 'cuda:0', 'cuda:1' and so on");
  CHECK(context == nullptr);
  CHECK(tsrCreateContext(nullptr) == TSR_EINVAL);
  CHECK(tsrDestroyContext(nullptr) == TSR_SUCCESS);
  CHECK(std::string(tsrStatusName(TSR_EIMAGE)) == "TSR_EIMAGE");
}
